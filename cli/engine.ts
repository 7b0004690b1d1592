// The HTTP face's view of the rest: work goes to the ledger thread as packets, reads go to the store directly.
import type { Hub } from '../actors/hub/actor.ts';
import { lagMsMax, untilTaken } from '../actors/index/lag.ts';
import { stopwatchName } from '../actors/index/stopwatch-record.ts';
import { StopwatchReading } from '../actors/index/stopwatch-view.ts';
import { BlockShelf } from '../actors/job/block-shelf.ts';
import type { Gauges } from '../actors/job/gauges.ts';
import type { JobView } from '../actors/job/job-view.ts';
import type { SubmitReply } from '../actors/job/protocol.ts';
import { findJob, findTree } from '../actors/job/view.ts';
import type { EdgeMessage } from '../actors/pipeline/protocol.ts';
import type { Config } from '../config/config.ts';
import type { Administration } from '../http/administration.ts';
import type { Engine } from '../http/engine.ts';
import { EventStreams } from '../http/event-streams.ts';
import type { VaultDoor } from '../http/vault-door.ts';
import type { Link } from '../runtime/link.ts';
import type { IndexTable, Reader } from '../runtime/store/store.ts';
import { openLists } from './lists.ts';
import { Submissions } from './submissions.ts';
import { Watchers } from './watchers.ts';

/** Jobs of one page of a streamed tree; what they left behind, which may be large, is held until all of it is written. */
const treePageJobs = 16;

export type EngineParts = {
  readonly link: Link;
  readonly reader: Reader;
  readonly gauges: Gauges;
  readonly hub: Hub;
  /** Opens the index; called once, when it is first looked into. */
  readonly openIndex: () => Reader<IndexTable>;
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
  openIndex,
  administration,
  vault,
  config,
  stopping,
  startedAtMs,
  version,
}: EngineParts): GatewayEngine {
  const blocks = new BlockShelf(reader);
  const submissions = new Submissions(link);
  let opened: Reader<IndexTable> | null = null;
  const index = (): Reader<IndexTable> => {
    opened ??= openIndex();
    return opened;
  };
  const watchers = new Watchers(link, reader);

  return {
    ...openLists(reader, index),
    administration,
    vault,
    config,
    stopping,
    startedAtMs,
    version,
    queueDepth: () => gauges.get('queued'),
    async stopwatch(plugin, window) {
      const endMs = performance.now() + lagMsMax;
      // In a service that stops, the indexer has stopped before what still runs.
      await untilTaken(reader, index(), stopwatchName, () => !stopping() && performance.now() < endMs);
      return new StopwatchReading(index(), plugin, window);
    },
    events: new EventStreams({ hub, nowMs: Date.now, generation: config }),
    submit: submission => submissions.submit(submission),
    async startRun(submission, onOver) {
      const watch = onOver !== undefined;
      const reply = await link.ask<SubmitReply>('pipeline', { kind: 'start_run', ...submission, watch });
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
    tree(id, limit) {
      const views = findTree(reader, id, blocks);
      return views && take(views[Symbol.iterator](), limit);
    },
    treePages(id) {
      reader.refresh();
      const views = findTree(reader, id, blocks)?.[Symbol.iterator]();
      return views && { next: () => take(views, treePageJobs) };
    },
  };
}

function take(views: Iterator<JobView>, limit: number): JobView[] {
  const taken: JobView[] = [];
  while (taken.length < limit) {
    const next = views.next();
    if (next.done) break;
    taken.push(next.value);
  }
  return taken;
}
