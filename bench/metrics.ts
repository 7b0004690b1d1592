// Bench: scrapes of /metrics in both formats, with many plugins whose commands have all run.
import { atMost, type Bench, type Metric } from './bench.ts';
import { costMetrics } from './cost.ts';
import { Connection } from './load/connection.ts';
import { requestBytes } from './load/request.ts';
import { pause, until } from './pause.ts';
import { Samples } from './percentile.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

type Metrics = {
  readonly plugins: number;
  /** The number of jobs of each plugin. */
  readonly jobs: number;
  readonly scrapes: number;
  /** The pause between two scrapes. */
  readonly pauseMs: number;
};

const withinMs = 60_000;
/**
 * One in this many scrapes is read as text. The garbage that such long texts leave would make the client collect it while it waits for other
 * scrapes.
 */
const readEvery = 50;
/** The header that Prometheus sends if it prefers OpenMetrics. */
const openMetricsHeader = 'Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.1\r\n';

export const metrics: Bench<Metrics> = {
  name: 'metrics',
  purpose: 'scrapes of /metrics with 64 plugins, one at a time, as text and as OpenMetrics',
  limitMs: { smoke: 30_000, real: 180_000 },
  parameters: {
    smoke: { plugins: 4, jobs: 2, scrapes: 5, pauseMs: 1 },
    real: { plugins: 64, jobs: 100, scrapes: 500, pauseMs: 20 },
  },

  async run({ plugins, jobs, scrapes, pauseMs }: Metrics, stage: Stage) {
    const names = Array.from({ length: plugins }, (_, n) => `noop-${n}`);
    const service = await stage.start({ instances: Object.fromEntries(names.map(name => [name, { uses: 'noop' }])) });
    const caller = service.caller();
    const batch = JSON.stringify({ payloads: Array.from({ length: jobs }, (_, n) => ({ n })) });
    for (const name of names) await caller.sendBatch(`/plugin/${name}/run/batch`, batch, jobs);
    const scraper = await Scraper.open(service);
    const series = await until(
      async () => {
        const { text } = await scraper.scrape('', true);
        return countedIn(text) === plugins * jobs ? seriesIn(text) : undefined;
      },
      { everyMs: 100, withinMs, what: 'the durations of all jobs' },
    );
    const endStretch = service.stretch();
    const found: Metric[] = [];
    for (const [name, headers] of [
      ['text', ''],
      ['openmetrics', openMetricsHeader],
    ] as const) {
      const timesUs = new Samples();
      let kib = 0;
      for (let n = 0; n < scrapes; n++) {
        const isRead = n % readEvery === 0;
        const { us, bytes, text } = await scraper.scrape(headers, isRead);
        timesUs.add(us);
        kib = bytes / 1024;
        if (isRead && countedIn(text) !== plugins * jobs) throw new Error('a scrape does not count all jobs');
        await pause(pauseMs);
      }
      found.push(
        { name: `${name}_p50_ms`, value: timesUs.percentile(50) / 1000, unit: 'ms' },
        { name: `${name}_p99_ms`, value: timesUs.percentile(99) / 1000, unit: 'ms', target: atMost(10) },
        { name: `${name}_kb`, value: kib, unit: 'KB' },
      );
    }
    const cost = costMetrics([endStretch()], 2 * scrapes);
    scraper.close();
    await service.stop();
    return { metrics: [{ name: 'series', value: series, unit: '' }, ...found, ...cost], work: { plugins, jobs } };
  },
};

type Scrape = { readonly us: number; readonly bytes: number; readonly text: string };

class Scraper {
  readonly #service: Service;
  readonly #connection: Connection;

  private constructor(service: Service, connection: Connection) {
    this.#service = service;
    this.#connection = connection;
  }

  static async open(service: Service): Promise<Scraper> {
    return new Scraper(service, await Connection.open(service.url.hostname, Number(service.url.port)));
  }

  /** `us`: until the last byte arrived. `text`: empty unless `isRead`. */
  scrape(headers: string, isRead: boolean): Promise<Scrape> {
    const { url, token } = this.#service;
    const parts = { method: 'GET', path: '/metrics', host: url.host, token, headers } as const;
    const request = requestBytes(parts);
    return new Promise((resolve, reject) => {
      this.#connection.onFailure(reason => reject(new Error(reason)));
      const startMs = performance.now();
      this.#connection.send(request, (status, body) => {
        const us = (performance.now() - startMs) * 1000;
        if (status !== 200) reject(new Error(`GET /metrics: ${status}`));
        else resolve({ us, bytes: body.length, text: isRead ? body.toString() : '' });
      });
    });
  }

  close(): void {
    this.#connection.close();
  }
}

/** The number of jobs in the histograms of all commands. */
function countedIn(text: string): number {
  let count = 0;
  for (const [, value] of text.matchAll(/^headgate_job_total_seconds_count\{[^}]*\} (\d+)$/gm)) count += Number(value);
  return count;
}

function seriesIn(text: string): number {
  return text.split('\n').filter(line => line !== '' && !line.startsWith('#')).length;
}
