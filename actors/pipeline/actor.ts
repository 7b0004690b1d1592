// The pipeline actor is the only writer of runs. When jobs settle, it moves their runs on and creates the next jobs.
import type { Config } from '../../config/config.ts';
import type { Body } from '../../runtime/host/wire/outcome.ts';
import { blockOf, formatId, indexOf, type JobId } from '../../runtime/ids.ts';
import { PackedList } from '../../runtime/packed-list.ts';
import { packedEmpty } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Actor, Turn } from '../../runtime/turn.ts';
import {
  type NewRun,
  type PipelineCalls,
  payloadGone,
  type Refusal,
  type SubmitJobsReply,
  type SubmitReply,
} from '../job/protocol.ts';
import { findBlock } from '../job/records/block.ts';
import { groupIn } from '../job/records/cancel.ts';
import { rootGroup } from '../job/records/job.ts';
import { keyText } from '../job/records/open.ts';
import { acceptedOptions, isLater } from '../job/records/options.ts';
import { isWhole } from '../job/records/reruns.ts';
import { findBody, findOrigin } from '../job/views/jobs.ts';
import type { FindAncestor } from './events/hops.ts';
import { adoptFloods } from './fanout/earlier-floods.ts';
import { AcceptedRuns } from './lifecycle/accepted-runs.ts';
import { beginDelayed, endDelayed } from './lifecycle/delayed-runs.ts';
import { exemptSince } from './lifecycle/exempt-run.ts';
import { overdueCancel } from './lifecycle/overdue.ts';
import { PhaseLimits } from './lifecycle/phase-limits.ts';
import { failedWith, finishRun } from './lifecycle/run-end.ts';
import { beginRun, createRun, type RunStart } from './lifecycle/run-start.ts';
import { callEvent, type FailRun, type PipelineMessage, type StartRun, type StartRuns } from './protocol.ts';
import { definitionOf } from './reuse/reuse-sources.ts';
import type { Run } from './run.ts';
import { RunRouter } from './run-router.ts';
import { RunTable, type RunTableOptions } from './run-table.ts';

export type PipelineActorOptions = RunTableOptions & {
  /** Requests another turn. */
  readonly wake: () => void;
  /**
   * Called at the end of each turn, with the number of unfinished runs, excluding delayed runs that have not begun, and the number of settled
   * jobs inside them.
   */
  readonly onRuns?: (unfinished: number, settledInside: number) => void;
  /** Finds the name and the parent of a committed job or run, for errors that name ancestors. Default: reads the store. */
  readonly ancestor?: FindAncestor;
  /** The body of a job's latest attempt. Default: reads the store. */
  readonly bodyOf?: (job: JobId) => Body;
  /** The payload of a run. Default: reads the store. */
  readonly payloadOf?: (run: JobId) => Uint8Array;
};

export type PipelineActor = Actor &
  PipelineCalls & {
    /** Begins a turn. Must be called before the first message of the turn. */
    begin(turn: Turn): void;
    reconfigure(config: Config, turn: Turn): void;
    /** Begins accepted runs, handles deferred events and expands fan-outs, as many as fit into the turn. */
    advance(): void;
    close(turn: Turn): void;
  };

