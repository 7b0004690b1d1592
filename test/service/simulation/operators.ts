// The operators who pause, resume and run now: what they ask, what they are answered, and what must hold because of these answers, whatever fails.
import type { PauseReply } from '../../../actors/job/holds/pause-protocol.ts';
import { groupOf } from '../../../actors/job/records/block.ts';
import { breakerName, decodePause, isHalfOpen, type PauseTarget, pauseKey } from '../../../actors/job/records/pause.ts';
import { decodeRun } from '../../../actors/pipeline/records/run.ts';
import { formatId, type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import type { WriteBatch } from '../../../runtime/store/batch.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import type { ReplyTo } from '../../../runtime/turn.ts';
import { holds } from './broken.ts';
import type { CancelModel } from './cancel-model.ts';
import type { Dice } from './dice.ts';
import type { HeldFrame } from './hosts.ts';
import { blockIn } from './remembered.ts';
import { called } from './setup.ts';

const system: PauseTarget = { kind: 'system', name: '', command: null };
const secondUs = 1_000_000;
/** The numbers of these asks begin here, so that they differ from those of the callers. */
const firstAsk = 1_000_000_000;

export class Operators {
  readonly #reader: Reader;
  readonly #dice: Dice;
  readonly #cancels: CancelModel;
  readonly #isDamaged: (id: string) => boolean;
  readonly #asks = new Map<
    number,
    { readonly key: string | null; readonly isPause: boolean; readonly hasEnd: boolean }
  >();
  /** Keys of acknowledged pauses that only a resume ends. */
  readonly #told = new Set<string>();
  /** When frames left, in µs. */
  readonly #leftUs = new WeakMap<HeldFrame, number>();
  #asked = firstAsk;

  constructor(reader: Reader, dice: Dice, cancels: CancelModel, isDamaged: (id: string) => boolean) {
    this.#reader = reader;
    this.#dice = dice;
    this.#cancels = cancels;
    this.#isDamaged = isDamaged;
  }

  /** The process has ended: nobody is answered any more. */
  drop(): void {
    this.#asks.clear();
  }

  next(nowUs: number): object {
    const kind = this.#dice.below(10);
    const target = this.#target();
    if (kind < 3) return this.#pause(target, nowUs);
    return kind < 8 ? this.resume(target) : this.#runNow();
  }

  #target(): PauseTarget {
    const dice = this.#dice;
    const paused = Array.from(this.#reader.scan('pauses', {}), ({ key, value }) => decodePause(key, value)!);
    if (paused.length > 0 && dice.chance(0.6)) return dice.pick(paused);
    const plugin = { kind: 'plugin', name: dice.pick([...called, 'echo']), command: null } as const;
    return dice.pick<PauseTarget>([
      plugin,
      { ...plugin, command: 'handle' },
      { kind: 'pipeline', name: dice.pick(['p', 'q', 'r', 's']), command: null },
      ...(dice.chance(0.3) ? [system] : []),
    ]);
  }

  #pause({ kind, name, command }: PauseTarget, nowUs: number): object {
    const dice = this.#dice;
    const untilUs = dice.chance(0.5) ? nowUs + dice.pick([1, 10, 600]) * secondUs : null;
    const pause = { kind, name, command, reason: null, by: 'somebody', untilUs, rejects: dice.chance(0.1) };
    this.#told.delete(pauseKey(pause));
    return { kind: 'pause', pause, replyTo: this.#ask(pauseKey(pause), true, untilUs !== null) };
  }

  resume({ kind, name, command }: PauseTarget): object {
    const target = { kind, name, command };
    this.#told.delete(pauseKey(target));
    return { kind: 'resume', target, by: 'somebody', replyTo: this.#ask(pauseKey(target), false, false) };
  }

  #runNow(): object {
    const ids = Array.from(this.#reader.keys('retries', {}), key => Buffer.from(key));
    const id: JobId = ids.length > 0 ? this.#dice.pick(ids) : Buffer.alloc(16, 1);
    return { kind: 'run_now', id, replyTo: this.#ask(null, false, false) };
  }

  #ask(key: string | null, isPause: boolean, hasEnd: boolean): ReplyTo {
    const replyTo = { thread: 'edge', ask: ++this.#asked };
    // If several asks concern one target, it is not known which one comes last.
    const isAlone = key !== null && ![...this.#asks.values()].some(ask => ask.key === key);
    this.#asks.set(replyTo.ask, { key, isPause: isPause && isAlone, hasEnd });
    return replyTo;
  }

  /** Takes an answer. Returns whether the question was asked by this class. */
  answered({ ask }: ReplyTo, value: unknown): boolean {
    if (ask <= firstAsk) return false;
    const asked = this.#asks.get(ask);
    holds(asked !== undefined, () => `the order ${ask} is answered twice, or was never given`);
    this.#asks.delete(ask);
    const { key, isPause, hasEnd } = asked!;
    const isOnly = ![...this.#asks.values()].some(other => other.key === key);
    if (isPause && !hasEnd && isOnly && (value as PauseReply).kind === 'pause') this.#told.add(key!);
    this.verify();
    return true;
  }

  /** Acknowledged pauses must exist, also after a crash. */
  verify(): void {
    for (const key of this.#told)
      holds(this.#reader.get('pauses', Buffer.from(key)) !== undefined, () => `the pause ${name(key)} is forgotten`);
  }

  /** Checks a frame that is sent: no pause of its jobs may be in force. */
  frameHolds(held: HeldFrame, others: readonly HeldFrame[], nowUs: number): void {
    const {
      frame: { instance, command },
      tasks,
    } = held;
    this.#leftUs.set(held, nowUs);
    const plugin = { kind: 'plugin', name: instance, command: null } as const;
    const sinceUs = this.#halfOpenSinceUs(plugin, nowUs);
    const isHalfOpen = sinceUs !== null;
    // Only jobs sent since the breaker is half open are trials; earlier ones may still be under way.
    const isTrial = (other: HeldFrame) => other.frame.instance === instance && this.#leftUs.get(other)! >= sinceUs!;
    const beside = isHalfOpen ? others.filter(isTrial).length : 0;
    holds(
      !isHalfOpen || (tasks.length === 1 && beside === 0),
      () => `the breaker of ${instance} lets ${tasks.length} jobs out beside ${beside} trials`,
    );
    const service = tasks.every(({ id }) => this.#cancels.isExempt(id)) ? [] : [system];
    for (const target of isHalfOpen
      ? [...service, { ...plugin, command }]
      : [...service, plugin, { ...plugin, command }])
      holds(
        !this.#isPaused(target),
        () => `a frame of ${instance}/${command} leaves, and ${name(pauseKey(target))} is paused`,
      );
  }

  /** Checks a batch before its commit: no step of a paused pipeline may begin in it. */
  committing(batch: Batch): void {
    const { tables, keys, values } = batch as WriteBatch;
    const changed = new Set(
      tables.flatMap((table, at) => (table === 'pauses' ? [Buffer.from(keys[at]!).toString()] : [])),
    );
    const blocks = [...tables.entries()].flatMap(([at, table]) => {
      const value = table === 'blocks' ? values[at] : undefined;
      return value === undefined ? [] : [{ key: keys[at]!, block: blockIn(value) }];
    });
    // The groups of new jobs: a phase may call a run whose first steps begin in the same commit.
    const born = new Map(
      blocks.flatMap(({ key, block }) =>
        Array.from({ length: block.count }, (_, at) => [formatId(jobId(key, at)), groupOf(block, at).group] as const),
      ),
    );
    for (const { block } of blocks) {
      for (let index = 0; index < block.count; index++) {
        const { run, pipeline, phase } = groupOf(block, index).group;
        if (run === null || pipeline === null) continue;
        const own = { kind: 'pipeline', name: pipeline, command: null } as const;
        const isHeld = phase === undefined && !this.#cancels.isExempt(formatId(run.run), born);
        for (const target of isHeld ? [system, own] : [own]) {
          const key = pauseKey(target);
          const isWrong = !changed.has(key) && this.#isPaused(target);
          holds(!isWrong, () => `a step of the run ${formatId(run.run)} begins, and ${name(key)} is paused`);
        }
      }
    }
  }

  /**
   * Called when nothing is left to do but to wait for an alarm (`hasAlarm`). If only the service is paused, no phase of a cancelled run may be
   * held. Pauses end by themselves, if they have an end, and no job may wait for a half-open breaker. Returns a target to resume, or null.
   * `waiting`: the number of jobs that wait to be handed out.
   */
  quiet(nowUs: number, hasAlarm: boolean, waiting: number): PauseTarget | null {
    const paused = Array.from(this.#reader.scan('pauses', {}), ({ key, value }) => decodePause(key, value)!);
    const isServiceAlone = paused.length === 1 && paused[0]!.kind === 'system';
    for (const { key, value } of isServiceAlone ? this.#reader.scan('runs', {}) : []) {
      const id = formatId(key.subarray(0, jobIdBytes));
      if (key.length > jobIdBytes || this.#isDamaged(id)) continue;
      const isHeld = decodeRun(Buffer.from(value)).run.phase?.status === 'cancelled';
      holds(!isHeld, () => `the pause of the service holds a phase of the run ${id}, which was cancelled`);
    }
    const lasting = paused.filter(pause => !isHalfOpen(pause, nowUs));
    for (const pause of lasting)
      holds(
        pause.untilUs === null || (hasAlarm && pause.untilUs > nowUs - 60 * secondUs),
        () => `the pause ${name(pauseKey(pause))} does not end`,
      );
    if (lasting[0]) return lasting[0];
    const [breaker] = paused;
    holds(!breaker || waiting === 0, () => `${waiting} jobs wait for ${name(pauseKey(breaker!))}`);
    return breaker ?? null;
  }

  /** Since when the breaker of the target is half open, in µs: since its pause was over. Null: the target has no breaker that is half open. */
  #halfOpenSinceUs(target: PauseTarget, nowUs: number): number | null {
    const key = Buffer.from(pauseKey(target));
    const value = this.#reader.get('pauses', key);
    const pause = value && decodePause(key, value);
    return pause?.by === breakerName && pause.untilUs !== null && pause.untilUs <= nowUs ? pause.untilUs : null;
  }

  #isPaused(target: PauseTarget): boolean {
    return this.#reader.get('pauses', Buffer.from(pauseKey(target))) !== undefined;
  }
}

function name(key: string): string {
  return key.replaceAll('\0', ' ').trim();
}
