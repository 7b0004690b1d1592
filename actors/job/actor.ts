// The job actor, the only writer of jobs. It dispatches jobs at the end of each turn.

import type { Config } from '../../config/config.ts';
import { earlier } from '../../runtime/clock.ts';
import type { HostedPlugin, Outcome, ReturnReason } from '../../runtime/host/wire/plugin-host.ts';
import { PackedList } from '../../runtime/packed-list.ts';
import type { Actor, ReplyTo, Turn } from '../../runtime/turn.ts';
import type { VaultDelivery } from '../vault/protocol.ts';
import { Actions } from './actions/actions.ts';
import { openOperations } from './actions/operations.ts';
import { Cancelling } from './cancel/cancelling.ts';
import { Dispatcher, type DispatcherPorts } from './dispatch/dispatch.ts';
import { enqueue } from './dispatch/enqueue.ts';
import { hostPlugin } from './dispatch/host-plugin.ts';
import type { HostSlotName } from './dispatch/host-slot.ts';
import { ExemptJobs } from './holds/exempt-jobs.ts';
import type { HoldSources } from './holds/holds.ts';
import type { PauseReply } from './holds/pause-protocol.ts';
import { beginRequested, endInTime, endPause, shortenPauses } from './holds/pausing.ts';
import { Sandboxes, type TrySandbox } from './holds/sandboxes.ts';
import { IdempotencyTable } from './idempotency.ts';
import { JobAcceptor, refusedBy } from './job-acceptor.ts';
import { JobState, type JobStateOptions } from './job-state.ts';
import type { JobMessage, MomentReply, PipelineCalls, SetAsideReply, WaitsReply } from './protocol.ts';
import { pruneHoldEnds } from './records/hold-ends.ts';
import type { Pause, PauseTarget } from './records/pause.ts';
import { Recovery } from './recovery.ts';
import { idleOf, queueState } from './reports/analytics.ts';
import { figuresOf } from './reports/figures.ts';
import { heldReply } from './reports/queued.ts';
import { waitsOf } from './reports/waits.ts';
import { Retention } from './retention/retention.ts';
import { RunJobs } from './run-jobs.ts';
import { type AllJobCalls, scheduledJobs } from './scheduled-jobs.ts';
import { Delayed } from './times/delayed.ts';
import { askRunNow } from './times/run-now.ts';

/** A message that the ledger thread sends to itself, for instance when a timer fires. Only `stop` comes from the main thread. */
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
      readonly reason: ReturnReason;
    }
  /**
   * A host process has died. `sentUpTo`: the greatest frame id that had been assigned by then. After a failed turn, this message may be
   * handled late, when newer frames have been sent to the restarted host; these have greater ids and are not lost.
   */
  | { readonly kind: 'host_lost'; readonly slot: HostSlotName; readonly reason: string; readonly sentUpTo: number }
  /** A host has confirmed the cancel of the task: none of the task's code can start any more. */
  | { readonly kind: 'cancelling'; readonly slot: HostSlotName; readonly frameId: number; readonly task: number }
  | { readonly kind: 'thread_replaced'; readonly slot: HostSlotName }
  | { readonly kind: 'alarm' }
  | { readonly kind: 'load' }
  | { readonly kind: 'prune' }
  | { readonly kind: 'report' }
  | { readonly kind: 'wake' }
  | { readonly kind: 'holds_changed' }
  | { readonly kind: 'admit'; readonly refusal: 'disk_full' | null }
  | { readonly kind: 'stop'; readonly replyTo: ReplyTo; readonly graceMs: number }
  | { readonly kind: 'hosts_stopped'; readonly replyTo: ReplyTo };

export type JobActorOptions = Omit<JobStateOptions, 'holdSources' | 'openRuns'> &
  Omit<DispatcherPorts, 'deliver'> & {
    readonly pipeline: PipelineCalls;
    /** The vault. Absent: no job waits for it or receives secrets. */
    readonly vault?: VaultDelivery;
    /** Tests whether a sandbox works on this machine. Absent: every sandbox counts as available. */
    readonly trySandbox?: TrySandbox;
    readonly nowMs: number;
    /** Replaces `Cancelling.perTurnMax`. */
    readonly cancelledPerTurnMax?: number;
    /** Sends a message to the actor itself, for a later turn. */
    readonly self: (message: InnerMessage) => void;
    /** Requests the message `alarm` at this time, or earlier; null: no message. A new request replaces the previous one. */
    readonly alarm: (atUs: number | null) => void;
  };

