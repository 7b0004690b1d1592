// Bench: the dashboard. Measures what the first visit loads, how long pages take in Chromium, the heap of a long list,
// and what ten open dashboards cost a service that drains its queue.
import { atLeast, atMost, type Bench, type Metric } from './bench.ts';
import { hasBrowser, launchBrowser } from './browser.ts';
import type { Caller } from './caller.ts';
import { fanPipeline, runFan } from './fan-run.ts';
import { closeGates } from './gate.ts';
import { runLoad } from './load/run.ts';
import { until } from './pause.ts';
import { median } from './percentile.ts';
import { drainQueued, emptied } from './queue.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';
import { habitsOf, openDashboards, type PageHabits } from './ui/dashboards.ts';
import { firstLoadBytes, openRun, scrollJobs, signIn, visitJobs } from './ui/pages.ts';

type Ui = {
  /** The number of jobs that are stored before anything is measured. */
  readonly stored: number;
  /** How long a page is watched while jobs are accepted and run. */
  readonly watchMs: number;
  /** The number of jobs that one round drains. */
  readonly jobs: number;
  /** The number of pairs of rounds: one round without dashboards, and one with them. */
  readonly rounds: number;
  readonly dashboards: number;
  readonly rows: number;
  readonly children: number;
  /** How often each page is opened. */
  readonly visits: number;
  readonly connections: number;
};

const path = '/plugin/noop/run';
/** The maximum number of payloads that the service accepts in one call. */
const batchMax = 10_000;

export const ui: Bench<Ui> = {
  name: 'ui',
  purpose: 'the dashboard in Chromium with a million stored jobs, and ten dashboards beside a queue that is drained',
  limitMs: { smoke: 120_000, real: 900_000 },
  parameters: {
    smoke: {
      stored: 1_000,
      watchMs: 3_000,
      jobs: 500,
      rounds: 1,
      dashboards: 2,
      rows: 300,
      children: 200,
      visits: 1,
      connections: 16,
    },
    real: {
      stored: 1_000_000,
      watchMs: 10_000,
      jobs: 200_000,
      rounds: 5,
      dashboards: 10,
      rows: 50_000,
      children: 100_000,
      visits: 5,
      connections: 128,
    },
  },

  async run(parameters: Ui, stage: Stage) {
    if (!hasBrowser) throw new Error('this bench needs Chromium at /usr/bin/chromium');
    const { rows, children, visits, watchMs, connections } = parameters;
    const service = await stage.start({ pipelines: [fanPipeline] });
    const caller = service.caller();
    const browser = await launchBrowser();
    try {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
      await signIn(context, service);
      const firstLoadKb = (await firstLoadBytes(service)) / 1024;
      await queueBatches(caller, parameters.stored);
      await emptied(caller);
      const stored = await indexed(caller, parameters.stored);
      const page = await context.newPage();
      const jobsMs = await visitJobs(page, service, visits);
      const { heapMb, rowsMax } = await scrollJobs(page, service, rows);
      await page.close();
      const run = await runFan(caller, children);
      const runMs: number[] = [];
      for (let n = 0; n < visits; n++) {
        const other = await context.newPage();
        runMs.push(await openRun(other, service, run.id));
        await other.close();
      }
      const load = {
        path,
        connections,
        until: { kind: 'time', ms: watchMs },
        expect: { status: 202 },
        sampleEvery: 0,
      } as const;
      const habits = await habitsOf(context, service, '#/now', () => runLoad(service, load));
      await emptied(caller);
      await browser.close();
      const drains = await drainBeside(service, stage, parameters, habits);
      const metrics: Metric[] = [
        { name: 'first_load_kb', value: firstLoadKb, unit: 'kB', target: atMost(60) },
        { name: 'jobs_page_ms', value: median(jobsMs), unit: 'ms', target: atMost(300) },
        { name: 'scrolled_heap_mb', value: heapMb, unit: 'MB', target: atMost(150) },
        { name: 'rows_in_document', value: rowsMax, unit: '', target: atMost(310) },
        { name: 'run_page_ms', value: median(runMs), unit: 'ms', target: atMost(1_000) },
        { name: 'drain_share', value: drains.share, unit: '', target: atLeast(0.95) },
        { name: 'drain_per_s', value: drains.alone, unit: '1/s' },
        { name: 'dashboard_reads', value: drains.reads, unit: '' },
      ];
      return { metrics, work: { stored, children, result: run.result } };
    } finally {
      await browser.close();
      await service.stop();
    }
  },
};

/** Waits until the index has this many succeeded jobs. Returns the number of jobs that it has. */
function indexed(caller: Caller, jobs: number): Promise<number> {
  const look = async () => {
    const total = await caller.total('/jobs?status=succeeded&limit=1');
    return total >= jobs ? total : undefined;
  };
  return until(look, { everyMs: 50, withinMs: 120_000, what: `${jobs} indexed jobs` });
}

/**
 * Queues the jobs in batches, because one call for each job would take most of the bench's time. Resolves with the id
 * of the last job.
 */
async function queueBatches(caller: Caller, jobs: number): Promise<string> {
  let last = '';
  for (let sent = 0; sent < jobs; sent += batchMax) {
    const payloads = Math.min(batchMax, jobs - sent);
    const body = JSON.stringify({ payloads: Array.from({ length: payloads }, (_, n) => ({ n: sent + n })) });
    last = await caller.sendBatch(`${path}/batch`, body, payloads);
  }
  return last;
}

/**
 * Drains queues without and with dashboards, in pairs of rounds. `share`: the rate with dashboards divided by the rate
 * without.
 */
async function drainBeside(
  service: Service,
  stage: Stage,
  { jobs, rounds, dashboards }: Ui,
  habits: PageHabits,
): Promise<{ readonly share: number; readonly alone: number; readonly reads: number }> {
  const rate = async () => {
    await closeGates(service, stage);
    const last = await queueBatches(service.caller(), jobs);
    const { elapsedMs } = await drainQueued(service, stage, jobs, last);
    return (jobs * 1000) / elapsedMs;
  };
  const alone: number[] = [];
  const shares: number[] = [];
  let reads = 0;
  const rateBeside = async () => {
    const close = await openDashboards(service, habits, dashboards);
    const perS = await rate();
    reads += close();
    return perS;
  };
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that a cost that grows with the stored jobs counts for both.
    const first = round % 2 === 0 ? await rate() : await rateBeside();
    const second = round % 2 === 0 ? await rateBeside() : await rate();
    const [without, beside] = round % 2 === 0 ? [first, second] : [second, first];
    alone.push(without);
    shares.push(beside / without);
  }
  return { share: median(shares), alone: median(alone), reads };
}
