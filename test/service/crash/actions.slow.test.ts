// kill -9 in the midst of actions over many jobs: they go on by themselves, and touch each job exactly once.
import { expect, onTestFinished, test } from 'vitest';
import { attemptsOf } from '../../../actors/job/records/attempts.ts';
import { decodeBlock } from '../../../actors/job/records/block.ts';
import { formatId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { countOf, cyclesOf } from '../../support/deep.ts';
import { Gateway } from '../gateway/gateway.ts';
import { tamper } from '../gateway/tamper.ts';
import { until } from '../gateway/until.ts';

const jobs = countOf({ deep: 100_000, quick: 1_000 });
const kills = cyclesOf({ deep: 3, quick: 1 });
/** The rate of an action: slow enough that a kill comes before its end. */
const perSecond = jobs / 4;
/** Jobs of one run: fewer than a run may have unsettled at a time. */
const runJobs = Math.min(jobs, 10_000);
/** Jobs of `quiet` end at once, those of `patient` wait for years after each attempt, and those of `held` are paused. */
const plugins = {
  quiet: 'export const handle = () => ({});',
  patient: `export const handle = () => ({ status: 'error', error: 'not yet' });`,
  held: 'export const handle = () => ({});',
};
const named = Object.keys(plugins) as (keyof typeof plugins)[];
const settings = {
  plugins,
  // The backoff is random up to this bound; with a lower bound, one of so many jobs could be due in seconds.
  instances: { patient: { retry: { max_attempts: 9, backoff_base: '3650d', backoff_max: '3650d' } } },
  pipelines: named.map(name => ({
    name,
    steps: [{ id: 'each', uses: name, foreach: 'payload.list', on_error: 'continue' }],
  })),
  service: { log_level: 'info' },
};
const metByKill = 'failed: the service ended while the job ran';
const deeds = [
  { do: 'rerun', of: 'quiet' },
  { do: 'run_now', of: 'patient' },
  { do: 'cancel', of: 'held' },
] as const;

test(`a rerun, a run-now and a cancel of ${jobs} jobs, killed on the way, touch each exactly once`, {
  timeout: 600_000,
}, async () => {
  const gateway = new Gateway(settings);
  onTestFinished(() => gateway.discard());
  await gateway.start();
  const read = async (path: string) => (await gateway.call('GET', path)).body;
  await gateway.call('POST', '/control/plugin/held/pause', {});
  const runs: string[] = [];
  for (const name of named) {
    for (let first = 0; first < jobs; first += runJobs)
      runs.push(await gateway.run(name, { list: Array(runJobs).fill(0) }));
  }
  const areReady = async () => {
    const { delayed_count: delayed, paused_count: paused, queue_depth: due } = await read('/analytics/queue');
    return delayed === jobs && paused === jobs && due === 0;
  };
  await until('all jobs wait or have ended', areReady, 300_000);
  await gateway.allSettled(runs.slice(0, jobs / runJobs));

  for (const { do: deed, of } of deeds) {
    const where = { plugin: of, children: true };
    const { status, body } = await gateway.call('POST', '/actions', { do: deed, where, per_second: perSecond });
    expect([deed, status, body['matched']]).toEqual([deed, 202, jobs]);
    const path = `/action/${body['action_id']}`;
    const done = async () => Number((await read(path))['done']);
    for (let kill = 1; kill <= kills; kill++) {
      const before = await until(`kill ${kill}`, async () => {
        const now = await done();
        return now >= (jobs * kill) / (kills + 2) && now;
      });
      expect(before).toBeLessThan(jobs);
      await gateway.restart();
    }
    await until(`the ${deed} has ended`, async () => (await read(path))['state'] !== 'running', 120_000);
    expect(await read(path)).toMatchObject({ state: 'succeeded', matched: jobs, done: jobs, skipped: {}, failed: 0 });
  }
  // Each job that was made due has run once more, failed, and waits again.
  const areThrough = async () => {
    const { delayed_count: delayed, waiting_count: waiting, queue_depth: due } = await read('/analytics/queue');
    return delayed === jobs && waiting === 0 && due === 0;
  };
  await until('what they started has run', areThrough, 120_000);
  expect(await read('/system/selfcheck')).toMatchObject({ status: 'ok' });
  await gateway.term();
  tamper(gateway, (_, reader) => {
    const reruns = Array.from(reader.keys('reruns', {}), key => formatId(Buffer.from(key.subarray(0, 16))));
    expect([reruns.length, new Set(reruns).size]).toEqual([jobs, jobs]);
    expect(attemptsIn(reader, 'quiet')).toEqual(Array(2 * jobs).fill('succeeded'));
    expect(attemptsIn(reader, 'patient')).toEqual(Array(jobs).fill('failed: not yet, failed: not yet'));
    expect(attemptsIn(reader, 'held')).toEqual(Array(jobs).fill('cancelled: cancelled by api:test'));
    expect(reader.count('actions')).toBe(0);
  });
});

/** How the attempts of each job of the plugin ended, without those that a kill ended: these are repeated at once. */
function attemptsIn(reader: Reader, plugin: string): string[] {
  const jobsOfPlugin: string[] = [];
  for (const { key, value } of reader.scan('blocks', {})) {
    const block = decodeBlock(value);
    if (block.plugin !== plugin) continue;
    const ends = Array.from({ length: block.count }, (): string[] => []);
    for (const { index, attempt } of attemptsOf(reader, Buffer.from(key), 0, block.count))
      ends[index]!.push([attempt.status, attempt.text('error')].filter(text => text !== null).join(': '));
    jobsOfPlugin.push(...ends.map(each => each.filter(end => end !== metByKill).join(', ')));
  }
  return jobsOfPlugin;
}
