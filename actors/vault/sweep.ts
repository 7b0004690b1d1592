// Sweeps of the audit trail: the oldest records are exported, where a directory for that is named, and then removed, a piece a turn.
//
// What is removed was verified, and is on disk in a whole file before the first record of it goes. Each commit that removes
// records adds one that says so. A crash leaves a part of the records removed at most, all of which the file has.
import type { Reader } from '../../runtime/store/store.ts';
import type { ReplyTo, Turn } from '../../runtime/turn.ts';
import type { PruneAudit, SweepEvent, VaultReply } from './protocol.ts';
import { type AuditRecord, auditStart, oldestAuditUs, readStretch, type Stretch } from './records/audit.ts';
import type { Random } from './records/barrier.ts';
import type { AuditEnd } from './records/keyring.ts';
import {
  beginExport,
  type ExportPlace,
  endExport,
  endLine,
  entryLine,
  goOnExport,
  headLine,
} from './records/trail-file.ts';
import type { Vault } from './vault.ts';

/** Records of the trail that one turn verifies, and exports or removes: some milliseconds. */
export const prunedMax = 500;
/** Records of one sweep, and so of one file; the next sweep goes on behind it. */
export const sweptMax = 50_000;
/** Sweeps that were asked for and have not begun. */
const waitingMax = 16;
const pruneSlackUs = 3_600_000_000;
/** After an export that failed, retention waits so long. */
const retryUs = 60_000_000;

export type SweepOptions = {
  readonly reader: Reader;
  readonly random: Random;
  readonly audit: (
    turn: Turn,
    record: Pick<AuditRecord, 'actor' | 'op' | 'outcome' | 'code'> & Partial<AuditRecord>,
  ) => void;
  /** Comes back as a message of its own. */
  readonly tell: (event: SweepEvent) => void;
  /** Where pruned records are written first; null: nowhere. */
  readonly exportDirectory: () => string | null;
  /** The trail was to be pruned, and is not as it was written: it is kept. */
  readonly onBrokenTrail: (problem: string) => void;
  /** What was to be removed could not be written: it is kept. */
  readonly onExportFailed: (problem: string) => void;
};

type Wanted = {
  readonly actor: 'admin' | 'retention';
  readonly beforeUs: number;
  readonly through: number;
  readonly replyTo: ReplyTo | null;
};

type Sweep = Wanted & {
  /** Of the vault at its beginning: what is written meanwhile stays. */
  readonly through: number;
  readonly export: { readonly place: ExportPlace; readonly after: AuditEnd } | null;
  /** The newest record that was exported. */
  exported: AuditEnd;
  exportedRecords: number;
  isExported: boolean;
  removed: number;
  /** What was found on the way: records from there on are kept. */
  broken: string | null;
};

