// The metrics of the process, its main thread and its disk. The sizes of files are measured without blocking the main thread.
import { stat, statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { indexFile } from '../../runtime/store/index-store.ts';
import { ledgerFile } from '../../runtime/store/ledger-store.ts';
import { singleFlight } from '../single-flight.ts';
import { type MetricFamily, single } from './family.ts';

/** A scrape waits at most this long for the disk. After that, it shows the sizes of the last measurement. */
const diskMsMax = 200;

/** When the process started. It must not change while the process runs, not even if the clock is set. */
const processStartedS = Math.round(performance.timeOrigin) / 1000;

type DiskSizes = {
  readonly ledgerBytes: number;
  /** Null: the index does not exist. */
  readonly indexBytes: number | null;
  readonly freeBytes: number;
  readonly atMs: number;
};

export class DiskMeter {
  readonly #path: string;
  #sizes: DiskSizes | null = null;
  readonly #measure = singleFlight(() => this.#measureSizes());

  /** `path`: the state directory. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Measures again. Resolves when the measurement is done, or after `diskMsMax`. */
  async refresh(): Promise<void> {
    await Promise.race([this.#measure(), sleep(diskMsMax, undefined, { ref: false })]);
  }

  /** Measures the sizes. Keeps the earlier sizes if the disk cannot be examined. */
  async #measureSizes(): Promise<void> {
    try {
      const [ledger, index, disk] = await Promise.all([
        stat(ledgerFile(this.#path)),
        stat(indexFile(this.#path)).catch(() => null),
        statfs(this.#path),
      ]);
      this.#sizes = {
        ledgerBytes: ledger.size,
        indexBytes: index?.size ?? null,
        freeBytes: disk.bavail * disk.bsize,
        atMs: performance.now(),
      };
    } catch {
      // The failure shows in `ageMs`, which then grows.
    }
  }

  /** How old the sizes are; null: none were measured yet. */
  get ageMs(): number | null {
    return this.#sizes && performance.now() - this.#sizes.atMs;
  }

  families(): readonly MetricFamily[] {
    if (!this.#sizes) return [];
    const { ledgerBytes, indexBytes, freeBytes } = this.#sizes;
    return [
      {
        name: 'headgate_store_size_bytes',
        type: 'gauge',
        help: 'The size of the data file, including pages that are free for reuse.',
        samples: [
          { labels: { env: 'ledger' }, value: ledgerBytes },
          ...(indexBytes === null ? [] : [{ labels: { env: 'index' }, value: indexBytes }]),
        ],
      },
      {
        name: 'headgate_disk_free_bytes',
        type: 'gauge',
        help: 'Free space on the disk of the state directory.',
        samples: single(freeBytes),
      },
    ];
  }
}

/** How long the main thread's event loop takes to run a new callback of `setImmediate`, in ms. */
export async function loopDelayMs(): Promise<number> {
  const startMs = performance.now();
  await new Promise(resolve => setImmediate(resolve));
  return performance.now() - startMs;
}

export function processFamilies(): readonly MetricFamily[] {
  const { user, system } = process.cpuUsage();
  return [
    {
      name: 'process_cpu_seconds',
      type: 'counter',
      help: 'Processor time of the service, without its hosts. Begins at 0 at each start.',
      samples: single((user + system) / 1e6),
    },
    {
      name: 'process_resident_memory_bytes',
      type: 'gauge',
      help: 'Resident memory of the service, without its hosts.',
      samples: single(process.memoryUsage.rss()),
    },
    {
      name: 'process_start_time_seconds',
      type: 'gauge',
      help: 'When the process started, in seconds since the epoch.',
      samples: single(processStartedS),
    },
  ];
}