/** Creates the actor and loads its state from the store. Unfinished work in the store continues from the first turn on. */
export function startPipelineActor(options: PipelineActorOptions): PipelineActor {
  const { store, jobs, wake, ancestor = ancestorIn(store) } = options;
  const { bodyOf = bodyIn(store), payloadOf = payloadIn(store) } = options;
  const table = new RunTable(options);
  const accepted = new AcceptedRuns(table);
  const phaseLimits = new PhaseLimits(table);
  const router = new RunRouter(table, ancestor, { bodyOf, payloadOf });
  let isFirstTurn = true;

  function start(message: StartRun, turn: Turn): void {
    const { replyTo, watch, idempotency } = message;
    const reply = (idempotency && jobs.idempotency.answer(idempotency, turn)) ?? startRun(message, turn);
    turn.reply(replyTo, reply);
    if (reply.kind === 'accepted' && watch) awaitRun(reply.id, turn);
  }

  function startRun(message: NewRun, turn: Turn): SubmitReply {
    const { pipeline, payload, submittedBy, event, idempotency, source, context, waitsUnderPause } = message;
    const options = acceptedOptions(message.options, turn.nowUs);
    const isDelayed = isLater(options, turn.nowUs);
    const of = source?.rerun.from === 'failed' ? source.rerun.of : null;
    const version = of ? definitionOf(store, table.versions, of) : table.versions.current(pipeline);
    if (version && 'missing' in version) {
      const detail = `${version.missing}: rerun the run from the start`;
      return { kind: 'refused', refusal: 'not_kept', detail };
    }
    const refusal = version ? refusalOf(accepted.count, isDelayed) : 'unknown_pipeline';
    if (!version || refusal !== null) return { kind: 'refused', refusal: refusal ?? 'unknown_pipeline' };
    const paused = waitsUnderPause ? null : jobs.pauseRefusal(pipeline, submittedBy);
    if (paused) return paused;
    if (source && !isWhole(store, payload)) return payloadGone;
    const start: RunStart = {
      ...rootGroup,
      submittedBy,
      event: { ...(event ?? callEvent), dedupeKey: source?.dedupeKey ?? null },
      ...(event && { isDelivery: true }),
      context: context ?? source?.context ?? packedEmpty,
      payload,
      rerun: source?.rerun ?? null,
      options,
      called: null,
      ...(of && { reuse: { of } }),
    };
    const id = isDelayed ? createRun(table, pipeline, start) : beginRun(table, version, start);
    if (of) table.sources.begin(turn.batch, id, of);
    if (idempotency) jobs.idempotency.remember(idempotency, id, turn);
    return { kind: 'accepted', id };
  }

  function startAll(message: StartRuns, turn: Turn): void {
    const { idempotency, replyTo } = message;
    const known = idempotency && jobs.idempotency.answerAll(idempotency, turn);
    turn.reply(replyTo, known ?? acceptAll(message, turn));
  }

  /** Accepts as many of the runs as there is room for. If there is no room for any, refuses all. */
  function acceptAll(message: StartRuns, turn: Turn): SubmitJobsReply {
    const { pipeline, payloads, submittedBy, idempotency } = message;
    const options = acceptedOptions(message.options, turn.nowUs);
    const isDelayed = isLater(options, turn.nowUs);
    const version = table.versions.current(pipeline);
    if (!version) return { kind: 'refused', refusal: 'unknown_pipeline' };
    const refusal = refusalOf(accepted.count, isDelayed);
    if (refusal) return { kind: 'refused', refusal };
    const paused = jobs.pauseRefusal(pipeline, submittedBy);
    if (paused) return paused;
    const all = new PackedList(payloads).values();
    const full = all.findIndex((_, index) => refusalOf(accepted.count + index, isDelayed) !== null);
    const taken = full < 0 ? all : all.slice(0, full);
    const ids = Buffer.concat(accepted.accept(version, submittedBy, callEvent, taken, options));
    if (idempotency) jobs.idempotency.remember(idempotency, ids, turn);
    return { kind: 'accepted', ids };
  }

  /** Why another run is refused while `waitingRuns` accepted runs have not begun. Null: another run is accepted. */
  function refusalOf(waitingRuns: number, isDelayed: boolean): Refusal | null {
    if (isDelayed) return jobs.refusal(undefined, waitingRuns - accepted.count, true);
    return jobs.refusal(undefined, waitingRuns) ?? (table.isFullOfRuns ? 'queue_full' : null);
  }

  /** The run with this id, if it is open. If an earlier turn accepted the run in a batch and the run has not begun, it begins now. */
  function runOf(id: JobId): Run | undefined {
    accepted.beginIfWaiting(id);
    return table.runs.find(keyText(id));
  }

  /** Registers the run as awaited: the main thread gets a JobSettled when the run has ended. */
  function awaitRun(id: JobId, turn: Turn): void {
    // If the call repeats an idempotency key, the run of the earlier call may have settled.
    if (runOf(id)) jobs.awaited.add(id);
    else jobs.awaited.addKnown(id, turn);
  }

  function failRun({ id, error, atOnce }: FailRun): void {
    const run = runOf(id);
    if (!run) return;
    if (atOnce) finishRun(table, run, failedWith(error));
    else table.fail(run, error);
  }

  function handle(message: PipelineMessage, turn: Turn): void {
    switch (message.kind) {
      case 'start_run':
        start(message, turn);
        break;
      case 'start_runs':
        startAll(message, turn);
        break;
      case 'prune':
        table.dedupe.sweepSoon();
        table.versions.prune(store, turn.batch, table.setAside);
        break;
      case 'fail_run':
        failRun(message);
        break;
      default:
        message satisfies never;
    }
  }

  return {
    begin(turn) {
      table.begin(turn);
      router.expansion.renew();
      accepted.renew();
      router.deferred.renew();
      if (isFirstTurn) {
        phaseLimits.started();
        table.versions.sweep(store, turn);
        adoptFloods(table, bodyOf);
      }
      isFirstTurn = false;
    },
    receive(message, turn) {
      handle(message as PipelineMessage, turn);
      router.drain();
    },
    jobsSettled(settled) {
      for (const group of settled) router.settled(group);
      router.drain();
    },
    resumed(pauses) {
      phaseLimits.resumed(pauses);
      router.expansion.release(pauses);
    },
    reconfigure(config, turn) {
      table.config = config;
      table.versions.configure(config.pipelines);
      table.versions.sweep(store, turn);
      router.triggers.configure();
    },
    startRun(run, turn) {
      const reply = startRun(run, turn);
      router.drain();
      return reply;
    },
    beginDelayed(id, runAtUs) {
      beginDelayed(table, id, runAtUs);
      router.drain();
    },
    endDelayed(id, error) {
      endDelayed(table, id, error);
      router.drain();
    },
    isOpen: id => runOf(id) !== undefined,
    callerOf(id) {
      const run = runOf(id);
      if (run) return run.outer && run.phase?.name !== 'finally' ? run.outer.run : null;
      // If the run's record is unusable, jobs of the run may still wait. A cancel of the caller must reach them.
      if (!table.setAside.has('runs', id)) return null;
      return table.setAside.read('blocks', blockOf(id), () => groupIn(store, id))?.run?.run ?? null;
    },
    phaseOf: id => runOf(id)?.phase ?? null,
    exemptSince: id => exemptSince(runOf(id), runOf),
    get nextDeadlineUs() {
      return table.deadlines.nextUs;
    },
    *takeOverdue(turn) {
      for (const { run: id, deadline } of table.deadlines.due(turn)) {
        const run = runOf(id);
        if (!run || !table.deadlines.remove(turn.batch, run, deadline)) continue;
        table.touch(run);
        if (!phaseLimits.putOff(run, deadline)) {
          yield { run: id, cancel: overdueCancel(table.reader, run, deadline, turn) };
        }
      }
    },
    begun(id) {
      const run = runOf(id);
      if (!run?.parent) return null;
      const { root, parent, hooked, outer } = run;
      const phase = outer ? runOf(outer.run)?.phase?.name : undefined;
      return { root, parent, hooked, phase, run: outer };
    },
    haveWaitingEvents: root => router.deferred.areBelow(root),
    cancelRun(id) {
      const run = runOf(id);
      const isNew = run !== undefined && table.cancel(run);
      router.drain();
      return isNew;
    },
    advance() {
      do router.drain();
      while (accepted.step() || router.deferred.step() || router.expansion.step());
    },
    close(turn) {
      table.flush();
      const { runs, settled } = table.versions.open;
      options.onRuns?.(runs, settled);
      router.reuse.flush();
      const isSweeping = table.sources.sweep(turn.batch);
      if (
        isSweeping ||
        table.dedupe.sweep(turn) ||
        router.expansion.isWaiting ||
        router.deferred.isWaiting ||
        accepted.isWaiting
      )
        turn.after(wake);
    },
  };
}

function ancestorIn(store: Reader): FindAncestor {
  return id => {
    const origin = findOrigin(store, id);
    return origin && { name: `${origin.plugin}.${origin.command}`, parent: origin.parent };
  };
}

function bodyIn(store: Reader): (job: JobId) => Body {
  return job => {
    const body = findBody(store, job);
    if (!body) throw new Error(`a job with events to emit has no attempt record: ${formatId(job)}`);
    return body;
  };
}

function payloadIn(store: Reader): (run: JobId) => Uint8Array {
  return run => {
    const block = findBlock(store, run);
    if (!block) throw new Error(`an open run has no block: ${formatId(run)}`);
    return block.payload(indexOf(run));
  };
}
