// Power cuts: whatever a cut at any write leaves of the disk, the state opens, has each acknowledged job, and keeps each end that was read.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { send, sign } from '../../feature/webhooks/sender.ts';
import { countOf, cyclesOf, isDeep } from '../../support/deep.ts';
import { seededRandom } from '../crash/random.ts';
import { Gateway } from '../gateway/gateway.ts';
import { Judge } from './power-cuts/judges.ts';
import { type IgnoredSyncs, Replay, tracedCalls, vaultIsMade, writableMaps } from './power-cuts/replay.ts';
import { type Call, hasStrace, readCalls } from './strace.ts';
import { callOnce, workload } from './workload.ts';

const images = countOf({ deep: 2000, quick: 20 });
/** On every n-th image, where n is this number, a service is started, and has to run all jobs to their end. */
const startedEvery = cyclesOf({ deep: 50, quick: 20 });
const rounds = cyclesOf({ deep: 25, quick: 4 });
/** How likely a cut keeps a sector that was not synced. */
const chances = [0, 0.1, 0.5, 0.9, 1];

const key = 'a-key-of-the-cuts';
const told = { plugin: 'echo', secret_ref: 'told', signature_header: 'X-Signature' };
const settings = {
  ...workload,
  webhooks: { endpoints: [{ name: 'told', path: '/webhook/told', ...told }] },
  tokens: [{ name: 'told', key }],
};
const gateway = new Gateway(settings);
const judge = new Judge();
const random = seededRandom();
const scratch = mkdtempSync(join(tmpdir(), 'headgate-cuts-'));
let calls: readonly Call[] = [];

describe.skipIf(!hasStrace)('a cut of the power', { timeout: 3_600_000 }, () => {
  beforeAll(async () => {
    calls = await record();
  });
  afterAll(async () => {
    judge.close();
    rmSync(scratch, { recursive: true });
    await gateway.discard();
  });

  test('nothing but the lock of the store is written through memory', () => {
    const written = writableMaps(calls).filter(path => path.startsWith(gateway.directory));
    expect(written.filter(path => !path.endsWith('/lock.mdb'))).toEqual([]);
  });

  test(`at ${images} moments loses nothing that was answered, and changes no end that was read`, async () => {
    const wrong: string[] = [];
    let accepted = 0;
    await cut({ images, ignoresSyncs: () => false }, async ({ state, told, moment, number }) => {
      accepted = told.accepted.size;
      const found = await judge.judge({
        state,
        accepted: [...told.accepted],
        ended: [...told.ended],
        hasVault: told.hasVault,
      });
      wrong.push(...found.map(what => `${moment}: ${what}`));
      if (number % startedEvery === 0)
        wrong.push(...(await startedFrom(state, told)).map(what => `${moment}: ${what}`));
    });
    expect(wrong.slice(0, 20)).toEqual([]);
    // Each round has four calls and one delivery, with a job each.
    expect(accepted).toBeGreaterThanOrEqual(5 * rounds);
  });

  test.each<[string, IgnoredSyncs]>([
    [' of the log alone', path => /\/log\/\d+\.log$/.test(path)],
    ...(isDeep ? [['', () => true] satisfies [string, IgnoredSyncs]] : []),
  ])('loses what was answered where the disk ignores syncs%s: the proof sees it', async (_, ignoresSyncs) => {
    let lost = 0;
    await cut({ images: Math.min(images, 50), ignoresSyncs }, async ({ state, told }) => {
      if (told.accepted.size === 0) return;
      const found = await judge.judge({
        state,
        accepted: [...told.accepted],
        ended: [...told.ended],
        hasVault: told.hasVault,
      });
      if (found.length > 0) lost++;
    });
    expect(lost).toBeGreaterThan(Math.min(images, 50) / 4);
  });
});

/**
 * Returns the system calls, recorded by strace, of `vault init`, then of a service that gets calls and deliveries and is killed, then of
 * `vault rotate-key`.
 */
async function record(): Promise<readonly Call[]> {
  const file = join(scratch, 'calls');
  const words = ['-f', '-qq', '--seccomp-bpf', '-y', '-xx', '-s', String(2 ** 24), '-o', file];
  const traced = ['strace', ...words, '-e', `trace=${tracedCalls}`];
  const calls = (): Call[] => readCalls(readFileSync(file, 'latin1'));
  const vault = (command: string): Call[] => {
    const headgate = [process.execPath, 'dist/cli/main.js', 'vault', command, '--config', gateway.directory];
    execFileSync(traced[0]!, [...traced.slice(1), ...headgate], { stdio: 'ignore' });
    return calls();
  };
  const made = vault('init');
  gateway.launch({ through: [...traced, '-D'] });
  await gateway.start();
  for (let round = 0; round < rounds; round++) {
    await callOnce(gateway, round);
    await deliver(round);
  }
  await callOnce(gateway, rounds, false);
  await gateway.kill9();
  return [...made, vaultIsMade, ...calls(), ...vault('rotate-key')];
}

/** Delivers a webhook; the replay finds its job in the response. */
async function deliver(round: number): Promise<void> {
  const body = JSON.stringify({ round });
  const { status } = await send(gateway, '/webhook/told', body, { 'X-Signature': sign(key, body) });
  expect(status).toBe(202);
}

type Cut = {
  readonly state: string;
  readonly told: Replay['told'];
  readonly moment: string;
  readonly number: number;
};

/** Cuts the power this often, at moments that are spread over all changes of the disk. */
async function cut(
  { images, ignoresSyncs }: { readonly images: number; readonly ignoresSyncs: IgnoredSyncs },
  look: (cut: Cut) => Promise<void>,
): Promise<void> {
  const measured = new Replay(gateway.directory, ignoresSyncs);
  const changes = calls.filter(call => measured.play(call)).length;
  const replay = new Replay(gateway.directory, ignoresSyncs);
  let change = 0;
  let number = 0;
  for (const [place, call] of calls.entries()) {
    if (!replay.play(call)) continue;
    change++;
    for (; number < images && (number + 1) * changes <= change * images; number++) {
      const directory = join(scratch, `image-${number}`);
      const keeps = chances[random.between(0, chances.length - 1)]!;
      replay.disk.writeImage(directory, random, keeps);
      const moment = `cut ${number + 1} behind call ${place} (${call.name}), keeping ${keeps} of what was not synced`;
      await look({ state: join(directory, 'data'), told: replay.told, moment, number: number + 1 });
      rmSync(directory, { recursive: true });
    }
  }
  expect(number).toBe(images);
}

/** Starts a service on this state, which has to end all accepted jobs; returns what is wrong with them. */
async function startedFrom(state: string, { accepted, ended }: Replay['told']): Promise<string[]> {
  const started = new Gateway({ ...settings, state: { path: state } });
  onTestFinished(() => started.discard());
  await started.start();
  const wrong: string[] = [];
  for (const id of accepted) {
    const { status } = await started.settled(id);
    if (status !== (ended.get(id) ?? 'succeeded')) wrong.push(`job ${id} ended as ${status}`);
  }
  const { body } = await started.call('GET', '/system/selfcheck');
  wrong.push(...(body['failures'] as object[]).map(failure => JSON.stringify(failure)));
  await started.kill9();
  return wrong;
}
