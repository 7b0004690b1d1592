// The job actor: the one hand that writes jobs. Each message is one small move on the state; a turn ends with dispatch.
import type { Config } from '../../config/config.ts';
import type { HostedPlugin, Outcome } from '../../runtime/host/wire/port.ts';
import type { Actor, ReplyTo, Turn } from '../../runtime/turn.ts';
import { Acceptance } from './accept.ts';
import { idleOf, queueState } from './analytics.ts';
import { Dispatcher, type DispatcherPorts } from './dispatch.ts';
import { hostPlugin } from './host-plugin.ts';
import type { HostSlotName } from './host-slot.ts';
import { IdempotencyTable } from './idempotency.ts';
import { JobState, type JobStateOptions } from './job-state.ts';
import type {
  AskHeld,
  HeldJobs,
  HeldReply,
  HoldsChanged,
  JobMessage,
  Refusal,
  RunIds,
  SetAsideReply,
  WaitsReply,
} from './protocol.ts';
import { heldOf, wouldBeHeld } from './queued.ts';
import { Recovery } from './recovery.ts';
import { Retention } from './retention.ts';
import { RunJobs } from './run-jobs.ts';
import { Sandboxes, type TrySandbox } from './sandboxes.ts';
import { waitsOf } from './waits.ts';

/** What comes from the hosts and from the actor itself, besides the protocol. */
export type InnerMessage =
  | {
      readonly kind: 'outcomes';
      readonly slot: HostSlotName;
      readonly frameId: number;
      readonly outcomes: readonly Outcome[];
    }
  | {
      readonly kind: 'returned';
      readonly slot: HostSlotName;
      readonly frameId: number;
      readonly tasks: readonly number[];
      /** They had begun, and are to run alone. */
      readonly alone?: boolean;
    }
  /** `sentUpTo`: the newest frame that it was given. After a failed turn frames leave before this is handled again. */
  | { readonly kind: 'host_lost'; readonly slot: HostSlotName; readonly reason: string; readonly sentUpTo: number }
  | { readonly kind: 'thread_replaced'; readonly slot: HostSlotName }
  | { readonly kind: 'alarm' }
  | { readonly kind: 'load' }
  | { readonly kind: 'prune' }
  | { readonly kind: 'wake' }
  | { readonly kind: 'admit'; readonly refusal: 'disk_full' | null }
  | { readonly kind: 'reconfigure'; readonly config: Config }
  | { readonly kind: 'stop'; readonly replyTo: ReplyTo; readonly graceMs: number }
  | { readonly kind: 'hosts_stopped'; readonly replyTo: ReplyTo };

export type JobActorOptions = JobStateOptions &
  DispatcherPorts & {
    /** Left out: every sandbox can be had. */
    readonly trySandbox?: TrySandbox;
    /** Shared with the pipeline actor. */
    readonly idempotency?: IdempotencyTable;
    readonly nowMs: number;
    /** Puts a message into the actor's own mailbox. */
    readonly self: (message: InnerMessage | HoldsChanged) => void;
    /** Sends `alarm` at this time; the newest call counts. */
    readonly alarm: (atUs: number | null) => void;
  };

export type JobActor = Actor & {
  readonly dispatcher: Dispatcher;
  readonly runIds: RunIds;
  /** Why no new work is taken at the moment; null: it is. */
  readonly refusal: () => Refusal | null;
};