export class Sweeps {
  readonly #options: SweepOptions;
  #sweep: Sweep | null = null;
  #waiting: Wanted[] = [];
  /** Retention removes nothing more: what is broken is kept as it is found. */
  #isTrailBroken = false;
  #restUntilUs = 0;

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  /** Retention begins a sweep when the oldest record is an hour too old. */
  retain(vault: Vault, { beforeUs }: PruneAudit, turn: Turn): void {
    if (this.#sweep !== null || this.#isTrailBroken || turn.nowUs < this.#restUntilUs) return;
    if ((oldestAuditUs(this.#options.reader) ?? 0) >= beforeUs - pruneSlackUs) return;
    this.#begin(vault, { actor: 'retention', beforeUs, through: Number.MAX_SAFE_INTEGER, replyTo: null }, turn);
  }

  /** Answered when the sweep is over; false: too many wait already. */
  ask(vault: Vault, wanted: Pick<Wanted, 'beforeUs' | 'through'>, replyTo: ReplyTo, turn: Turn): boolean {
    const asked: Wanted = { ...wanted, actor: 'admin', replyTo };
    if (this.#sweep === null) this.#begin(vault, asked, turn);
    else if (this.#waiting.length >= waitingMax) return false;
    else this.#waiting.push(asked);
    return true;
  }

  goOn(vault: Vault, event: SweepEvent, turn: Turn): void {
    if (this.#sweep === null) return;
    if (event.kind === 'sweep_on') this.#step(vault, this.#sweep, turn);
    else this.#fail(vault, this.#sweep, 'export_failed', event.problem, turn);
  }

  #begin(vault: Vault, wanted: Wanted, turn: Turn): void {
    const { auditBase: after = auditStart, auditEnd } = vault.keyring;
    const directory = this.#options.exportDirectory();
    const mark = Buffer.from(this.#options.random(6)).toString('hex');
    this.#sweep = {
      ...wanted,
      through: Math.min(wanted.through, auditEnd.seq),
      export: directory === null ? null : { after, place: { directory, first: after.seq + 1, mark } },
      exported: after,
      exportedRecords: 0,
      isExported: directory === null,
      removed: 0,
      broken: null,
    };
    this.#step(vault, this.#sweep, turn);
  }

  #step(vault: Vault, sweep: Sweep, turn: Turn): void {
    const pieceMax = Math.min(prunedMax, sweptMax - (sweep.isExported ? sweep.removed : sweep.exportedRecords));
    if (!sweep.isExported && sweep.export !== null) this.#export(vault, sweep, sweep.export, pieceMax, turn);
    else this.#remove(vault, sweep, pieceMax, turn);
  }

  #export(
    vault: Vault,
    sweep: Sweep,
    { place, after }: NonNullable<Sweep['export']>,
    pieceMax: number,
    turn: Turn,
  ): void {
    const isFirst = sweep.exportedRecords === 0;
    const stretch = readStretch(this.#options.reader, vault.keyring, sweep.exported, sweep, pieceMax);
    this.#noteBreak(sweep, stretch);
    if (stretch.entries.length > 0) {
      sweep.exported = stretch.end;
      sweep.exportedRecords += stretch.entries.length;
      const lines = stretch.entries.map(entryLine).join('');
      const write = isFirst ? () => beginExport(place, headLine(after) + lines) : () => goOnExport(place, lines);
      this.#after(turn, write);
      return;
    }
    sweep.isExported = true;
    // There is nothing to remove either.
    if (isFirst) this.#remove(vault, sweep, prunedMax, turn);
    else this.#after(turn, () => endExport(place, sweep.exported.seq, endLine(vault.keyring, after, sweep.exported)));
  }

  #remove(vault: Vault, sweep: Sweep, pieceMax: number, turn: Turn): void {
    const through = sweep.export === null ? sweep.through : sweep.exported.seq;
    const stretch = vault.prune(this.#options.reader, turn.batch, { beforeUs: sweep.beforeUs, through }, pieceMax);
    const records = stretch.entries.length;
    sweep.removed += records;
    if (records > 0) this.#note(sweep, turn, { count: records, through: stretch.end.seq });
    this.#noteBreak(sweep, stretch);
    if (records > 0) turn.after(() => this.#options.tell({ kind: 'sweep_on' }));
    else this.#end(vault, sweep, turn);
  }

  #note({ actor }: Sweep, turn: Turn, what: Partial<AuditRecord>): void {
    this.#options.audit(turn, { actor, op: 'audit.prune', outcome: 'ok', code: null, ...what });
  }

  #noteBreak(sweep: Sweep, { broken }: Stretch): void {
    if (broken === null) return;
    sweep.broken = broken;
    if (!this.#isTrailBroken) this.#options.onBrokenTrail(broken);
    this.#isTrailBroken = true;
  }

  #after(turn: Turn, write: () => Promise<void>): void {
    turn.after(() => {
      write().then(
        () => this.#options.tell({ kind: 'sweep_on' }),
        (error: Error) => this.#options.tell({ kind: 'sweep_failed', problem: error.message }),
      );
    });
  }

  #end(vault: Vault, sweep: Sweep, turn: Turn): void {
    const { removed, actor, replyTo, broken } = sweep;
    if (broken !== null) {
      this.#fail(vault, sweep, 'broken_trail', broken, turn);
      return;
    }
    if (removed === 0 && actor === 'admin') this.#note(sweep, turn, { count: 0 });
    this.#answer(replyTo, { kind: 'done', status: 'pruned', records: removed, more: removed >= sweptMax }, turn);
    this.#next(vault, turn);
  }

  #fail(vault: Vault, sweep: Sweep, refusal: 'broken_trail' | 'export_failed', detail: string, turn: Turn): void {
    if (refusal === 'export_failed') {
      this.#options.onExportFailed(detail);
      this.#restUntilUs = turn.nowUs + retryUs;
    }
    if (sweep.actor === 'admin')
      this.#options.audit(turn, { actor: 'admin', op: 'audit.prune', outcome: 'refused', code: refusal });
    this.#answer(sweep.replyTo, { kind: 'refused', refusal, detail }, turn);
    this.#next(vault, turn);
  }

  #answer(replyTo: ReplyTo | null, reply: VaultReply, turn: Turn): void {
    if (replyTo !== null) turn.reply(replyTo, reply);
  }

  #next(vault: Vault, turn: Turn): void {
    this.#sweep = null;
    const next = this.#waiting.shift();
    if (next) this.#begin(vault, next, turn);
  }
}
