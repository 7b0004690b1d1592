// The indexer thread: follows the journal and keeps the index, off the ledger thread. It may die and begin again at any moment.
import { setPriority } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { parentPort } from 'node:worker_threads';
import type { JournalConsumer, Shelf } from '../../actors/index/consumer.ts';
import { Feed } from '../../actors/index/feed.ts';
import { SearchIndex } from '../../actors/index/search-index.ts';
import { stopwatchConsumer } from '../../actors/index/stopwatch.ts';
import { Gauges } from '../../actors/job/gauges.ts';
import { givenData } from '../../runtime/preloaded-thread.ts';
import { openIndexStore, openReader } from '../../runtime/store/lmdb.ts';
import { StoreFault } from '../../runtime/store/store.ts';
import { Rest } from './throttle.ts';

/** What the thread is given at its start. */
export type IndexerData = { readonly path: string; readonly gauges: SharedArrayBuffer };
/**
 * How the index is. `closed`: it cannot be opened, and is tried again. `failing`: it is open, and what has ended is not taken.
 * `replaced`: why the one before was set aside since the start of the thread, and where it lies.
 */
export type IndexCondition =
  | { readonly kind: 'closed'; readonly reason: string }
  | { readonly kind: 'failing'; readonly reason: string }
  | { readonly kind: 'open'; readonly replaced: { readonly reason: string; readonly setAside: string } | null };
/** What it says; `stopped` when it lets go of the index. It is told `stop`, and nothing else. */
export type IndexerNotice =
  | { readonly kind: 'ready' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'index'; readonly condition: IndexCondition }
  | {
      readonly kind: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly message: string;
      readonly fields: object;
    };

const pollMs = 250;
/** Pruning is looked for once in so many steps. */
const stepsPerPrune = 4;
/** Below the threads that answer and run jobs. */
const niceness = 10;
/** After a failure: the index cannot be opened, the disk is full, or an entry could not be taken. Searching goes on with what is there. */
const failedMs = 2_000;

function consumersOf(shelf: Shelf): JournalConsumer[] {
  return [new SearchIndex(shelf), stopwatchConsumer(shelf)];
}

function run({ path, gauges: shared }: IndexerData): void {
  yieldToOthers();
  const gauges = new Gauges(shared);
  let shelf: Shelf | null = null;
  let feed: Feed | null = null;
  let condition: IndexCondition = { kind: 'open', replaced: null };
  let replaced: { readonly reason: string; readonly setAside: string } | null = null;
  let timer: NodeJS.Timeout | undefined;
  const rest = new Rest();
  let steps = 0;
  let stopping = false;
  let pruning = false;

  function poll(): void {
    timer = undefined;
    if (stopping) {
      close();
      return;
    }
    try {
      shelf ??= openShelf();
      feed ??= new Feed(shelf, consumersOf(shelf));
      timer = setTimeout(poll, next(feed));
      become({ kind: 'open', replaced });
    } catch (error) {
      const { stack, message } = error as Error;
      // How far it has come is read again; after a fault of the disk the index is opened anew.
      feed = null;
      become(shelf ? { kind: 'failing', reason: message } : { kind: 'closed', reason: message }, stack);
      if (error instanceof StoreFault) closeShelf();
      timer = setTimeout(poll, failedMs);
    }
  }

  function openShelf(): Shelf {
    const ledger = openReader(path);
    try {
      const index = openIndexStore(path, (reason, setAside) => {
        replaced = { reason, setAside };
        say({
          kind: 'log',
          level: 'warn',
          message: 'the search index is built again from the ledger',
          fields: replaced,
        });
      });
      return { ledger, index };
    } catch (error) {
      ledger.close();
      throw error;
    }
  }

  /** Each change is said once, however often the same is tried. */
  function become(next: IndexCondition, stack?: string): void {
    if (isDeepStrictEqual(next, condition)) return;
    const wasOpen = condition.kind === 'open';
    condition = next;
    say({ kind: 'index', condition });
    if (next.kind === 'open') {
      if (!wasOpen) say({ kind: 'log', level: 'info', message: 'the search index follows the journal', fields: {} });
      return;
    }
    const message =
      next.kind === 'closed'
        ? `the search index cannot be opened: it is left as it is, and tried again every ${failedMs / 1000} s`
        : 'the search index could not follow the journal';
    say({ kind: 'log', level: 'error', message, fields: { error: stack ?? next.reason } });
  }

  /** Takes a step, unless it rests; returns when to look again, in ms from now. */
  function next(open: Feed): number {
    // What is in the journal counts only when it is on disk: the index must not know what a failure can undo.
    const journaledUs = gauges.get('journaled');
    const startMs = performance.now();
    const leftMs = rest.leftMs(startMs, gauges.get('running'), journaledUs);
    if (leftMs > 0) return Math.min(pollMs, leftMs);
    const more = step(open, journaledUs);
    rest.begin(startMs, performance.now(), open.behindUs(journaledUs));
    return more ? 0 : pollMs;
  }

  /** True while there is more to do. */
  function step(open: Feed, journaledUs: number): boolean {
    if (steps++ % stepsPerPrune === 0) pruning = true;
    const more = open.take(journaledUs);
    if (!more && pruning) pruning = open.prune();
    return more || pruning;
  }

  function close(): void {
    closeShelf();
    say({ kind: 'stopped' });
    parentPort!.close();
  }

  function closeShelf(): void {
    shelf?.index.close();
    shelf?.ledger.close();
    shelf = null;
  }

  parentPort!.on('message', () => {
    stopping = true;
    if (!timer) return;
    clearTimeout(timer);
    poll();
  });
  // The first look opens the index before the service is ready. Where it cannot be opened, the service starts without it.
  poll();
  say({ kind: 'ready' });
}

function say(notice: IndexerNotice): void {
  parentPort!.postMessage(notice);
}

/** Of this thread alone, where the system has priorities of threads. */
function yieldToOthers(): void {
  try {
    if (process.platform === 'linux') setPriority(niceness);
  } catch {}
}

run(await givenData<IndexerData>());
