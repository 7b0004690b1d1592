// `npm run demo`: the bundled example from start to end, on the packages that are really installed here.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Observation, observationsOf } from '../actors/hub/actor.ts';
import { everything } from '../actors/hub/filter.ts';
import type { Json } from '../runtime/packing.ts';
import { Failure, report } from './failure.ts';
import { processIo } from './io.ts';
import { Output } from './output.ts';
import { progress } from './progress.ts';
import { type Started, start } from './start.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pipeline = 'dependency-report';
const anyPort = { host: '127.0.0.1', port: 0 };

type Row = {
  readonly job_id: string;
  readonly parent_job_id: string | null;
  readonly plugin: string;
  readonly command: string;
  readonly status: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
};
type Run = Row & {
  readonly result: { readonly result: { readonly summary?: string } & { readonly [key: string]: Json } };
};

async function main(): Promise<number> {
  const state = mkdtempSync(join(tmpdir(), 'headgate-demo-'));
  try {
    const started = await start({
      path: join(root, 'examples', pipeline),
      graceMs: 5_000,
      // Beside whatever else runs here: a free port, a state of its own, and a quiet log.
      adjust: config => ({
        ...config,
        service: { ...config.service, logLevel: 'warn' },
        state: { ...config.state, path: state },
        api: { ...config.api, listen: anyPort },
        webhooks: { ...config.webhooks, listen: anyPort },
      }),
    });
    const status = await demonstrate(started);
    started.stop();
    return (await started.ended) || status;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return report(error, new Output(processIo(), false));
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

async function demonstrate(started: Started): Promise<number> {
  say(`headgate is up at ${started.url}; running the pipeline ${pipeline} on ${root}`);
  const settled = watch(started);
  const began = performance.now();
  const accepted = await call<{ job_id: string }>(started, 'POST', `/pipeline/${pipeline}?async=true`, {
    payload: { root },
  });
  await settled(accepted.job_id);
  const tookMs = performance.now() - began;
  const run = await call<Run>(started, 'GET', `/job/${accepted.job_id}`);
  const tree = await call<Row[]>(started, 'GET', `/job/${accepted.job_id}/tree`);
  printTree(tree);
  printResult(run);
  printTimes(tree, tookMs);
  return run.status === 'succeeded' ? 0 : 1;
}

/** Follows the run on the terminal; the function it gives resolves when the run of that id has settled. */
function watch({ gateway }: Started): (id: string) => Promise<void> {
  const bar = progress(process.stderr);
  const ended = new Set<string>();
  let enqueued = 0;
  let done = 0;
  let check = (): void => {};
  let seen = gateway.hub.newest;
  const stop = gateway.hub.onNews(() => {
    const { stretches, upTo } = gateway.hub.read(everything, seen, 10_000);
    seen = upTo;
    for (const stretch of stretches) for (const observation of observationsOf(stretch)) count(observation);
    bar.draw(done, enqueued, 'jobs');
    check();
  });

  function count({ type, fields }: Observation): void {
    if (type === 'job.enqueued') enqueued++;
    else if (['job.completed', 'job.failed', 'job.dead', 'job.timed_out'].includes(type)) done++;
    else if (type === 'pipeline.completed' || type === 'pipeline.failed') ended.add(String(fields['job_id']));
  }

  return id =>
    new Promise(resolve => {
      check = () => {
        if (!ended.has(id)) return;
        stop();
        bar.end();
        resolve();
      };
      check();
    });
}

async function call<Answer>({ url, local }: Started, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${local?.token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

/** The tree, with jobs that stand side by side under one parent gathered into a line. */
function printTree(tree: readonly Row[]): void {
  say('\nThe tree');
  const children = groupBy(tree, row => row.parent_job_id);
  const [top] = tree;
  if (top) draw([top], 0);

  function draw(rows: readonly Row[], depth: number): void {
    for (const alike of groupBy(rows, row => `${row.plugin}.${row.command} ${row.status}`).values()) {
      const [first] = alike;
      const name = `${'  '.repeat(depth)}${first!.plugin}.${first!.command}`;
      const many = alike.length > 1 ? ` × ${alike.length}` : '';
      const spans = alike.map(runMs);
      const span = `${Math.min(...spans).toFixed(1)}–${Math.max(...spans).toFixed(1)} ms`;
      say(
        `  ${(name + many).padEnd(44)} ${first!.status.padEnd(10)} ${alike.length > 1 ? span : `${spans[0]!.toFixed(1)} ms`}`,
      );
      draw(
        alike.flatMap(row => children.get(row.job_id) ?? []),
        depth + 1,
      );
    }
  }
}

function printResult(run: Run): void {
  say(`\nThe result: ${run.status}`);
  const report = run.result.result;
  say(String(report.summary ?? JSON.stringify(report, null, 2)));
}

function printTimes(tree: readonly Row[], tookMs: number): void {
  const jobs = tree.slice(1);
  const busyMs = jobs.reduce((sum, row) => sum + runMs(row), 0);
  const spanMs = Math.max(...jobs.map(row => ms(row.completed_at))) - Math.min(...jobs.map(row => ms(row.started_at)));
  say('\nWhat took how long');
  say(`  ${'the whole run, as its caller saw it'.padEnd(44)} ${tookMs.toFixed(1)} ms`);
  say(`  ${`${jobs.length} jobs in plugins, together`.padEnd(44)} ${busyMs.toFixed(1)} ms`);
  say(`  ${'from the first start to the last end'.padEnd(44)} ${spanMs.toFixed(1)} ms`);
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

function runMs(row: Row): number {
  return ms(row.completed_at) - ms(row.started_at);
}

/** RFC 3339 with microseconds; `Date` knows milliseconds. */
function ms(at: string | null): number {
  if (!at) return 0;
  const fraction = /\.(\d+)Z$/.exec(at)?.[1] ?? '0';
  return Date.parse(`${at.slice(0, 19)}Z`) + Number(`0.${fraction}`) * 1000;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exit(await main());
