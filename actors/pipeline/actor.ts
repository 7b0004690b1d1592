// The pipeline actor: the one hand that writes runs. Jobs that settled come in, jobs and runs to create go out.
import type { Config } from '../../config/config.ts';
import type { Body } from '../../runtime/host/outcome.ts';
import { formatId, type JobId, parseId } from '../../runtime/ids.ts';
import { packedEmpty } from '../../runtime/packing.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { Actor, Turn } from '../../runtime/turn.ts';
import { pipelinePlugin, type Refusal, type Remembrance, type RunIds, type SubmitReply } from '../job/protocol.ts';
import { findBody, findJob } from '../job/view.ts';
import { beginRun } from './begin.ts';
import type { FindAncestor } from './children.ts';
import { Desk } from './desk.ts';
import { callEventType, type PipelineMessage, type StartRun } from './protocol.ts';
import { Router } from './route.ts';
import { idText } from './run.ts';

export type PipelineActorOptions = {
  readonly store: Reader;
  readonly config: Config;
  readonly runIds: RunIds;
  /** Has another turn come soon, in which the actor gets `expand`. */
  readonly wake: () => void;
  /** How many runs are unfinished, at the end of each turn. */
  readonly onRuns?: (unfinished: number) => void;
  /** What calls with an Idempotency-Key were answered; absent: every call is new. */
  readonly remembrance?: Remembrance;
  /** Why no new run is taken at the moment; null: they are. */
  readonly admit?: () => Refusal | null;
  /** While so many runs are open, a flood of events starts no more; by default 16,384. */
  readonly openRunsMax?: number;
  /** Finds what a job was, for the message of the hop limit; by default in the store. */
  readonly ancestor?: FindAncestor;
  /** What a job that succeeded has left behind; by default as it is in the store. */
  readonly bodyOf?: (job: JobId) => Body;
};

export type PipelineActor = Actor & { reconfigure(config: Config, turn: Turn): void };

/** State is made here, from what the store holds: unfinished runs go on with the first turn. */
export function startPipelineActor(options: PipelineActorOptions): PipelineActor {
  const { store, wake, admit = () => null, ancestor = ancestorIn(store), bodyOf = bodyIn(store) } = options;
  const desk = new Desk(options);
  const router = new Router(desk, ancestor, bodyOf);
  let isFirstTurn = true;
  let woken = false;

  function open(turn: Turn): void {
    if (!desk.open(turn)) return;
    router.expansion.renew();
    router.emissions.renew();
    woken = false;
    if (isFirstTurn) desk.versions.sweep(turn.batch);
    isFirstTurn = false;
  }

  function start(message: StartRun, turn: Turn): void {
    const { pipeline, payload, submittedBy, replyTo, watch, idempotency } = message;
    const known = idempotency && options.remembrance?.answer(idempotency, turn);
    if (known) {
      turn.reply(replyTo, known);
      if (known.kind === 'accepted' && watch) watchRun(known.id, turn);
      return;
    }
    const version = desk.versions.current(pipeline);
    const refusal = version ? admit() : 'unknown_pipeline';
    if (!version || refusal !== null) {
      turn.reply(replyTo, { kind: 'refused', refusal: refusal ?? 'unknown_pipeline' } satisfies SubmitReply);
      return;
    }
    const id = beginRun(desk, version, {
      submittedBy,
      parent: null,
      root: null,
      depth: 0,
      event: { type: callEventType, source: 'api', dedupeKey: null },
      context: packedEmpty,
      payload,
      hooked: false,
      called: null,
    });
    if (idempotency) options.remembrance?.remember(idempotency, id, turn);
    turn.reply(replyTo, { kind: 'accepted', id } satisfies SubmitReply);
    if (watch) watchRun(id, turn);
  }

  /** The edge is told when the run is over. */
  function watchRun(id: JobId, turn: Turn): void {
    // A run that is over already is told at once.
    if (desk.runs.has(idText(id))) desk.watched.add(idText(id));
    else turn.tell('edge', { kind: 'run_settled', id });
  }

  function handle(message: PipelineMessage, turn: Turn): void {
    switch (message.kind) {
      case 'settled':
        router.settled(message);
        break;
      case 'start_run':
        start(message, turn);
        break;
      case 'watch':
        watchRun(message.id, turn);
        break;
      case 'unwatch':
        desk.watched.delete(idText(message.id));
        break;
      case 'expand':
        break;
      case 'prune':
        desk.dedupe.pruneSoon();
        break;
      case 'reconfigure':
        reconfigure(message.config, turn);
        break;
      default:
        message satisfies never;
    }
  }

  function reconfigure(config: Config, turn: Turn): void {
    open(turn);
    desk.config = config;
    desk.versions.configure(config.pipelines);
    desk.versions.sweep(turn.batch);
    router.triggers.configure();
  }

  return {
    reconfigure,
    receive(messages, turn) {
      open(turn);
      for (const message of messages) handle(message as PipelineMessage, turn);
      router.drain();
    },
    quiet(turn) {
      open(turn);
      do router.drain();
      while (router.emissions.step() || router.expansion.step());
      desk.flush();
      desk.dedupe.prune(turn.nowUs, turn.batch);
      options.onRuns?.(desk.runs.size);
      if (woken || !(router.expansion.isWaiting || router.emissions.isWaiting || desk.dedupe.isWaiting)) return;
      woken = true;
      turn.after(wake);
    },
  };
}

function ancestorIn(store: Reader): FindAncestor {
  return (id: JobId) => {
    const job = findJob(store, id);
    if (!job) return undefined;
    const name = job.plugin === pipelinePlugin ? `pipeline ${job.command}` : `${job.plugin}.${job.command}`;
    return { name, parent: (job.parentJobId && parseId(job.parentJobId)) || null };
  };
}

function bodyIn(store: Reader): (job: JobId) => Body {
  return job => {
    const body = findBody(store, job);
    if (!body) throw new Error(`events are to be taken of a job that has no record: ${formatId(job)}`);
    return body;
  };
}
