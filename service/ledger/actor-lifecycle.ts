// The lifecycle of the ledger's actors. Each generation of actors begins with the contents of the store. A failed turn ends the generation, because
// the actors' memory may then differ from the disk.
//
// After a failed turn the hosts keep the frames that they run, and the next generation handles each message of the turn in a turn of its
// own. A message that fails alone is refused, or its job fails. If the error names a record, the record's run fails, or the record
// is set aside. If no cause is found, the hosts are stopped before the next generation begins. Too many such failures end the service; a
// fault of the disk ends it at once. If the disk is full, the hosts are stopped, and the next generation waits for room. Store, hosts and time
// are arguments, so the simulation runs this file as the ledger thread does.

import { type FailedRecord, FailedRecordError, failedRecordText } from '../../actors/failed-record.ts';
import type { InnerMessage } from '../../actors/job/actor.ts';
import type { Refusal, SubmitReply } from '../../actors/job/protocol.ts';
import type { FailRun } from '../../actors/pipeline/protocol.ts';
import { CrashHold, type CrashHoldLimits } from '../../runtime/crash-hold.ts';
import { encodeBody } from '../../runtime/host/wire/outcome.ts';
import type { Outcome } from '../../runtime/host/wire/plugin-host.ts';
import { type Loop, type LoopOptions, type QueuedMessage, startLoop } from '../../runtime/loop.ts';
import { isStoreFault } from '../../runtime/store/fault.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import { type StoreFault, StoreFull } from '../../runtime/store/store.ts';
import type { ReplyTo, TurnHandler } from '../../runtime/turn.ts';

/** Exit statuses of the service (docs/contract.md#exit-statuses). */
const exitBug = 70;
const exitIo = 74;

/**
 * `crashesMax` failures within `windowMs` end the service. Failed effects, and failed turns for which there is no remedy, count
 * as failures.
 */
const failuresMax: CrashHoldLimits = { crashesMax: 4, windowMs: 10_000, holdMs: 0 };

export type ActorGeneration = {
  /** The number of the generation: 1 for the first one, and a larger number for each later one. */
  readonly number: number;
  /** Sends a message to an actor of this generation. If the generation has ended, the message is dropped. */
  tell(actor: string, message: object): void;
};

export type ActorLifecycleOptions = Omit<LoopOptions, 'onFailure' | 'onEffectFailure'> & {
  /** Creates the actors from the contents of the store. */
  readonly begin: (life: ActorGeneration) => TurnHandler;
  /** The unusable records, which the next generation skips. */
  readonly setAside: SetAside;
  /** Ends all hosts. Resolves when no plugin code runs any more. */
  readonly stopHosts: () => Promise<void>;
  readonly hasRoom: () => boolean;
  /** Sends the replies that were made outside of a turn. */
  readonly flush: () => void;
  /** A monotonic clock. It measures how long ago earlier failures were. */
  readonly steadyMs: () => number;
  readonly log: (level: 'warn' | 'error', message: string, fields: object) => void;
  /** Called when the actors have ended permanently: the service must end with this status. */
  readonly onFatal: (exitStatus: number, message: string) => void;
};

/**
 * `up`: the actors work. `leaving`: the generation has ended, and the hosts are being stopped. `resting`: no actors and no hosts exist,
 * because no generation has begun yet, the next one waits for room on the disk, or the service stops. `over`: the service ends.
 */
export type LifecycleState = 'up' | 'leaving' | 'resting' | 'over';

/** The maximum number of failed records whose failures are counted. When it is reached, the next failure clears all counts. */
const measuresMax = 10_000;
const wake: QueuedMessage = { actor: 'job', message: { kind: 'wake' } satisfies InnerMessage };

export class ActorLifecycle {
  readonly loop: Loop;
  readonly #options: ActorLifecycleOptions;
  readonly #failures = new CrashHold(failuresMax);
  /** How often each failed record has been dealt with (`#takeMeasure`). */
  readonly #measures = new Map<string, number>();
  /** The outcomes that have replaced outcomes that could not be handled (`#substituteFor`). */
  readonly #substitutes = new WeakSet<object>();
  #number = 0;
  #state: LifecycleState = 'resting';
  /** Where to send the answer to the request to stop; null before the request. After the request no generation begins. */
  #stopper: ReplyTo | null = null;

