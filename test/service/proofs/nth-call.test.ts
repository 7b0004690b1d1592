// The n-th system call that writes the ledger fails, or the service is killed at it: nothing uncommitted is acknowledged, nothing hangs, and
// the next start goes on from what is on disk.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countOf } from '../../support/deep.ts';
import { type Answer, type Ended, Gateway } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { Judge } from './power-cuts/judges.ts';
import { hasStrace, ledgerFiles, readCalls } from './strace.ts';
import { callOnce, workload } from './workload.ts';

/** Every n-th call is tried, where n is this number: with 1, each call with each fault; otherwise each tried call with one fault, by turns. */
const step = countOf({ deep: 4, quick: 20 });
const rounds = 3;
/** The time for an answer, and for the end of a service that cannot go on. */
const hangMsMax = 60_000;
/** The time for a job to end, including retries, pauses and a busy machine. */
const endMsMax = 120_000;
/** With this number, the fault never strikes: no trial makes so many calls. */
const never = 65_535;

const writingCalls = ['writev', 'pwrite64', 'fdatasync', 'write', 'fsync', 'rename'] as const;
const faults = ['error=EIO', 'error=ENOSPC', 'signal=KILL'] as const;
type Trial = { readonly name: string; readonly nth: number; readonly fault: string };

const gateway = new Gateway({ ...workload, service: { max_workers: 1 } });
const judge = new Judge();
const scratch = mkdtempSync(join(tmpdir(), 'headgate-calls-'));
const accepted = new Set<string>();
const ended = new Map<string, string>();

describe.skipIf(!hasStrace)('a call of the system', { timeout: 3_600_000 }, () => {
  let trials: readonly Trial[] = [];
  beforeAll(async () => {
    trials = await allTrials();
  });
  afterAll(async () => {
    judge.close();
    rmSync(scratch, { recursive: true });
    await gateway.discard();
  });

  test(`that fails or is the last, one of ${step}, leaves no answer without its commit, and no hang`, async () => {
    const tried = trials.filter((_, place) => place % (step === 1 ? 1 : faults.length * step) === 0);
    expect(tried.length).toBeGreaterThan(2);
    const wrong: string[] = [];
    const ends: { [end: string]: number } = {};
    for (const trial of tried) {
      const { problems, end } = await hold(trial);
      ends[`${trial.fault}: ${end}`] = (ends[`${trial.fault}: ${end}`] ?? 0) + 1;
      wrong.push(...problems.map(what => `${trial.name} ${trial.nth} ${trial.fault}: ${what}`));
    }
    console.log(`${tried.length} of ${trials.length} calls: ${JSON.stringify(ends)}; ${accepted.size} jobs accepted`);
    expect(wrong).toEqual([]);

    gateway.launch({});
    await gateway.start();
    for (const id of accepted) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded' });
    expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });
  });
});

/** Every call of an undisturbed service, with every fault. The order of the faults changes from call to call. */
async function allTrials(): Promise<readonly Trial[]> {
  const file = launchWith({ name: 'fdatasync', nth: never, fault: 'error=EIO' });
  await gateway.start();
  for (let round = 0; round < rounds; round++) for (const id of await callOnce(gateway, round)) accepted.add(id);
  await gateway.kill9();
  const calls = readCalls(readFileSync(file, 'latin1')).filter(({ result }) => result === null);
  const counted = writingCalls.flatMap(name => {
    const counts = new Map<number, number>();
    for (const { thread } of calls.filter(call => call.name === name))
      counts.set(thread, (counts.get(thread) ?? 0) + 1);
    return Array.from({ length: Math.max(...counts.values()) }, (_, n) => ({ name, nth: n + 1 }));
  });
  return counted.flatMap((call, n) => faults.map((_, place) => ({ ...call, fault: faults[(n + place) % 3]! })));
}

