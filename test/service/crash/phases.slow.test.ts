// Runs that fail, pass their deadline, are cancelled or succeed, with kill -9 of the service between, many times: `finally` follows each of them, `on_failure`
// those that failed or took too long, and neither begins twice.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { countOf } from '../../support/deep.ts';
import { Gateway } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { type Random, seededRandom } from './random.ts';

const cycles = countOf({ deep: 200, quick: 3 });
const runsPerCycle = 12;
/** Bytes that plugins write before the kill of a cycle. */
const writtenMax = 2_000;

const code = `
import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
const home = resolve(import.meta.dirname, '../..');
export async function handle({ job_id: job, event: { payload } }, { signal }) {
  appendFileSync(home + '/journal', JSON.stringify({ job }) + '\\n');
  const { wait = 0, fail } = payload.item ?? payload.run?.payload?.last ?? payload;
  await pause(wait, null, { signal });
  return fail ? { status: 'error', error: 'as asked', retry: false } : { result: {} };
}
`;

const each = { id: 'each', uses: 'plain', foreach: 'payload.list' };
const phases = { on_failure: [{ id: 'tell', uses: 'plain' }], finally: [{ id: 'clean', uses: 'plain' }] };
const pipelines = [
  { name: 'plain-run', steps: [each, { id: 'all', uses: 'plain', join: 'all', collect: 'counts' }], ...phases },
  {
    name: 'patient-run',
    steps: [
      { ...each, fail_fast: false },
      { id: 'all', uses: 'plain', join: 'all' },
    ],
    ...phases,
  },
  { name: 'short-run', deadline: '150ms', steps: [each], ...phases },
  { name: 'outer-run', steps: [{ id: 'calls', call: 'plain-run', on_error: 'continue' }], ...phases },
];

type Ended = {
  readonly job_id: string;
  readonly status: string;
  readonly command: string;
  readonly run_id?: string | null;
  readonly step_id?: string | null;
  readonly phase?: string;
  readonly attempt: number;
  readonly cancel?: object;
};

test(`${cycles} kills between runs with phases: each phase that is due begins once`, {
  timeout: 7_200_000,
}, async () => {
  const random = seededRandom();
  console.log(`seed of the phases: TEST_SEED=${random.seed}`);
  const instances = { plain: { retry: { max_attempts: 4, backoff_base: '10ms', backoff_max: '50ms' } } };
  const gateway = new Gateway({ plugins: { plain: code }, instances, pipelines, service: { max_workers: 4 } });
  onTestFinished(() => gateway.discard());
  await gateway.start();
  const journal = join(gateway.directory, 'journal');
  const written = () => statSync(journal, { throwIfNoEntry: false })?.size ?? 0;
  const runs: string[] = [];
  /** A forced cancel may end `finally` before its first job exists. */
  const forced = new Set<string>();

  for (let cycle = 0; cycle < cycles; cycle++) {
    for (let n = 0; n < runsPerCycle; n++) runs.push(await begin(gateway, random));
    const recent = runs.slice(-2 * runsPerCycle);
    const cancels = Array.from({ length: 4 }, async () => {
      const moment = written() + random.between(0, writtenMax);
      await until('the moment of the cancel', () => written() >= moment, 200).catch(() => {});
      const isForced = random.between(1, 4) === 1;
      const id = recent[random.between(0, recent.length - 1)]!;
      if (isForced) forced.add(id);
      await gateway.call('POST', `/job/${id}/cancel${isForced ? '?force=true' : ''}`).catch(() => {});
    });
    const wanted = written() + random.between(1, writtenMax);
    await until('plugins are at work', () => written() >= wanted, 1_000).catch(() => {});
    await gateway.kill9();
    await Promise.all(cancels);
    await gateway.start();
  }

  await gateway.allSettled(runs);
  const wrong: unknown[] = [];
  const counts: { [status: string]: number } = {};
  for (const id of runs) {
    const all = await Promise.all(
      (await gateway.tree(id)).map(
        async job => (await gateway.call('GET', `/job/${job.job_id}`)).body as unknown as Ended,
      ),
    );
    for (const run of all.filter(job => job.step_id == null || job.step_id === 'calls')) {
      counts[run.status] = (counts[run.status] ?? 0) + 1;
      const fault = faultOf(run, all, forced.has(run.job_id) && run.status === 'cancelled');
      if (fault) wrong.push({ fault, run, jobs: all.filter(job => job.run_id === run.job_id) });
    }
  }
  console.log(`${runs.length} runs: ${JSON.stringify(counts)}`);
  expect(wrong).toEqual([]);
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});

/** What is wrong with the phases of a run; null: nothing. */
function faultOf(run: Ended, all: readonly Ended[], isForced: boolean): string | null {
  const own = all.filter(job => job.run_id === run.job_id);
  const of = (phase: string) => own.filter(job => job.phase === phase);
  if (of('finally').length > 1 || of('on_failure').length > 1) return 'a phase has begun twice';
  const isStarted = (job: Ended): boolean => {
    if (job.step_id !== 'calls') return job.attempt > 0;
    return all.some(inside => inside.run_id === job.job_id && isStarted(inside));
  };
  const hasStarted = own.some(job => job.phase === undefined && isStarted(job));
  const begun = of('finally').length === 1;
  if (begun !== hasStarted && !(isForced && hasStarted))
    return begun ? 'finally has begun, though nothing had started' : 'finally is missing';
  // A called run that is stopped with its caller has no `on_failure`; a cancel may come before it or during it.
  const isOuter = run.step_id == null;
  const mustTell = isOuter && hasStarted && (run.status === 'failed' || run.status === 'timed_out');
  if (mustTell && of('on_failure').length === 0) return 'on_failure is missing';
  return run.status === 'succeeded' && of('on_failure').length > 0 ? 'on_failure has begun' : null;
}

function begin(gateway: Gateway, random: Random): Promise<string> {
  const wait = () => random.between(0, 80);
  const element = () => ({ wait: wait(), ...(random.between(1, 6) === 1 && { fail: true }) });
  const list = Array.from({ length: random.between(1, 5) }, element);
  const last = { wait: wait(), ...(random.between(1, 6) === 1 && { fail: true }) };
  const name = pipelines[random.between(0, pipelines.length - 1)]!.name;
  return gateway.run(name, { list, last });
}
