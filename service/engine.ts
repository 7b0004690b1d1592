// The HTTP face's view of the rest: work goes to the ledger thread as packets, long reads to the thread for them; a job and a small
// tree are read here.
import type { Hub } from '../actors/hub/actor.ts';
import type { Gauges } from '../actors/job/gauges.ts';
import type { SubmitReply, Waits, WaitsReply } from '../actors/job/protocol.ts';
import { BlockCache } from '../actors/job/views/block-cache.ts';
import type { JobView } from '../actors/job/views/job-view.ts';
import { findJob, findTree } from '../actors/job/views/jobs.ts';
import type { EdgeMessage } from '../actors/pipeline/protocol.ts';
import type { Config } from '../config/config.ts';
import type { JobId } from '../runtime/ids.ts';
import type { Link } from '../runtime/link.ts';
import type { Reader } from '../runtime/store/store.ts';
import type { Administration } from './administration.ts';
import { EventStreams } from './events/streams.ts';
import type { Reads } from './reads/reads.ts';
import { type OnOver, RunWaiters } from './run-waiters.ts';
import { type RunSubmission, type Submission, Submissions } from './submissions.ts';
import type { VaultCalls } from './vault-client.ts';

/** What the jobs of a tree left behind, where it is written on the main thread: so much, or the walk over so many blocks, takes some ms. */
const smallTreeBytesMax = 2 ** 20;
const smallTreeBlocksMax = 256;

/** For so long an answer waits to hear what its job waits for. */
const waitsMsMax = 100;

/** What the HTTP servers need of the service: to hand in work, to look at it, and the configuration in force. */
export interface Engine {
  config(): Config;
  /** Resolves when the job is on disk, or is refused. */
  submit(submission: Submission): Promise<SubmitReply>;
  /** As submit; `onOver` is called once, when the run has settled or the service stops (never before the promise resolves). */
  startRun(submission: RunSubmission, onOver?: OnOver): Promise<SubmitReply>;
  /** Forget the watch of a caller that no longer waits. */
  unwatch(id: JobId, onOver: OnOver): void;
  /** Undefined when there is no such job. Reads what is committed now. */
  job(id: JobId): JobView | undefined;
  /** What an unsettled job waits for; null: nothing, or the ledger does not answer in time. */
  waits(id: JobId): Promise<Waits | null>;
  /**
   * A run that was waited for and its descendants, parents before children, as they were when it was over, or later; at most
   * `limit`. Undefined: there is no such job, or the thread for reads must look, because what the jobs left behind is large.
   */
  smallTree(id: JobId, limit: number): readonly JobView[] | undefined;
  readonly reads: Reads;
  queueDepth(): number;
  /** The open event streams. */
  readonly events: EventStreams;
  startedAtMs: number;
  version: string;
  readonly administration: Administration;
  readonly vault: VaultCalls;
  /** No new work: the service is stopping. */
  stopping(): boolean;
}

/** What the engine hands on as it is, and what it is made from. */
export type EngineParts = Pick<
  Engine,
  'reads' | 'administration' | 'vault' | 'config' | 'stopping' | 'startedAtMs' | 'version'
> & { readonly link: Link; readonly reader: Reader; readonly gauges: Gauges; readonly hub: Hub };

export type GatewayEngine = Engine & {
  /** What the pipeline actor tells the edge. */
  readonly told: (message: EdgeMessage) => void;
  /** The service stops: nobody waits for a run any longer. */
  readonly release: () => void;
};

export function openEngine(parts: EngineParts): GatewayEngine {
  const { link, reader, gauges, hub, config } = parts;
  const blocks = new BlockCache(reader);
  const submissions = new Submissions(link);
  const waiters = new RunWaiters(link, reader);

  return {
    ...parts,
    queueDepth: () => gauges.get('queued'),
    events: new EventStreams({ hub, nowMs: Date.now, generation: config }),
    submit: submission => submissions.submit(submission),
    async startRun(submission, onOver) {
      const watch = onOver !== undefined;
      const reply = await submissions.startRun(submission, watch);
      if (watch && reply.kind === 'accepted') waiters.add(reply.id, onOver);
      return reply;
    },
    unwatch: (id, onOver) => waiters.remove(id, onOver),
    told(message) {
      if (message.kind === 'actors_restarted') waiters.renew();
      else waiters.settled(message.id);
    },
    release: () => waiters.release(),
    job(id) {
      reader.refresh();
      return findJob(reader, id, blocks);
    },
    async waits(id) {
      const asked = link.ask<WaitsReply | { readonly kind: 'refused' }>('job', { kind: 'ask_waits', id });
      const reply = await within(asked, waitsMsMax);
      return reply?.kind === 'waits' ? reply.waits : null;
    },
    smallTree(id, limit) {
      const views = findTree(reader, id, blocks);
      return views && takeSmall(views, limit);
    },
  };
}

/** Undefined when it is not small. */
function takeSmall(views: Iterable<JobView | null>, limit: number): JobView[] | undefined {
  const taken: JobView[] = [];
  let bytes = 0;
  let blocks = 0;
  for (const view of views) {
    if (view === null) blocks++;
    else {
      if (view.isLarge) return undefined;
      bytes += view.body?.length ?? 0;
      taken.push(view);
    }
    if (taken.length >= limit) break;
    if (bytes > smallTreeBytesMax || blocks > smallTreeBlocksMax) return undefined;
  }
  return taken;
}

/** Undefined where the answer is late, or there is none. */
async function within<T>(asked: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([asked.catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}