export type JobActor = Actor &
  AllJobCalls & {
    readonly dispatcher: Dispatcher;
    readonly state: Pick<JobState, 'lanes' | 'open' | 'suspects' | 'isLoaded'>;
    /** Must be called before the first message of each turn. The first call adopts the frames that hosts still have. */
    begin(turn: Turn): void;
    reconfigure(config: Config): void;
    /** Writes the blocks of new jobs and dispatches jobs. True: call it again, because runs of settled jobs may have created further jobs. */
    dispatch(turn: Turn): boolean;
    close(turn: Turn): void;
  };

export function startJobActor(options: JobActorOptions): JobActor {
  const { self, vault, pipeline } = options;
  const attempt = options.trySandbox ?? (async () => null);
  const sandboxes = new Sandboxes(options.config, attempt, () => self({ kind: 'holds_changed' }));
  const sources: HoldSources = [['plugin', sandboxes.holdOf], ...(vault ? [['vault', vault.waitsFor] as const] : [])];
  const state = new JobState({ ...options, holdSources: sources, openRuns: options.pipeline });
  const idempotency = new IdempotencyTable(options.reader, state.setAside);
  const acceptor = new JobAcceptor(state, idempotency);
  const runs = new RunJobs(state);
  const dispatcher = new Dispatcher(state, options.config.service.workersMax, {
    ...options,
    ...(vault && { deliver: vault.deliver }),
  });
  const cancelling = new Cancelling(state, dispatcher, options.pipeline, options.outstanding?.cancels ?? new Set());
  const delayed = new Delayed({ state, cancelling, runs, pipeline });
  const parts = { state, dispatcher, delayed, cancelling, acceptor, pipeline };
  const actions = new Actions(state, idempotency, openOperations(parts));
  cancelling.cancelAction = (turn, id, cancel) => actions.cancel(turn, id, cancel);
  if (options.cancelledPerTurnMax !== undefined) cancelling.perTurnMax = options.cancelledPerTurnMax;
  const recovery = new Recovery(state, options.nowMs);
  const retention = new Retention(state);
  const exempt = new ExemptJobs(state);
  let alarmUs: number | null = null;
  /** Whether `dispatch` must update the stored holds. It does so after `seal`, which counts the jobs that the turn has accepted. */
  let areHoldsDue = true;
  let isFirstTurn = true;
  /** Whether retention prunes jobs at the end of this turn. All reruns of the turn are known then; retention keeps the jobs that they need. */
  let isPruneDue = false;

  sandboxes.configure(options.config);
  state.reviewHolds();
  dispatcher.configure(hostedPlugins(options.config));
  dispatcher.warm();

  function handle(message: JobMessage | InnerMessage, turn: Turn): void {
    switch (message.kind) {
      case 'submit':
        acceptor.submit(turn, message);
        break;
      case 'submit_batch':
        acceptor.submit(turn, { ...message, kind: 'submit', payloads: new PackedList(message.payloads).values() });
        break;
      case 'cancel':
        cancelling.ask(turn, message);
        areHoldsDue = true;
        break;
      case 'await_job':
        state.awaited.addKnown(message.id, turn);
        break;
      case 'forget_job':
        state.awaited.remove(message.id);
        break;
      case 'ask_idle':
        // The answer is computed after the commit, because this turn may still send a returned job to a host again.
        turn.after(() => {
          turn.reply(message.replyTo, { kind: 'idle', ids: state.isLoaded ? idleOf(dispatcher, message.ids) : null });
        });
        break;
      case 'ask_queue':
        turn.reply(message.replyTo, queueState(state, dispatcher, turn.nowUs));
        break;
      case 'ask_waits':
        turn.reply(message.replyTo, {
          kind: 'waits',
          waits: actions.waitsOf(message.id) ?? waitsOf(state, dispatcher, message.id, turn.nowUs),
        } satisfies WaitsReply);
        break;
      case 'ask_held':
        turn.reply(message.replyTo, heldReply(state, dispatcher.queued(), message));
        break;
      case 'run_now':
        turn.reply(message.replyTo, askRunNow(parts, turn, message));
        areHoldsDue = true;
        break;
      case 'reschedule':
        turn.reply(message.replyTo, delayed.ask(turn, message));
        areHoldsDue = true;
        break;
      case 'ask_moment':
        turn.reply(message.replyTo, idempotency.answer(message.idempotency, turn) ?? momentOf(turn));
        break;
      case 'start_action':
        actions.start(turn, message, acceptor.closed);
        break;
      case 'action_step':
        // Until recovery has read all unsettled jobs, it is unknown what they wait for.
        actions.step(turn, message, acceptor.closed ?? (state.isLoaded ? null : 'unavailable'));
        areHoldsDue = true;
        break;
      case 'pause': {
        const pause = beginRequested(state, turn, message.pause);
        areHoldsDue = true;
        turn.reply(message.replyTo, { kind: 'pause', pause } satisfies PauseReply);
        break;
      }
      case 'resume':
        turn.reply(message.replyTo, { kind: 'pause', pause: resume(turn, message.target, message.by) });
        break;
      case 'ask_set_aside':
        turn.reply(message.replyTo, setAsideReply());
        break;
      case 'outcomes':
        dispatcher.settle(turn, message.slot, message.frameId, message.outcomes);
        break;
      case 'returned':
        dispatcher.returned(turn, message.slot, message.frameId, message.tasks, message.reason);
        break;
      case 'host_lost':
        dispatcher.hostLost(turn, message.slot, message.reason, message.sentUpTo);
        break;
      case 'cancelling':
        cancelling.confirmed(message.slot, message.frameId, message.task);
        break;
      case 'thread_replaced':
        state.observations.plain('worker.replaced', turn.nowUs, { host: message.slot });
        break;
      case 'alarm':
        alarmUs = null;
        wakeRetries(turn);
        endPauses(turn);
        break;
      case 'load':
        recovery.step(turn);
        areHoldsDue = true;
        if (!state.isLoaded) turn.after(() => self({ kind: 'load' }));
        break;
      case 'holds_changed':
        holdsChanged();
        break;
      case 'prune':
        areHoldsDue = true;
        state.minutes.prune(turn.nowUs, turn.batch);
        pruneHoldEnds(state.reader, turn.batch, turn.nowUs - state.config.state.retention.jobsMs * 1000);
        idempotency.dropEnds(turn);
        idempotency.keys.sweepSoon();
        isPruneDue = true;
        break;
      case 'report':
        turn.tell('edge', figuresOf(state, dispatcher, turn.nowUs));
        break;
      // `wake` only makes a turn run.
      case 'wake':
        break;
      case 'admit':
        if (acceptor.closed === 'stopping') break;
        acceptor.closed = message.refusal;
        if (message.refusal) dispatcher.hold(turn.nowUs, true);
        else dispatcher.resume();
        break;
      case 'stop':
        acceptor.closed = 'stopping';
        // From this turn on, no job is dispatched: a dispatch could start another host, which would not be stopped with the existing ones.
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

  function momentOf({ nowUs }: Turn): MomentReply {
    const block = state.blockKeys.next(Math.floor(nowUs / 1000));
    return { kind: 'moment', moment: { atUs: nowUs, block, commitUs: state.completions.momentUs(nowUs) } };
  }

  function setAsideReply(): SetAsideReply {
    const { size, listed } = state.setAside;
    return { kind: 'set_aside', all: size, listed };
  }

  /**
   * Passes settled jobs to the pipeline actor, until no settled jobs are left: jobs that the pipeline actor then creates may settle at
   * once. True: some jobs had settled.
   */
  function moveRuns(turn: Turn): boolean {
    let settled = state.settled.take();
    const haveMoved = settled.length > 0;
    for (; settled.length > 0; settled = state.settled.take()) options.pipeline.jobsSettled(settled, turn);
    return haveMoved;
  }

  function holdsChanged(): void {
    state.reviewHolds();
    areHoldsDue = true;
  }

  function resume(turn: Turn, target: PauseTarget, by: string): Pause | null {
    const pause = endPause(state, turn, target, by);
    areHoldsDue = true;
    if (pause) options.pipeline.resumed([pause]);
    return pause;
  }

  function endPauses(turn: Turn): void {
    const expired = state.pauses.expired(turn.nowUs);
    for (const pause of expired) endInTime(state, turn, pause);
    if (expired.length > 0) options.pipeline.resumed(expired);
  }

  function wakeRetries(turn: Turn): void {
    const next = () => state.popDue(turn.nowUs);
    // Retries that this turn has no time for stay due: `setAlarm` requests their alarm, which goes off at once.
    for (let due = next(); due; due = turn.isSpent ? undefined : next()) {
      if (due.custody === 'suspect') dispatcher.quarantine.take(due, true);
      else enqueue(state, due);
    }
  }

  function setAlarm(turn: Turn): void {
    const waitUs = earlier(earlier(state.retries.nextDueUs, state.pauses.nextEndUs), delayed.nextUs);
    const dueUs = earlier(waitUs, options.pipeline.nextDeadlineUs);
    if (dueUs === alarmUs) return;
    alarmUs = dueUs;
    turn.after(() => options.alarm(dueUs));
  }

  return {
    ...scheduledJobs(state, acceptor, cancelling, delayed, actions, holdsChanged),
    dispatcher,
    state,
    idempotency,
    cancels: state.cancels,
    awaited: state.awaited,
    holdsChanged,
    refusal: (plugin, waitingRuns, mustWait) => acceptor.refusal(plugin, waitingRuns, mustWait),
    createJobs: (jobs, turn) => acceptor.create(turn, jobs),
    createRun: (pipeline, group, payload, turn) => runs.create(turn, pipeline, group, payload),
    createRuns: (pipeline, group, payloads, turn) => runs.createAll(turn, pipeline, group, payloads),
    settleRun: (run, turn) => runs.settle(turn, run),
    pauseOf: pipeline => state.pauses.ofPipeline(pipeline),
    pauseRefusal(pipeline, submittedBy) {
      const pause = state.pauses.rejectingRuns(pipeline, submittedBy);
      return pause && refusedBy(pause);
    },
    begin(turn) {
      if (!isFirstTurn) return;
      isFirstTurn = false;
      shortenPauses(state, turn);
      // Hosts may still have frames that the previous actors sent.
      recovery.adopt(turn, dispatcher.adopt());
      cancelling.goOn(turn);
      moveRuns(turn);
    },
    receive(message, turn) {
      handle(message as JobMessage | InnerMessage, turn);
      moveRuns(turn);
    },
    reconfigure(config) {
      sandboxes.configure(config);
      state.configure(config);
      dispatcher.configure(hostedPlugins(config));
      areHoldsDue = true;
    },
    dispatch(turn) {
      if (cancelling.stopOverdue(turn)) areHoldsDue = true;
      // If a timer is due, delayed jobs may become held, and held jobs may expire.
      areHoldsDue ||= delayed.isDue(turn.nowUs);
      const isBehind = delayed.step(turn);
      // `cancelling.step` may end held jobs and runs. The hooks of ended runs may start new runs, which the `seal` calls write.
      const isWalking = state.isLoaded && cancelling.step(turn);
      runs.seal(turn);
      acceptor.seal(turn);
      if (areHoldsDue || isWalking) dispatcher.keepHolds(turn);
      areHoldsDue = isWalking;
      const isSearching = exempt.step(turn);
      // No job starts as long as runs are left that must be stopped, or that may have expired while the service was down.
      const isLeft = cancelling.areOverdue(turn) || delayed.isCatchingUp(turn) || dispatcher.dispatch(turn);
      if (isLeft || isWalking || isBehind || isSearching) turn.after(() => self({ kind: 'wake' }));
      return moveRuns(turn);
    },
    close(turn) {
      if (isPruneDue && retention.step(turn)) turn.after(() => self({ kind: 'prune' }));
      isPruneDue = false;
      cancelling.close(turn);
      if (idempotency.keys.sweep(turn)) turn.after(() => self({ kind: 'wake' }));
      state.close(turn);
      runs.close();
      retention.close();
      setAlarm(turn);
    },
  };
}

function hostedPlugins(config: Config): HostedPlugin[] {
  return Object.values(config.plugins).map(hostPlugin);
}
