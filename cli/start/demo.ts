// `npm run demo`: runs the bundled example on the packages installed here.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '../client/client.ts';
import type { JobDocument, TreeJob } from '../client/jobs.ts';
import { treeJobs } from '../client/tree.ts';
import { settledJob } from '../client/waiting.ts';
import { CommandFailure, report } from '../failure.ts';
import { processIo } from '../io.ts';
import { Output } from '../output.ts';
import { JobTree } from '../terminal/job-tree.ts';
import type { TerminalLine } from '../terminal/text.ts';
import { formatMs, msOf, spanMs } from '../terminal/time.ts';
import { type Started, start } from './start.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const pipeline = 'dependency-report';
const anyPort = { host: '127.0.0.1', port: 0 };
/** The maximum number of children of a job that are drawn; the others are counted. */
const siblingsMax = 5;

async function main(): Promise<number> {
  const state = mkdtempSync(join(tmpdir(), 'headgate-demo-'));
  const out = new Output(processIo(), false);
  try {
    const started = await start({
      path: join(root, 'examples', pipeline),
      graceMs: 5_000,
      // Free ports and a temporary state directory keep the demo apart from other services on this machine.
      adjust: config => ({
        ...config,
        service: { ...config.service, logLevel: 'warn' },
        state: { ...config.state, path: state },
        api: { ...config.api, listen: anyPort },
        webhooks: { ...config.webhooks, listen: anyPort },
      }),
    });
    const status = await demonstrate(started, out);
    started.stop();
    return (await started.ended) || status;
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return report(error, out);
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

async function demonstrate({ url, local }: Started, out: Output): Promise<number> {
  const client = new Client({ url: url!, tokens: [local!.token], tokenHint: null });
  await say(out, `headgate is up at ${url}; running the pipeline ${pipeline} on ${root}`);
  const path = `/pipeline/${pipeline}?async=true`;
  const { job_id: id } = await client.post<{ job_id: string }>(path, { job_id: true }, { payload: { root } });
  const run = await settledJob(client, id, null, out);
  const tree = new JobTree();
  const jobs: TreeJob[] = [];
  for await (const job of treeJobs(client, id)) {
    tree.add(job);
    jobs.push(job);
  }
  await say(out, '', 'The tree', ...tree.lines(siblingsMax));
  await say(out, '', `The result: ${run.status}`, ...resultLines(run));
  await say(out, '', 'Where the time went', ...timeLines(run, jobs.slice(1)));
  return run.status === 'succeeded' ? 0 : 1;
}

function say(out: Output, ...lines: TerminalLine[]): Promise<void> {
  return out.answer(null, () => lines);
}

/** The lines of the summary in the run's result; if there is no summary, the lines of the run's error. */
function resultLines({ result, last_error: error }: JobDocument): string[] {
  const { summary } = (result?.result ?? {}) as { readonly summary?: string };
  return (summary ?? error ?? '').split('\n');
}

function timeLines(run: JobDocument, jobs: readonly TreeJob[]): string[] {
  const busyMs = jobs.reduce((sum, job) => sum + (spanMs(job.started_at, job.completed_at) ?? 0), 0);
  const startedMs = Math.min(...jobs.map(job => msOf(job.started_at ?? run.completed_at!)));
  const endedMs = Math.max(...jobs.map(job => msOf(job.completed_at ?? run.completed_at!)));
  return [
    timeLine('the whole run', spanMs(run.created_at, run.completed_at)!),
    timeLine(`${jobs.length} jobs in plugins, together`, busyMs),
    timeLine('from the first start to the last end', endedMs - startedMs),
  ];
}

function timeLine(what: string, ms: number): string {
  return `  ${what.padEnd(40)} ${formatMs(ms)}`;
}

process.exit(await main());
