// The HTTP face's view of the rest: work goes to the ledger thread as packets, long reads to the thread for them; a job and a small
// tree are read here.
import type { Hub } from '../actors/hub/actor.ts';
import { BlockShelf } from '../actors/job/block-shelf.ts';
import type { Gauges } from '../actors/job/gauges.ts';
import type { JobView } from '../actors/job/job-view.ts';
import type { WaitsReply } from '../actors/job/protocol.ts';
import { findJob, findTree } from '../actors/job/view.ts';
import type { EdgeMessage } from '../actors/pipeline/protocol.ts';
import type { Config } from '../config/config.ts';
import type { Administration } from '../http/administration.ts';
import type { Engine } from '../http/engine.ts';
import { EventStreams } from '../http/event-streams.ts';
import type { Reads } from '../http/reads.ts';
import type { VaultDoor } from '../http/vault-door.ts';
import type { Link } from '../runtime/link.ts';
import type { Reader } from '../runtime/store/store.ts';
import { Submissions } from './submissions.ts';
import { Watchers } from './watchers.ts';

/** What the jobs of a tree left behind, where it is written on the main thread: so much, or the walk over so many blocks, takes some ms. */
const smallTreeBytesMax = 2 ** 20;
const smallTreeBlocksMax = 256;

/** For so long an answer waits to hear what its job waits for. */
const waitsMsMax = 100;

export type EngineParts = {
  readonly link: Link;
  readonly reader: Reader;
  readonly gauges: Gauges;
  readonly hub: Hub;
  readonly reads: Reads;
  readonly administration: Administration;
  readonly vault: VaultDoor;
  readonly config: () => Config;
  readonly stopping: () => boolean;
  readonly startedAtMs: number;
  readonly version: string;
};

export type GatewayEngine = Engine & {
  /** What the pipeline actor tells the edge. */
  readonly told: (message: EdgeMessage) => void;
  /** The service stops: nobody waits for a run any longer. */
  readonly release: () => void;
};

export function openEngine({
  link,
  reader,
  gauges,
  hub,
  reads,
  administration,
  vault,
  config,
  stopping,
  startedAtMs,
  version,
}: EngineParts): GatewayEngine {
  const blocks = new BlockShelf(reader);
  const submissions = new Submissions(link);
  const watchers = new Watchers(link, reader);

  return {
    reads,
    administration,
    vault,
    config,
    stopping,
    startedAtMs,
    version,
    queueDepth: () => gauges.get('queued'),
    events: new EventStreams({ hub, nowMs: Date.now, generation: config }),
    submit: submission => submissions.submit(submission),
    async startRun(submission, onOver) {
      const watch = onOver !== undefined;
      const reply = await submissions.startRun(submission, watch);
      if (watch && reply.kind === 'accepted') watchers.add(reply.id, onOver);
      return reply;
    },
    unwatch: (id, onOver) => watchers.remove(id, onOver),
    told(message) {
      if (message.kind === 'begun') watchers.renew();
      else watchers.settled(message.id);
    },
    release: () => watchers.release(),
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