  constructor(options: ActorLifecycleOptions) {
    this.#options = options;
    this.loop = startLoop({
      ...options,
      onFailure: (error, delivered) => this.#fail(error, delivered),
      onEffectFailure: error => this.#failEffect(error),
    });
  }

  get state(): LifecycleState {
    return this.#state;
  }

  /** Called when a request to stop has arrived, before it is delivered. */
  stopping(asked: ReplyTo): void {
    this.#stopper = asked;
  }

  /** Begins a generation of actors, unless the service is stopping or has ended. */
  begin(): void {
    if (this.#stopper !== null || this.#state === 'over') return;
    this.#state = 'up';
    const number = ++this.#number;
    const tell = (actor: string, message: object): void => {
      if (number === this.#number) this.loop.deliver(actor, message);
    };
    try {
      this.loop.setHandler(this.#options.begin({ number, tell }));
    } catch (error) {
      this.#options.log('error', 'the actors cannot start', { error: textOf(error) });
      const exitStatus = isStoreFault(error) ? exitIo : exitBug;
      this.#end(exitStatus, `the ledger cannot start: ${(error as Error).message}`, []);
      return;
    }
    tell('job', { kind: 'load' });
  }

  /** Ends the actors permanently, because a write of the store has failed between two turns. */
  failStore(fault: StoreFault): void {
    if (this.#state !== 'over') this.#fail(fault, []);
  }

  #fail(error: unknown, delivered: readonly QueuedMessage[]): void {
    if (isStoreFault(error)) {
      this.#end(exitIo, `the ledger cannot be written: ${error.message}`, delivered);
      return;
    }
    const isFull = error instanceof StoreFull;
    this.#options.log('error', isFull ? 'the disk is full' : 'a turn failed', { error: textOf(error) });
    if (isFull) this.#rest('disk_full', delivered);
    else this.#recover(error, delivered);
  }

  /**
   * Handles the failure of an effect (something that a turn does after its commit, such as sending a reply or a frame). Begins a new generation,
   * because the actors assume that the effect happened; the new generation sees which frames the hosts really have. After too many failures, or
   * during a stop, ends the actors.
   */
  #failEffect(error: unknown): void {
    this.#options.log('error', 'an effect of a turn failed', { error: textOf(error) });
    if (this.#stopper === null && !this.#failures.crashed(this.#options.steadyMs())) this.begin();
    else this.#end(exitBug, `the ledger failed too often: ${(error as Error).message}`, []);
  }

  #recover(error: unknown, delivered: readonly QueuedMessage[]): void {
    const next = this.#stopper === null ? this.#remedy(error, delivered) : null;
    if (next !== null) {
      this.begin();
      this.loop.replay(next);
    } else if (this.#failures.crashed(this.#options.steadyMs())) {
      this.#end(exitBug, `the ledger failed too often: ${(error as Error).message}`, delivered);
    } else this.#rest('unavailable', delivered);
  }

  /** The messages that the next generation must handle after a failure; null if there is no remedy for the failure. */
  #remedy(error: unknown, delivered: readonly QueuedMessage[]): readonly QueuedMessage[] | null {
    if (error instanceof FailedRecordError) {
      const first = this.#takeMeasure(error.record, error);
      if (first !== null) return [...first, ...delivered];
    }
    const [only] = delivered;
    if (delivered.length !== 1) return delivered.length === 0 ? null : delivered;
    return this.#blame(only!, error);
  }

  /**
   * Takes a stronger measure against a failed record each time that it fails. Returns the messages for this measure; null: no
   * measure is left.
   */
  #takeMeasure(record: FailedRecord, error: Error): readonly QueuedMessage[] | null {
    const name = failedRecordText(record);
    const times = this.#measures.get(name) ?? 0;
    if (this.#measures.size >= measuresMax) this.#measures.clear();
    this.#measures.set(name, times + 1);
    const { setAside } = this.#options;
    if (record.kind === 'run') {
      const { id } = record;
      if (times < 2) {
        this.#options.log('error', 'a run cannot continue and fails', { run: name, error: error.message });
        const message: FailRun = {
          kind: 'fail_run',
          id,
          error: `the run cannot continue: ${error.message}`,
          atOnce: times === 1,
        };
        return [{ actor: 'pipeline', message }];
      }
      if (times === 2) setAside.add('runs', id, error);
    } else if (times === 0) setAside.add(record.kind === 'block' ? 'open' : 'emissions', record.key, error);
    return times <= (record.kind === 'run' ? 2 : 0) ? [] : null;
  }

  /**
   * Called when a message has failed in a turn of its own: refuses or replaces the message. Returns the messages that the next generation must
   * handle; null if there is no remedy. The next turn handles only `wake`. If that turn also fails, the message was not the cause, and there is no
   * remedy.
   */
  #blame({ actor, message }: QueuedMessage, error: unknown): readonly QueuedMessage[] | null {
    const { kind, replyTo } = message as { kind: string; replyTo?: ReplyTo };
    if (kind === 'outcomes') {
      const outcomes = this.#substituteFor(message as Outcomes, error);
      return outcomes && [wake, ...outcomes.map(outcome => ({ actor, message: outcome }))];
    }
    if (replyTo === undefined || kind === 'stop' || kind === 'hosts_stopped') return null;
    this.#options.log('error', 'a message was refused because its turn failed', {
      actor,
      kind,
      error: (error as Error).message,
    });
    this.#refuse(message, 'unavailable');
    return [wake];
  }

  /**
   * Divides several outcomes into messages with one outcome each. Replaces a single outcome by a failure of its job. Null: the outcome is
   * already such a replacement.
   */
  #substituteFor(message: Outcomes, error: unknown): Outcomes[] | null {
    if (message.outcomes.length > 1) return message.outcomes.map(outcome => ({ ...message, outcomes: [outcome] }));
    const [outcome] = message.outcomes;
    if (outcome === undefined || this.#substitutes.has(outcome)) return null;
    const reason = `the plugin's answer cannot be processed: ${(error as Error).message}`;
    this.#options.log('error', 'an outcome cannot be processed, so its job fails', { error: (error as Error).message });
    const failed: Outcome = {
      ...outcome,
      verdict: 'error',
      permanent: true,
      body: encodeBody({ error: Buffer.from(reason) }),
    };
    this.#substitutes.add(failed);
    return [{ ...message, outcomes: [failed] }];
  }

  /**
   * Ends the actors permanently. From now on there are no commits, and messages that expect a reply are refused, except a request to stop.
   */
  #end(exitStatus: number, message: string, delivered: readonly QueuedMessage[]): void {
    this.#number++;
    this.#state = 'over';
    this.#putRefusers('unavailable');
    for (const each of delivered) this.#refuse(each.message, 'unavailable');
    this.#options.onFatal(exitStatus, message);
  }

  /**
   * Ends this generation. The next one begins when no plugin code runs any more and the disk has room. If the service is to stop, the
   * request to stop is answered instead.
   */
  #rest(refusal: Refusal, delivered: readonly QueuedMessage[]): void {
    this.#number++;
    this.#state = 'leaving';
    this.#putRefusers(refusal);
    for (const { message } of delivered) this.#refuse(message, refusal);
    void this.#options.stopHosts().then(() => {
      // The disk may have failed meanwhile, which has ended the actors permanently.
      if (this.#state !== 'over') this.#state = 'resting';
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
    // In the state `leaving`, `#rest` answers a request to stop after the hosts have ended.
    else if (this.#state === 'resting' || this.#state === 'over') reply(replyTo, { kind: 'stopped' });
  }
}

type Outcomes = Extract<InnerMessage, { readonly kind: 'outcomes' }>;

function textOf(error: unknown): string {
  const { stack, message } = error as Error;
  return stack ?? message;
}
