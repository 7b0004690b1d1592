// The indexer thread: follows the journal and keeps the index, off the ledger thread. It may die and begin again at any moment.
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { givenData } from '../../runtime/spare-thread.ts';
import { openIndexStore, openReader } from '../../runtime/store/lmdb.ts';
import { Gauges } from '../job/gauges.ts';
import type { JournalConsumer, Shelf } from './consumer.ts';
import { Feed } from './feed.ts';
import { Rest } from './rest.ts';
import { SearchIndex } from './search-index.ts';
import { stopwatchConsumer } from './stopwatch.ts';

/** What the thread is given at its start. */
export type IndexerData = { readonly path: string; readonly gauges: SharedArrayBuffer };
/** What it says; `stopped` when it lets go of the index. It is told `stop`, and nothing else. */
export type IndexerNotice =
  | { readonly kind: 'ready' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'log'; readonly message: string; readonly fields: object };

const pollMs = 250;
/** Pruning is looked for once in so many steps. */
const stepsPerPrune = 4;
/** Below the threads that answer and run jobs. */
const niceness = 10;
/** After a failure: the disk is full, or an entry could not be taken. Searching goes on with what is there. */
const failedMs = 2_000;

function consumersOf(shelf: Shelf): JournalConsumer[] {
  return [new SearchIndex(shelf), stopwatchConsumer(shelf)];
}

function run({ path, gauges: shared }: IndexerData): void {
  yieldToOthers();
  const gauges = new Gauges(shared);
  const shelf: Shelf = { ledger: openReader(path), index: openIndexStore(path) };
  let feed = new Feed(shelf, consumersOf(shelf));
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
      timer = setTimeout(poll, next());
    } catch (error) {
      const { stack, message } = error as Error;
      say({ kind: 'log', message: 'the index could not follow the journal', fields: { error: stack ?? message } });
      feed = new Feed(shelf, consumersOf(shelf));
      timer = setTimeout(poll, failedMs);
    }
  }

  /** Takes a step, unless it rests; returns when to look again, in ms from now. */
  function next(): number {
    // What is in the journal counts only when it is on disk: the index must not know what a failure can undo.
    const journaledUs = gauges.get('journaled');
    const startMs = performance.now();
    const leftMs = rest.leftMs(startMs, gauges.get('running'), journaledUs);
    if (leftMs > 0) return Math.min(pollMs, leftMs);
    const more = step(journaledUs);
    rest.begin(startMs, performance.now(), feed.behindUs(journaledUs));
    return more ? 0 : pollMs;
  }

  /** True while there is more to do. */
  function step(journaledUs: number): boolean {
    if (steps++ % stepsPerPrune === 0) pruning = true;
    const more = feed.take(journaledUs);
    if (!more && pruning) pruning = feed.prune();
    return more || pruning;
  }

  function close(): void {
    shelf.index.close();
    shelf.ledger.close();
    say({ kind: 'stopped' });
    parentPort!.close();
  }

  parentPort!.on('message', () => {
    stopping = true;
    if (!timer) return;
    clearTimeout(timer);
    poll();
  });
  say({ kind: 'ready' });
  poll();
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
