// The indexer thread. It follows the journal and maintains the index. It can die and be restarted at any time.
import { isDeepStrictEqual } from 'node:util';
import { parentPort } from 'node:worker_threads';
import type { IndexStores } from '../../actors/index/consumer.ts';
import { FailureIndex } from '../../actors/index/failure-index.ts';
import { JournalFollower } from '../../actors/index/journal-follower.ts';
import { SearchIndex } from '../../actors/index/search-index.ts';
import { Stopwatch } from '../../actors/index/stopwatch.ts';
import { TagIndex } from '../../actors/index/tag-index.ts';
import { Gauges } from '../../actors/job/gauges.ts';
import { openLink } from '../../runtime/link.ts';
import { LoopDelay } from '../../runtime/loop-delay.ts';
import { givenData, yieldToOthers } from '../../runtime/preloaded-thread.ts';
import { openIndexStore } from '../../runtime/store/index-store.ts';
import { openReader } from '../../runtime/store/ledger-store.ts';
import { StoreFault } from '../../runtime/store/store.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import type { ThreadReport } from '../thread-report.ts';
import { IndexerThrottle } from './indexer-throttle.ts';

/** The data that the thread gets on startup. `path`: the state directory. */
export type IndexerData = {
  readonly path: string;
  readonly gauges: SharedArrayBuffer;
  readonly loopDelay: SharedArrayBuffer;
};
/**
 * The condition of the index. `closed`: the index is not open, and opening is retried. `failing`: the index is open, but cannot
 * be updated. `replaced`: if this thread has replaced an unusable index, the reason, and where the old index is now.
 */
export type IndexCondition =
  | { readonly kind: 'closed'; readonly reason: string }
  | { readonly kind: 'failing'; readonly reason: string }
  | { readonly kind: 'open'; readonly replaced: { readonly reason: string; readonly setAside: string } | null };
/** The only message to the thread: the thread closes the index, answers, and ends. */
export type StopIndexer = { readonly kind: 'stop'; readonly replyTo: ReplyTo };

const pollMs = 250;
/** The number of steps after which pruning becomes due. Pruning removes the entries of pruned jobs; it waits until the index has caught up. */
const stepsPerPrune = 4;
/** The niceness of the thread. Its priority is lower than the priority of threads that answer requests and run jobs. */
const niceness = 10;
/** The pause after a failure: for example, the index cannot be opened, the disk is full, or an entry cannot be indexed. */
const failedMs = 2_000;

/** The parts that maintain the index. */
type Feeds = ReturnType<typeof feedsOf>;

function feedsOf(stores: IndexStores) {
  const consumers = [new SearchIndex(stores), new Stopwatch(stores), new FailureIndex(stores)];
  return { journal: new JournalFollower(stores, consumers), tags: new TagIndex(stores) };
}

function run({ path, gauges: shared, loopDelay }: IndexerData): void {
  yieldToOthers(niceness);
  new LoopDelay(loopDelay).measure();
  const gauges = new Gauges(shared);
  let stores: IndexStores | null = null;
  let feeds: Feeds | null = null;
  /** The condition that was reported last; null if no condition was reported. */
  let condition: IndexCondition | null = null;
  let replaced: { readonly reason: string; readonly setAside: string } | null = null;
  let timer: NodeJS.Timeout | undefined;
  const rest = new IndexerThrottle();
  let steps = 0;
  let stopper: ReplyTo | null = null;
  let pruning = false;

  const link = openLink({
    port: parentPort!,
    schedule: queueMicrotask,
    onMessage(_, message) {
      stopper = (message as StopIndexer).replyTo;
      if (!timer) return;
      clearTimeout(timer);
      poll();
    },
  });
  const report = (message: ThreadReport): void => link.tell('supervisor', message);
  const log = (level: 'info' | 'warn' | 'error', message: string, fields: object): void =>
    report({ kind: 'log', level, message, fields });

  function poll(): void {
    timer = undefined;
    if (stopper !== null) {
      close(stopper);
      return;
    }
    try {
      stores ??= openStores();
      feeds ??= feedsOf(stores);
      timer = setTimeout(poll, next(feeds));
      become({ kind: 'open', replaced });
    } catch (error) {
      const { stack, message } = error as Error;
      // The next poll reads the positions in the journal again. If a store has become unusable, the poll also opens both stores again.
      feeds = null;
      become(stores ? { kind: 'failing', reason: message } : { kind: 'closed', reason: message }, stack);
      if (error instanceof StoreFault) closeStores();
      timer = setTimeout(poll, failedMs);
    }
  }

  function openStores(): IndexStores {
    const ledger = openReader(path);
    try {
      const index = openIndexStore(path, (reason, setAside) => {
        replaced = { reason, setAside };
        log('warn', 'the search index is being rebuilt from the ledger', replaced);
      });
      return { ledger, index };
    } catch (error) {
      ledger.close();
      throw error;
    }
  }

  /** Reports the condition if it has changed, so repeated failures are reported once. */
  function become(next: IndexCondition, stack?: string): void {
    if (isDeepStrictEqual(next, condition)) return;
    const wasOpen = condition === null || condition.kind === 'open';
    condition = next;
    link.tell('index', condition);
    if (next.kind === 'open') {
      if (!wasOpen) log('info', 'the search index follows the journal', {});
      return;
    }
    const message =
      next.kind === 'closed'
        ? `the search index cannot be opened; it is left unchanged, and opened again after ${failedMs / 1000} s`
        : 'the search index cannot follow the journal';
    log('error', message, { error: stack ?? next.reason });
  }

  /** Does a step unless the indexer is pausing. Returns the time until the next poll, in ms. */
  function next(open: Feeds): number {
    // Only entries up to this commit are indexed, because they are on disk: a failure could undo later entries.
    const journaledUs = gauges.get('journaled');
    const startMs = performance.now();
    const leftMs = rest.leftMs(startMs, gauges.get('running'), journaledUs);
    if (leftMs > 0) return Math.min(pollMs, leftMs);
    const more = step(open, journaledUs);
    rest.begin(startMs, performance.now(), open.journal.behindUs(journaledUs));
    return more ? 0 : pollMs;
  }

  /** Does a step. Returns whether there is more to do. */
  function step({ journal, tags }: Feeds, journaledUs: number): boolean {
    if (steps++ % stepsPerPrune === 0) pruning = true;
    const more = [tags.take(), journal.take(journaledUs)].includes(true);
    if (!more && pruning) pruning = [tags.prune(), journal.prune()].includes(true);
    return more || pruning;
  }

  function close(asked: ReplyTo): void {
    closeStores();
    link.reply(asked, { kind: 'stopped' });
    link.flush();
    parentPort!.close();
  }

  function closeStores(): void {
    stores?.index.close();
    stores?.ledger.close();
    stores = null;
  }

  // The first poll opens the index before this thread reports that it is ready. If the index cannot be opened, the service starts without it.
  poll();
  report({ kind: 'ready' });
}

run(await givenData<IndexerData>());
