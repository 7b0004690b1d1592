// The lives of the ledger's actors. Each begins from what the store holds, and ends when a turn fails: then memory and disk may differ.
//
// After a failed turn the hosts keep what they run, and each message of the turn is handled in a turn of its own. The one that fails
// alone is refused, or fails its job; a record that is named as the culprit fails its run, or is set aside. Where neither is
// known, the hosts are stopped before the next life begins; too many such failures end the service, as does a fault of the disk.
// Store, hosts and time are values: a simulation runs this file as the ledger thread does.

import { type Culprit, CulpritError, culpritText } from '../../actors/culprit.ts';
import type { InnerMessage } from '../../actors/job/actor.ts';
import type { Refusal, SubmitReply } from '../../actors/job/protocol.ts';
import type { FailRun } from '../../actors/pipeline/protocol.ts';
import { encodeBody } from '../../runtime/host/wire/outcome.ts';
import type { Outcome } from '../../runtime/host/wire/port.ts';
import { type Delivered, type Loop, type LoopOptions, startLoop } from '../../runtime/loop.ts';
import { isStoreFault } from '../../runtime/store/fault.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import { StoreFull } from '../../runtime/store/store.ts';
import { deathCounter, type Intensity } from '../../runtime/supervisor.ts';
import type { ReplyTo, TurnHandler } from '../../runtime/turn.ts';

/** docs/contract.md#exit-statuses */
const exitBug = 70;
const exitIo = 74;

/** Failures whose culprit is not known are survived so often. */
export const failuresMax: Intensity = { deathsMax: 3, withinMs: 10_000 };

/** One life of the actors. */
export type Life = {
  /** Counts from 1. */
  readonly number: number;
  /** To an actor of this life; what comes after its end is dropped. */
  tell(actor: string, message: object): void;
};

export type LivesOptions = Omit<LoopOptions, 'onFailure' | 'onEffectFailure'> & {
  /** Makes the actors from what the store holds. */
  readonly begin: (life: Life) => TurnHandler;
  /** What the actors of the next life pass over. */
  readonly setAside: SetAside;
  /** Ends all hosts; resolves when no plugin code runs any more. */
  readonly stopHosts: () => Promise<void>;
  readonly hasRoom: () => boolean;
  /** Sends what was answered outside of a turn. */
  readonly flush: () => void;
  readonly nowMs: () => number;
  readonly log: (level: 'warn' | 'error', message: string, fields: object) => void;
  /** Nothing is committed any more; the service must end with this status. */
  readonly onFatal: (exitStatus: number, message: string) => void;
};

/**
 * up: work is done. leaving: hosts are ending. resting: they have ended, and nothing begins before there is room, or a new process.
 * over: the service ends.
 */
export type Condition = 'up' | 'leaving' | 'resting' | 'over';

/** Culprits that are remembered; beyond it they begin anew. */
const dealtMax = 10_000;
const wake: Delivered = { actor: 'job', message: { kind: 'wake' } satisfies InnerMessage };

export class Lives {
  readonly loop: Loop;
  readonly #options: LivesOptions;
  readonly #failedTooOften = deathCounter(failuresMax);
  /** How often a culprit was dealt with. */
  readonly #dealt = new Map<string, number>();
  /** Outcomes that stand in for ones that failed. */
  readonly #substitutes = new WeakSet<object>();
  #number = 0;
  #condition: Condition = 'resting';
  /** Who asked for the stop; from then on no life begins. */
  #stopper: ReplyTo | null = null;

  constructor(options: LivesOptions) {
    this.#options = options;
    this.loop = startLoop({
      ...options,
      onFailure: (error, delivered) => this.#fail(error, delivered),
      onEffectFailure: error => this.#failEffect(error),
    });
  }

  get condition(): Condition {
    return this.#condition;
  }

  /** A stop was asked for, and is about to be delivered. */
  stopping(asked: ReplyTo): void {
    this.#stopper = asked;
  }

  /** Begins the first life, or one after a rest, unless the service ends. */
  begin(): void {
    if (this.#stopper !== null || this.#condition === 'over') return;
    this.#condition = 'up';
    const number = ++this.#number;
    const tell = (actor: string, message: object): void => {
      if (number === this.#number) this.loop.deliver(actor, message);
    };
    try {
      this.loop.setHandler(this.#options.begin({ number, tell }));
    } catch (error) {
      this.#options.log('error', 'the actors cannot begin', { error: textOf(error) });
      const exitStatus = isStoreFault(error) ? exitIo : exitBug;
      this.#end(exitStatus, `the ledger cannot begin: ${(error as Error).message}`, []);
      return;
    }
    tell('job', { kind: 'load' });
  }

  #fail(error: unknown, delivered: readonly Delivered[]): void {
    if (isStoreFault(error)) {
      this.#end(exitIo, `the ledger cannot be written: ${error.message}`, delivered);
      return;
    }
    const isFull = error instanceof StoreFull;
    this.#options.log('error', isFull ? 'the disk is full' : 'a turn failed', { error: textOf(error) });
    if (isFull) this.#rest('disk_full', delivered);
    else this.#goOn(error, delivered);
  }

  /** What the actors take to have happened outside has not. Their next life goes by what hosts have. */
  #failEffect(error: unknown): void {
    this.#options.log('error', 'an effect of a turn failed', { error: textOf(error) });
    if (this.#stopper === null && !this.#failedTooOften(this.#options.nowMs())) this.begin();
    else this.#end(exitBug, `the ledger failed too often: ${(error as Error).message}`, []);
  }

  #goOn(error: unknown, delivered: readonly Delivered[]): void {
    const next = this.#stopper === null ? this.#remedy(error, delivered) : null;
    if (next !== null) {
      this.begin();
      this.loop.replay(next);
    } else if (this.#failedTooOften(this.#options.nowMs())) {
      this.#end(exitBug, `the ledger failed too often: ${(error as Error).message}`, delivered);
    } else this.#rest('unavailable', delivered);
  }

  /** What the next life is to handle; null: nobody knows what to do about the failure. */
  #remedy(error: unknown, delivered: readonly Delivered[]): readonly Delivered[] | null {
    if (error instanceof CulpritError) {
      const first = this.#deal(error.culprit, error);
      if (first !== null) return [...first, ...delivered];
    }
    const [only] = delivered;
    if (delivered.length !== 1) return delivered.length === 0 ? null : delivered;
    return this.#blame(only!, error);
  }

