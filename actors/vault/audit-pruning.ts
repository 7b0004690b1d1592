// Prunes the audit trail: exports the oldest records if an export directory is configured, and then removes them. This may take several turns.
//
// With an export, all records of a pruning are verified, and are on disk in a complete file, before the first one is removed. So a
// crash during the removal loses no record. Each commit that removes records adds an audit record about the removal.
import { hexOf } from '../../runtime/bytes.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { ReplyTo, Turn } from '../../runtime/turn.ts';
import type { PruneAudit, PruneEvent, VaultReply } from './protocol.ts';
import { type AuditSegment, auditStart, type NewAuditRecord, oldestAuditUs, readSegment } from './records/audit.ts';
import type { Random } from './records/barrier.ts';
import type { AuditEnd } from './records/keyring.ts';
import {
  beginExport,
  continueExport,
  type ExportTarget,
  endExport,
  endLine,
  entryLine,
  headLine,
  vaultMark,
} from './records/trail-file.ts';
import type { Vault } from './vault.ts';

/** The maximum number of records that one turn verifies and then exports or removes. This takes a few milliseconds. */
export const recordsPerTurnMax = 500;
/** The maximum number of records that one pruning exports or removes. The next pruning continues after them. */
export const recordsPerJobMax = 50_000;
/** The maximum number of prunings that callers have requested and that wait to start. */
const waitingJobsMax = 16;
/** Retention waits until the oldest record exceeds the allowed age by more than this time. */
const retentionSlackUs = 3_600_000_000;
/** How long retention waits after a failed export. */
const exportRetryUs = 60_000_000;

export type AuditPruningOptions = {
  readonly reader: Reader;
  readonly random: Random;
  readonly audit: (turn: Turn, record: NewAuditRecord) => void;
  /** Sends the message to the vault actor. */
  readonly tell: (event: PruneEvent) => void;
  /** The directory to which records are exported before they are removed; null: they are not exported. */
  readonly exportDirectory: () => string | null;
  /** Called the first time that a record does not verify. This record and all later ones are kept. */
  readonly onBrokenTrail: (problem: string) => void;
  /** Called when the file of an export could not be written. The pruning then removes no record. */
  readonly onExportFailed: (problem: string) => void;
};

type PruneJob = {
  readonly actor: 'admin' | 'retention';
  readonly beforeUs: number;
  /** The number of the last record that may be removed. */
  readonly through: number;
  /** The caller that waits for the end of the pruning. Null: no caller waits. */
  readonly replyTo: ReplyTo | null;
};

type RunningJob = PruneJob & {
  /** The file of the export. Null: the records are not exported. */
  readonly file: ExportTarget | null;
  /** The record before the first record to prune. */
  readonly after: AuditEnd;
  /** The newest exported record; before the first one, `after`. */
  exported: AuditEnd;
  isExported: boolean;
  removed: number;
  /** The fault of the first record that does not verify. Null: all records so far have verified. */
  broken: string | null;
};

export class AuditPruning {
  readonly #options: AuditPruningOptions;
  #job: RunningJob | null = null;
  #waiting: PruneJob[] = [];
  /** Whether a record did not verify. From then on retention starts no pruning, to let an operator examine the trail. */
  #isTrailBroken = false;
  #retentionWaitsUntilUs = 0;

  constructor(options: AuditPruningOptions) {
    this.#options = options;
  }

