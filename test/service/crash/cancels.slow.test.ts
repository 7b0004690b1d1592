// Cancels jobs and runs at random moments, in cycles that each end with kill -9 of the service and sometimes of its hosts, often while cancels are
// under way. Once a cancel is answered, no plugin code of the job or run starts. In the end none of its processes is alive. A success that
// was committed before the cancel stays.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { livingStat } from '../../../runtime/processes/identity.ts';
import { countOf } from '../../support/deep.ts';
import { childrenOf } from '../canary/processes.ts';
import { Gateway, type Job } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { instances, pipelines, plugins } from './cancelled-plugins.ts';
import { type Random, seededRandom } from './random.ts';

const cycles = countOf({ deep: 200, quick: 3 });
const submittedPerCycle = 14;
const cancelledPerCycleMax = 12;
/** Bytes that plugins write before the first cancel of a cycle. */
const writtenMax = 1_200;
/** A process that ignores SIGTERM is killed after 5 s. The second summand allows for a busy machine. */
const aliveMsMax = 6_000 + 4_000;
const deafMs = 15_000;

type Note = { readonly job: string; readonly at: number; readonly pid?: number; readonly ticks?: string };
type Submitted = { readonly id: string; readonly isRun: boolean; readonly isDeaf: boolean };
/** What a cancel was answered, and when. `stands`: the status that the answer names. */
type Answered = Submitted & { readonly status: number; readonly stands: string; readonly atMs: number };

test(`${cycles} kills between random cancels: nothing that was cancelled starts after the answer`, {
  timeout: 7_200_000,
}, async () => {
  const random = seededRandom();
  console.log(`seed of the cancels: TEST_SEED=${random.seed}`);
  const gateway = new Gateway({ plugins, instances, pipelines, service: { max_workers: 3 } });
  onTestFinished(() => gateway.discard());
  await gateway.start();
  const journal = join(gateway.directory, 'journal');
  const written = () => statSync(journal, { throwIfNoEntry: false })?.size ?? 0;
  const submitted: Submitted[] = [];
  const answers: Answered[] = [];

  const cancel = async (target: Submitted): Promise<void> => {
    // Detached: runs that events of the run have started end too, so the whole tree can be checked.
    const answer = await gateway.call('POST', `/job/${target.id}/cancel`, { detached: true }).catch(() => null);
    if (answer === null) return;
    const { status, body } = answer;
    const stands = String(body['job_status'] ?? body['status']);
    if (status !== 503) answers.push({ ...target, status, stands, atMs: Date.now() });
  };

  for (let cycle = 0; cycle < cycles; cycle++) {
    const before = written();
    for (let n = 0; n < submittedPerCycle; n++) submitted.push(await submit(gateway, random));
    const wanted = before + random.between(1, writtenMax);
    await until('plugins are at work', () => written() >= wanted);
    const recent = submitted.slice(-2 * submittedPerCycle);
    const targets = Array.from({ length: random.between(3, cancelledPerCycleMax) }, () => pick(random, recent));
    const cancels = targets.map(async target => {
      const moment = written() + random.between(0, 300);
      await until('the moment of the cancel', () => written() >= moment, 100).catch(() => {});
      await cancel(target);
    });
    if (random.between(1, 3) === 1) killHosts(gateway.pid);
    // Every other kill, on average, comes while cancels are under way.
    if (random.between(1, 2) === 1) await Promise.all(cancels);
    else await Promise.race(cancels);
    await gateway.kill9();
    await Promise.all(cancels);
    await gateway.start();
  }
  for (const deaf of submitted.filter(({ isDeaf }) => isDeaf)) await cancel(deaf);

  const lastMs = Date.now();
  const ended = await gateway.allSettled(submitted.map(({ id }) => id));
  const ends = new Map(ended.map(job => [job.job_id, job]));
  const stopped = new Set(answers.filter(({ status }) => status !== 409).map(({ id }) => id));
  const notes = readNotes(journal);
  // Not `hearing`: its process answers a cancel itself, and keeps running. Jobs inside runs have no processes.
  const processes = notes.filter(({ job }) => stopped.has(job) && ends.get(job)!.plugin !== 'hearing');
  const isGone = () => !processes.some(({ pid, ticks }) => isAlive(pid, ticks));
  await until('no process of what was cancelled is alive', isGone, Math.max(1_000, lastMs + aliveMsMax - Date.now()));

  const wrong: unknown[] = [];
  const entered = (job: string, sinceMs: number) => notes.filter(note => note.job === job && note.at > sinceMs);
  for (const answer of answers) {
    const { id, status, stands, isRun, atMs } = answer;
    const end = ends.get(id)!.status;
    if (status === 409 ? end !== stands : end !== 'cancelled' && !(status === 202 && !isRun && end === 'succeeded'))
      wrong.push({ ...answer, end });
    if (status === 409) continue;
    const jobs = isRun ? (await gateway.tree(id)).map(idOf) : [id];
    for (const job of jobs) {
      const late = entered(job, atMs);
      if (late.length > 0) wrong.push({ ...answer, job, late });
    }
  }
  const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
  console.log(
    `${submitted.length} jobs and runs; cancels answered 200: ${count(200)}, 202: ${count(202)}, 409: ${count(409)}`,
  );
  expect(wrong).toEqual([]);
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
});

async function submit(gateway: Gateway, random: Random): Promise<Submitted> {
  const wait = () => random.between(0, 150);
  const list = () => Array.from({ length: random.between(1, 8) }, wait);
  const isDeaf = random.between(1, 12) === 1;
  const payload = { wait: isDeaf ? deafMs : wait(), deaf: isDeaf };
  const told = { type: 'heard', payload: { wait: wait(), emit: [{ type: 'heard', payload: { wait: wait() } }] } };
  const works: readonly (() => Promise<string>)[] = [
    () => gateway.submit('threads/handle', payload),
    () => gateway.submit('threads/handle', { ...payload, times: random.between(1, 5) }),
    () => gateway.submit('together/handle', payload),
    () => gateway.submit('single/handle', payload),
    () => gateway.submit('program/handle', payload),
    () => gateway.submit('served/handle', payload),
    () => gateway.submit('hearing/handle', payload),
    () => gateway.run('line', { wait: wait() }),
    () => gateway.run('fan', { list: list() }),
    () => gateway.run('outer', { lists: [{ list: list() }, { list: list() }] }),
    () => gateway.run('source', { wait: wait(), emit: [told, told] }),
  ];
  const kind = random.between(0, works.length - 1);
  const isRun = kind >= 7;
  return { id: await works[kind]!(), isRun, isDeaf: isDeaf && !isRun };
}

function killHosts(service: number): void {
  for (const host of childrenOf(service)) {
    try {
      process.kill(host, 'SIGKILL');
    } catch {
      // The host has ended by itself.
    }
  }
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[random.between(0, list.length - 1)]!;
}

function readNotes(journal: string): Note[] {
  const lines = readFileSync(journal, 'utf8').split('\n').slice(0, -1);
  return lines.map(line => JSON.parse(line) as Note);
}

function isAlive(pid: number | undefined, ticks: string | undefined): boolean {
  return pid !== undefined && livingStat(pid)?.[19] === ticks;
}

function idOf({ job_id: id }: Job): string {
  return id;
}