/** Has the next start run with this fault; returns the file to which strace writes the calls. */
function launchWith({ name, nth, fault }: Trial): string {
  const file = join(scratch, 'calls');
  const ledger = ledgerFiles(join(gateway.directory, 'data'));
  const traced = ['-e', `trace=${writingCalls}`, '-e', `inject=${name}:${fault}:when=${nth}`];
  // With a seccomp filter, strace loses injected signals.
  const filter = fault.startsWith('signal') ? [] : ['--seccomp-bpf'];
  gateway.launch({ through: ['strace', '-D', '-f', '-qq', ...filter, '-o', file, ...ledger, ...traced] });
  return file;
}

/** Runs a trial; returns what was wrong with the service, and how it ended. */
async function hold(trial: Trial): Promise<{ readonly problems: string[]; readonly end: string }> {
  launchWith(trial);
  const problems: string[] = [];
  const isUp = await gateway.start().then(
    () => true,
    () => false,
  );
  const isGone = isUp && (await callUntilGone(problems));
  const end = isUp && !isGone ? null : await within('the end of the service', gateway.ended);
  if (end === null) await gateway.kill9();
  else if (!isAllowed(end, trial)) problems.push(`it ended with ${endText(end)}: ${gateway.stderr.slice(-500)}`);
  const wrong = await judge.judge({
    state: join(gateway.directory, 'data'),
    accepted: [...accepted],
    ended: [...ended],
    hasVault: false,
  });
  return { problems: [...problems, ...wrong], end: end === null ? 'went on' : endText(end) };
}

/** Whether the service may end so. If LMDB cannot write a page, lmdb-js 3.5.6 overruns the buffer of its message, so that the process aborts. */
function isAllowed({ status, signal }: Ended, { name, fault }: Trial): boolean {
  if (fault.startsWith('signal')) return signal === 'SIGKILL';
  return status === 74 || ((signal === 'SIGABRT' || signal === 'SIGSEGV') && name !== 'fdatasync');
}

function endText({ status, signal }: Ended): string {
  return signal ?? `exit ${status}`;
}

/** Makes all calls, and reads how their jobs end. Returns whether the service was gone before. */
async function callUntilGone(problems: string[]): Promise<boolean> {
  try {
    for (let round = 0; round < rounds; round++) {
      const answers = await Promise.all(
        ['plugin/echo/handle', 'plugin/flaky/handle', 'plugin/counting/handle', 'pipeline/wide?async=true'].map(path =>
          within(path, gateway.call('POST', `/${path}`, { payload: { round, list: [1, 2] } })),
        ),
      );
      for (const answer of answers) await follow(answer, problems);
    }
    return false;
  } catch (error) {
    // The service is gone, or an answer broke off with it.
    if (error instanceof TypeError) return true;
    problems.push((error as Error).message);
    return false;
  }
}

async function follow({ status, headers, body }: Answer, problems: string[]): Promise<void> {
  if (status === 503 && Number(headers.get('retry-after')) > 0) return;
  if (status !== 202) {
    problems.push(`answered ${status}: ${JSON.stringify(body)}`);
    return;
  }
  const id = String(body['job_id']);
  accepted.add(id);
  const end = await until(`the end of job ${id}`, () => endOf(id, problems), endMsMax);
  if (end !== 'unreadable') ended.set(id, end);
}

/** The final status of the job. Null: the job has not ended, or cannot be read at the moment. */
async function endOf(id: string, problems: string[]): Promise<string | null> {
  const { status, headers, body } = await within(`job ${id}`, gateway.call('GET', `/job/${id}`));
  if (status === 503 && Number(headers.get('retry-after')) > 0) return null;
  if (status === 200) return body['completed_at'] === null ? null : String(body['status']);
  problems.push(`job ${id}: answered ${status}: ${JSON.stringify(body)}`);
  return 'unreadable';
}

/** Rejects if the promise takes longer than `hangMsMax`. */
async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  let late: NodeJS.Timeout | undefined;
  const hang = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(`${what}: not within ${hangMsMax} ms`)), hangMsMax);
  });
  return Promise.race([promise, hang]).finally(() => clearTimeout(late));
}