  /**
   * Starts a pruning by retention if the oldest record is too old, or cannot be read. Does nothing while a pruning runs, for
   * `exportRetryUs` after a failed export, or after a record did not verify.
   */
  retain(vault: Vault, { beforeUs }: PruneAudit, turn: Turn): void {
    if (this.#job !== null || this.#isTrailBroken || turn.nowUs < this.#retentionWaitsUntilUs) return;
    if ((oldestAuditUs(this.#options.reader) ?? 0) >= beforeUs - retentionSlackUs) return;
    this.#begin(vault, { actor: 'retention', beforeUs, through: Number.MAX_SAFE_INTEGER, replyTo: null }, turn);
  }

  /**
   * Starts a pruning that a caller has asked for, or queues it while another pruning runs. The caller gets an answer
   * when its pruning ends. False: the queue is full.
   */
  request(vault: Vault, job: Omit<PruneJob, 'actor'>, turn: Turn): boolean {
    if (this.#job === null) this.#begin(vault, { ...job, actor: 'admin' }, turn);
    else if (this.#waiting.length >= waitingJobsMax) return false;
    else this.#waiting.push({ ...job, actor: 'admin' });
    return true;
  }

  continue(vault: Vault, event: PruneEvent, turn: Turn): void {
    if (this.#job === null) return;
    if (event.kind === 'prune_continue') this.#step(vault, this.#job, turn);
    else this.#fail(vault, this.#job, 'export_failed', event.problem, turn);
  }

  #begin(vault: Vault, job: PruneJob, turn: Turn): void {
    const { auditBase: after = auditStart, auditEnd } = vault.keyring;
    const directory = this.#options.exportDirectory();
    const mark = hexOf(this.#options.random(6));
    this.#job = {
      ...job,
      // Records that are written during the pruning are kept.
      through: Math.min(job.through, auditEnd.seq),
      file: directory === null ? null : { directory, first: after.seq + 1, vault: vaultMark(vault.keyring), mark },
      after,
      exported: after,
      isExported: false,
      removed: 0,
      broken: null,
    };
    this.#step(vault, this.#job, turn);
  }

  #step(vault: Vault, job: RunningJob, turn: Turn): void {
    if (job.file === null || job.isExported) this.#remove(vault, job, turn);
    else this.#export(vault, job, job.file, turn);
  }

  #export(vault: Vault, job: RunningJob, file: ExportTarget, turn: Turn): void {
    const { after, exported } = job;
    const records = exported.seq - after.seq;
    const segment = readSegment(this.#options.reader, vault.keyring, exported, job, batchSize(records));
    this.#noteBreak(job, segment);
    if (segment.entries.length > 0) {
      job.exported = segment.end;
      const lines = segment.entries.map(entryLine).join('');
      const isFirst = records === 0;
      this.#write(turn, () =>
        isFirst ? beginExport(file, headLine(after) + lines, turn.nowUs / 1000) : continueExport(file, lines),
      );
      return;
    }
    job.isExported = true;
    const end = endLine(vault.keyring, after, exported);
    if (records > 0) this.#write(turn, () => endExport(file, exported.seq, end));
    // If no record was exported, `#remove` finds none to remove, and ends the pruning.
    else this.#remove(vault, job, turn);
  }

  #remove(vault: Vault, job: RunningJob, turn: Turn): void {
    const limits = { beforeUs: job.beforeUs, through: job.file === null ? job.through : job.exported.seq };
    const segment = vault.prune(this.#options.reader, turn.batch, limits, batchSize(job.removed));
    const records = segment.entries.length;
    job.removed += records;
    this.#noteBreak(job, segment);
    if (records > 0) {
      this.#note(job, turn, { count: records, through: segment.end.seq });
      turn.after(() => this.#options.tell({ kind: 'prune_continue' }));
    } else this.#end(vault, job, turn);
  }

  #note({ actor }: PruneJob, turn: Turn, more: Partial<NewAuditRecord>): void {
    this.#options.audit(turn, { actor, op: 'audit.prune', outcome: 'ok', code: null, ...more });
  }

  #noteBreak(job: RunningJob, { broken }: AuditSegment): void {
    if (broken === null) return;
    job.broken = broken;
    if (!this.#isTrailBroken) this.#options.onBrokenTrail(broken);
    this.#isTrailBroken = true;
  }

  /** Writes to the file after the commit of the turn. A message to the actor says whether the write succeeded. */
  #write(turn: Turn, write: () => Promise<void>): void {
    turn.after(() => {
      write().then(
        () => this.#options.tell({ kind: 'prune_continue' }),
        (error: Error) => this.#options.tell({ kind: 'prune_failed', problem: error.message }),
      );
    });
  }

  #end(vault: Vault, job: RunningJob, turn: Turn): void {
    const { removed, actor, broken } = job;
    if (broken !== null) {
      this.#fail(vault, job, 'broken_trail', broken, turn);
      return;
    }
    if (removed === 0 && actor === 'admin') this.#note(job, turn, { count: 0 });
    const more = removed >= recordsPerJobMax;
    this.#finish(vault, job, { kind: 'done', status: 'pruned', records: removed, more }, turn);
  }

  #fail(vault: Vault, job: RunningJob, refusal: 'broken_trail' | 'export_failed', detail: string, turn: Turn): void {
    if (refusal === 'export_failed') {
      this.#options.onExportFailed(detail);
      this.#retentionWaitsUntilUs = turn.nowUs + exportRetryUs;
    }
    if (job.actor === 'admin') this.#note(job, turn, { outcome: 'refused', code: refusal });
    this.#finish(vault, job, { kind: 'refused', refusal, detail }, turn);
  }

  #finish(vault: Vault, { replyTo }: PruneJob, reply: VaultReply, turn: Turn): void {
    if (replyTo !== null) turn.reply(replyTo, reply);
    this.#job = null;
    const next = this.#waiting.shift();
    if (next) this.#begin(vault, next, turn);
  }
}

/** The maximum number of records that the next turn exports or removes, if the pruning has exported or removed `done` records. */
function batchSize(done: number): number {
  return Math.min(recordsPerTurnMax, recordsPerJobMax - done);
}
