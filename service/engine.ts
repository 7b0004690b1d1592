// The service as the HTTP servers use it. Work goes to the ledger thread, long reads to the reads thread; single jobs and small trees
// are read on this thread.
import type { Hub } from '../actors/hub/hub.ts';
import type { Gauges } from '../actors/job/gauges.ts';
import type { RefusedWork, RunNowReply, SubmitReply, Waits, WaitsReply } from '../actors/job/protocol.ts';
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
import { openPauses, type PauseCalls } from './pauses.ts';
import type { Reads } from './reads/reads.ts';
import { type OnRunEnd, RunWaiters } from './run-waiters.ts';
import { type RunSubmission, type Submission, Submissions } from './submissions.ts';
import type { VaultCalls } from './vault-client.ts';

/** Limits of a tree that is written on the main thread: each takes a few ms. */
const smallTreeBytesMax = 2 ** 20;
const smallTreeBlocksMax = 256;

/** How long an answer waits for the ledger to report what a job waits for. */
const waitsMsMax = 100;

/** What HTTP routes can do: submit work, read jobs, and see the configuration in force. */
export interface Engine {
  config(): Config;
  /** Resolves when the job is on disk or refused. */
  submit(submission: Submission): Promise<SubmitReply>;
  /** As submit. `onRunEnd` is called once, after the promise has resolved: when the run has settled or the service stops. */
  startRun(submission: RunSubmission, onRunEnd?: OnRunEnd): Promise<SubmitReply>;
  /** Removes a caller that no longer waits. */
  unwatch(id: JobId, onRunEnd: OnRunEnd): void;
  /** The job as it is committed now; undefined: there is none. */
  job(id: JobId): JobView | undefined;
  /** What an unsettled job waits for; null: nothing, or the ledger did not answer in time. */
  waits(id: JobId): Promise<Waits | null>;
  /**
   * A run and its descendants, parents before children, at most `limit`. Undefined: there is no such job, or the results are too large
   * for this thread.
   */
  smallTree(id: JobId, limit: number): readonly JobView[] | undefined;
  /** Lets a job that waits for its next attempt run at once. */
  runNow(id: JobId): Promise<RunNowReply | RefusedWork>;
  readonly pauses: PauseCalls;
  readonly reads: Reads;
  queueDepth(): number;
  /** The open event streams. */
  readonly events: EventStreams;
  startedAtMs: number;
  version: string;
  readonly administration: Administration;
  readonly vault: VaultCalls;
  /** The service is stopping and refuses new work. */
  stopping(): boolean;
}

/** Members that the engine takes over unchanged, and what the others are made from. */
export type EngineParts = Pick<
  Engine,
  'reads' | 'administration' | 'vault' | 'config' | 'stopping' | 'startedAtMs' | 'version'
> & { readonly link: Link; readonly reader: Reader; readonly gauges: Gauges; readonly hub: Hub };

export type GatewayEngine = Engine & {
  /** Handles messages of the pipeline actor. */
  readonly told: (message: EdgeMessage) => void;
  /** Ends the waiting of all callers, because the service stops. */
  readonly release: () => void;
};

export function openEngine(parts: EngineParts): GatewayEngine {
  const { link, reader, gauges, hub, config } = parts;
  const blocks = new BlockCache(reader);
  const submissions = new Submissions(link);
  const waiters = new RunWaiters(link, reader);

  return {
    ...parts,
    runNow: id => link.ask('job', { kind: 'run_now', id }),
    pauses: openPauses(link, reader),
    queueDepth: () => gauges.get('queued'),
    events: new EventStreams({ hub, nowMs: Date.now, generation: config }),
    submit: submission => submissions.submit(submission),
    async startRun(submission, onRunEnd) {
      const watch = onRunEnd !== undefined;
      const reply = await submissions.startRun(submission, watch);
      if (watch && reply.kind === 'accepted') waiters.add(reply.id, onRunEnd);
      return reply;
    },
    unwatch: (id, onRunEnd) => waiters.remove(id, onRunEnd),
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

/** Undefined: the tree is not small. */
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

/** Undefined: the promise is late or rejected. */
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