  /** Each time that the same culprit is found something stronger is done. Null: all has been. */
  #deal(culprit: Culprit, error: Error): readonly Delivered[] | null {
    const name = culpritText(culprit);
    const times = this.#dealt.get(name) ?? 0;
    if (this.#dealt.size >= dealtMax) this.#dealt.clear();
    this.#dealt.set(name, times + 1);
    const { setAside } = this.#options;
    if (culprit.kind === 'run') {
      const { id } = culprit;
      if (times < 2) {
        this.#options.log('error', 'a run cannot go on: it fails', { run: name, error: error.message });
        const message: FailRun = {
          kind: 'fail_run',
          id,
          error: `the run cannot go on: ${error.message}`,
          atOnce: times === 1,
        };
        return [{ actor: 'pipeline', message }];
      }
      if (times === 2) setAside.add('runs', id, error);
    } else if (times === 0) setAside.add(culprit.kind === 'block' ? 'open' : 'emissions', culprit.key, error);
    return times <= (culprit.kind === 'run' ? 2 : 0) ? [] : null;
  }

  /** A message failed in a turn of its own. Whether it is to blame shows in the next turn, which has nothing to handle. */
  #blame({ actor, message }: Delivered, error: unknown): readonly Delivered[] | null {
    const { kind, replyTo } = message as { kind: string; replyTo?: ReplyTo };
    if (kind === 'outcomes') {
      const outcomes = this.#substituteFor(message as Outcomes, error);
      return outcomes && [wake, ...outcomes.map(outcome => ({ actor, message: outcome }))];
    }
    if (replyTo === undefined || kind === 'stop' || kind === 'hosts_stopped') return null;
    this.#options.log('error', 'a message is refused: its turn failed', {
      actor,
      kind,
      error: (error as Error).message,
    });
    this.#refuse(message, 'unavailable');
    return [wake];
  }

  /** Several outcomes are told apart. A single one is replaced by a failure of its job, once. */
  #substituteFor(message: Outcomes, error: unknown): Outcomes[] | null {
    if (message.outcomes.length > 1) return message.outcomes.map(outcome => ({ ...message, outcomes: [outcome] }));
    const [outcome] = message.outcomes;
    if (outcome === undefined || this.#substitutes.has(outcome)) return null;
    const reason = `what the plugin answered could not be taken: ${(error as Error).message}`;
    this.#options.log('error', 'an outcome cannot be taken: its job fails', { error: (error as Error).message });
    const failed: Outcome = {
      ...outcome,
      verdict: 'error',
      permanent: true,
      body: encodeBody({ error: Buffer.from(reason) }),
    };
    this.#substitutes.add(failed);
    return [{ ...message, outcomes: [failed] }];
  }

  /** No actor that remembers anything handles what comes from now on, and nothing is committed. */
  #end(exitStatus: number, message: string, delivered: readonly Delivered[]): void {
    this.#number++;
    this.#condition = 'over';
    this.#putRefusers('unavailable');
    for (const each of delivered) this.#refuse(each.message, 'unavailable');
    this.#options.onFatal(exitStatus, message);
  }

  /**
   * Ends the life of the actors. A new one begins when no plugin code of this one runs any more, and the disk has room;
   * or the stop that was asked for is answered then.
   */
  #rest(refusal: Refusal, delivered: readonly Delivered[]): void {
    this.#number++;
    this.#condition = 'leaving';
    this.#putRefusers(refusal);
    for (const { message } of delivered) this.#refuse(message, refusal);
    void this.#options.stopHosts().then(() => {
      this.#condition = 'resting';
      if (this.#stopper === null) {
        if (this.#options.hasRoom()) this.begin();
        return;
      }
      this.#options.reply(this.#stopper, { kind: 'stopped' });
      this.#options.flush();
    });
  }

  #putRefusers(refusal: Refusal): void {
    this.loop.setHandler({ receive: (_, message) => this.#refuse(message, refusal) });
  }

  #refuse(message: unknown, refusal: Refusal): void {
    const { kind, replyTo } = message as { kind: string; replyTo?: ReplyTo };
    if (!replyTo) return;
    const { reply } = this.#options;
    if (kind !== 'stop' && kind !== 'hosts_stopped') reply(replyTo, { kind: 'refused', refusal } satisfies SubmitReply);
    // Else it is answered when the last life has left.
    else if (this.#condition === 'resting' || this.#condition === 'over') reply(replyTo, { kind: 'stopped' });
  }
}

type Outcomes = Extract<InnerMessage, { readonly kind: 'outcomes' }>;

function textOf(error: unknown): string {
  const { stack, message } = error as Error;
  return stack ?? message;
}