export function startJobActor(options: JobActorOptions): JobActor {
  const { self } = options;
  const attempt = options.trySandbox ?? (async () => null);
  const sandboxes = new Sandboxes(options.config, attempt, () => self({ kind: 'holds_changed' }));
  const state = new JobState({
    ...options,
    holdSources: [['plugin', sandboxes.holdOf], ...(options.holdSources ?? [])],
  });
  const idempotency = options.idempotency ?? new IdempotencyTable(options.reader);
  const acceptance = new Acceptance(state, idempotency);
  const runs = new RunJobs(state);
  const dispatcher = new Dispatcher(state, options.config.service.workersMax, options);
  const recovery = new Recovery(state, options.nowMs);
  const retention = new Retention(state);
  let alarmUs: number | null = null;
  let isLoaded = false;
  /** Which holds hold jobs is to be noted at the end of this turn, when all that it accepts is counted. */
  let areHoldsDue = true;
  let isFirstTurn = true;

  sandboxes.configure(options.config);
  state.reviewHolds();
  dispatcher.configure(hostedPlugins(options.config));
  dispatcher.warm();

  function handle(message: JobMessage | InnerMessage, turn: Turn): void {
    switch (message.kind) {
      case 'submit':
        acceptance.submit(turn, message);
        break;
      case 'create':
        acceptance.create(turn, message);
        break;
      case 'create_run':
        runs.create(turn, message);
        break;
      case 'settle_run':
        runs.settle(turn, message);
        break;
      case 'ask_idle':
        // As of the end of the turn: what came back in it may have been handed out again.
        turn.after(() => {
          turn.reply(message.replyTo, { kind: 'idle', ids: isLoaded ? idleOf(dispatcher, message.ids) : null });
        });
        break;
      case 'ask_queue':
        turn.reply(message.replyTo, queueState(state, dispatcher, turn.nowUs));
        break;
      case 'ask_waits':
        turn.reply(message.replyTo, {
          kind: 'waits',
          waits: waitsOf(state, dispatcher, message.id, turn.nowUs),
        } satisfies WaitsReply);
        break;
      case 'ask_held':
        turn.reply(message.replyTo, { kind: 'held', held: held(message) } satisfies HeldReply);
        break;
      case 'ask_set_aside':
        turn.reply(message.replyTo, setAsideReply());
        break;
      case 'outcomes':
        dispatcher.settle(turn, message.slot, message.frameId, message.outcomes);
        break;
      case 'returned':
        dispatcher.returned(turn, message.slot, message.frameId, message.tasks, message.alone ?? false);
        break;
      case 'host_lost':
        dispatcher.hostLost(turn, message.slot, message.reason, message.sentUpTo);
        break;
      case 'thread_replaced':
        state.watch.plain('worker.replaced', turn.nowUs, { host: message.slot });
        break;
      case 'alarm':
        alarmUs = null;
        wakeRetries(turn);
        break;
      case 'load':
        isLoaded = recovery.step(turn);
        areHoldsDue = true;
        if (!isLoaded) turn.after(() => self({ kind: 'load' }));
        break;
      case 'holds_changed':
        state.reviewHolds();
        areHoldsDue = true;
        break;
      case 'prune':
        areHoldsDue = true;
        state.minutes.prune(turn.nowUs, turn.batch);
        if ([idempotency.prune(turn), retention.step(turn)].includes(true)) turn.after(() => self({ kind: 'prune' }));
        break;
      // It only makes a turn come.
      case 'wake':
        break;
      case 'admit':
        if (acceptance.closed === 'stopping') break;
        acceptance.closed = message.refusal;
        if (message.refusal) dispatcher.hold(turn.nowUs, true);
        else dispatcher.resume();
        break;
      case 'reconfigure':
        sandboxes.configure(message.config);
        state.configure(message.config);
        dispatcher.configure(hostedPlugins(message.config));
        areHoldsDue = true;
        break;
      case 'stop':
        acceptance.closed = 'stopping';
        // Not in this turn either: a host that is started for a frame now would not be stopped with the others.
        dispatcher.hold(turn.nowUs, false);
        turn.after(() => {
          const stopped = dispatcher.stop(message.graceMs);
          void stopped.then(() => self({ kind: 'hosts_stopped', replyTo: message.replyTo }));
        });
        break;
      case 'hosts_stopped':
        dispatcher.requeueAll(turn);
        turn.reply(message.replyTo, { kind: 'stopped' });
        break;
      default:
        message satisfies never;
    }
  }

  function setAsideReply(): SetAsideReply {
    const { size, listed } = state.setAside;
    return { kind: 'set_aside', all: size, listed };
  }

  /** Hosts may have frames of an earlier life. */
  function open(turn: Turn): void {
    if (!isFirstTurn) return;
    isFirstTurn = false;
    recovery.adopt(turn, dispatcher.adopt());
  }

  function held({ next }: AskHeld): HeldJobs[] {
    const queued = dispatcher.queued();
    if (next) return wouldBeHeld(state, queued, next).map(jobs => ({ ...jobs, detail: '', sinceUs: 0 }));
    return heldOf(state, queued).map(({ hold: { detail, sinceUs }, ...jobs }) => ({ ...jobs, detail, sinceUs }));
  }

  function wakeRetries(turn: Turn): void {
    for (let due = state.popDue(turn.nowUs); due; due = state.popDue(turn.nowUs)) {
      const { open, index, attempt, culprit } = due;
      const again = { open, index, attempt, kept: true, alone: culprit };
      if (culprit) dispatcher.quarantine.take(again, true);
      else state.lane(open.plugin).enqueueAgain(again);
    }
  }

  function setAlarm(turn: Turn): void {
    const dueUs = state.retries.nextDueUs;
    if (dueUs === alarmUs) return;
    alarmUs = dueUs;
    turn.after(() => options.alarm(dueUs));
  }

  return {
    dispatcher,
    runIds: runs,
    refusal: () => acceptance.refusal(),
    receive(messages, turn) {
      open(turn);
      for (const message of messages) handle(message as JobMessage | InnerMessage, turn);
    },
    quiet(turn) {
      open(turn);
      runs.seal(turn);
      acceptance.seal(turn);
      if (areHoldsDue) dispatcher.keepHolds(turn);
      areHoldsDue = false;
      if (dispatcher.dispatch(turn)) turn.after(() => self({ kind: 'wake' }));
      state.close(turn);
      setAlarm(turn);
    },
  };
}

function hostedPlugins(config: Config): HostedPlugin[] {
  return Object.values(config.plugins).map(hostPlugin);
}
