// The clock of the machine is set by hours, back and forth, while jobs wait, run, fail, wait for their next attempt and are joined:
// nothing stands still, nothing is pruned, and each schedule holds.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { cyclesOf } from '../../support/deep.ts';
import { seededRandom } from '../crash/random.ts';
import type { Settings } from '../gateway/configuration.ts';
import { Gateway } from '../gateway/gateway.ts';
import { echo, failing, worker } from '../gateway/sources.ts';
import { until } from '../gateway/until.ts';
import { workload } from './workload.ts';

const steps = cyclesOf({ deep: 60, quick: 6 });
const hourMs = 3_600_000;
/** The clock stays within this span, which is shorter than the age at which jobs are pruned. */
const hoursMax = 20;
/** How long a job may take to end; jobs wait for their next attempt at most 20 ms. */
const endMsMax = 20_000;
const preload = fileURLToPath(new URL('./clock.cjs', import.meta.url));

/** A service whose clock the test sets, by hours from the real time. */
function withClock(settings: Settings) {
  const gateway = new Gateway(settings);
  onTestFinished(() => gateway.discard());
  const file = join(gateway.directory, 'clock');
  const set = (hours: number): void => {
    writeFileSync(`${file}.new`, String(hours * hourMs));
    renameSync(`${file}.new`, file);
  };
  set(0);
  gateway.launch({ environment: { NODE_OPTIONS: `--require ${preload}`, CLOCK_PATH: file } });
  return { gateway, set };
}

test('what is due by the new time happens at once, although nothing else wakes the service', async () => {
  const { gateway, set } = withClock({ plugins: workload.plugins });
  await gateway.start();
  await gateway.call('POST', '/control/plugin/echo/pause', { for: '1h' });
  const id = await gateway.submit('echo/handle');
  await gateway.waiting(id, 'paused');
  set(2);
  expect((await gateway.settled(id, endMsMax)).status).toBe('succeeded');
});

test('the uptime does not follow the clock', async () => {
  const { gateway, set } = withClock({ plugins: workload.plugins });
  await gateway.start();
  set(2);
  await until('the service sees the new time', async () => {
    const { body } = await gateway.call('GET', '/system/doctor');
    return JSON.stringify(body).includes('the clock has jumped');
  });
  expect(Number((await gateway.call('GET', '/healthz')).body['uptime_seconds'])).toBeLessThan(hourMs / 1000);
});

/** A service whose ledger is two hours ahead of the clock, which was set back. */
async function startAhead(): Promise<Gateway> {
  const { gateway, set } = withClock({ plugins: workload.plugins });
  await gateway.start();
  set(2);
  // The ledger has seen the new time.
  await until('the job of the new time', async () => {
    const { created_at } = await gateway.job(await gateway.submit('echo/handle'));
    return Date.parse(created_at) - Date.now() > hourMs;
  });
  set(0);
  return gateway;
}

test('a pause for a time holds while the ledger is ahead of a clock that was set back', async () => {
  const gateway = await startAhead();
  const { body } = await gateway.call('POST', '/control/plugin/echo/pause', { for: '30m' });
  expect(Date.parse(String(body['until'])) - Date.parse(String(body['since']))).toBe(hourMs / 2);
  await gateway.waiting(await gateway.submit('echo/handle'), 'paused');
});

test('a pause until a time holds while the ledger is ahead, and ends when the clock has reached the time', async () => {
  const gateway = await startAhead();
  const pause = async (ms: number) => {
    const { body } = await gateway.call('POST', '/control/plugin/echo/pause', {
      until: new Date(Date.now() + ms).toISOString(),
    });
    return Date.parse(String(body['until'])) - Date.parse(String(body['since']));
  };
  // The time of the ledger runs at half speed.
  expect(await pause(hourMs)).toBeGreaterThan(0.4 * hourMs);
  const id = await gateway.submit('echo/handle');
  await gateway.waiting(id, 'paused');
  const lastsMs = await pause(5_000);
  expect(lastsMs).toBeGreaterThan(0);
  expect(lastsMs).toBeLessThanOrEqual(2_501);
  expect((await gateway.settled(id, endMsMax)).status).toBe('succeeded');
});

test('a pause until a time, begun while the ledger was ahead, ends at that time after a restart, too', async () => {
  const gateway = await startAhead();
  const until = new Date(Date.now() + hourMs).toISOString();
  await gateway.call('POST', '/control/plugin/echo/pause', { until });
  await gateway.kill9();
  await gateway.start();
  const { body } = await gateway.call('GET', '/pauses');
  const [{ until: end }] = body['pauses'] as [{ until: string }];
  expect(Date.parse(end)).toBe(Date.parse(until));
});

test('a breaker, and a pause for a time, wait no longer than that when the clock was set back before a start', async () => {
  const { gateway, set } = withClock({
    plugins: { echo, failing },
    instances: { failing: { retry: { max_attempts: 1 }, breaker: { failures: 1, of: 1, for: '1s' } } },
  });
  set(2);
  await gateway.start();
  await gateway.settled(await gateway.submit('failing/handle'));
  await gateway.call('POST', '/control/plugin/echo/pause', { for: '5s' });
  const id = await gateway.submit('echo/handle');
  await gateway.waiting(id, 'paused');
  await gateway.kill9();
  set(0);
  await gateway.start();
  expect((await gateway.settled(await gateway.submit('failing/handle'), endMsMax)).status).toBe('failed');
  expect((await gateway.settled(id, endMsMax)).status).toBe('succeeded');
});

test(`${steps} steps of the clock hold nothing up, and lose nothing`, { timeout: 600_000 }, async () => {
  const random = seededRandom();
  const { gateway, set } = withClock({
    ...workload,
    plugins: { ...workload.plugins, worker },
    state: { retention: { jobs: '1d' } },
  });
  await gateway.start();

  const ids: string[] = [];
  let isOver = false;
  const load = Array.from({ length: 3 }, async () => {
    while (!isOver) {
      const id = await gateway.submit('flaky/handle');
      ids.push(id, await gateway.run('wide', { list: [1, 2, 3] }));
      await gateway.settled(id, endMsMax);
    }
  });
  let created = 0;
  for (let step = 0; step < steps; step++) {
    const name = `step ${step}`;
    // One job runs when the clock is set, one waits behind it.
    ids.push(await gateway.submit('worker/handle', { gate: step, name }), await gateway.submit('echo/handle'));
    await until(`${name} has begun`, () => gateway.journal().some(note => note.name === name));
    const hours = random.between(-hoursMax / 2, hoursMax / 2);
    set(hours);
    gateway.open(String(step));
    const ended = await gateway.settled(ids.at(-2)!, endMsMax);
    expect(ended.completed_at! >= ended.created_at, JSON.stringify(ended)).toBe(true);
    // Times of the ledger never go back.
    const createdMs = Date.parse((await gateway.job(await gateway.submit('echo/handle'))).created_at);
    expect(createdMs).toBeGreaterThanOrEqual(created);
    created = createdMs;
    // The service has seen the step.
    expect(createdMs - Date.now()).toBeGreaterThan((hours - 0.1) * hourMs);
    if (step % 3 === 2) await gateway.call('POST', '/system/reload');
  }
  isOver = true;
  await Promise.all(load);
  for (const id of ids) expect(await gateway.settled(id, endMsMax)).toMatchObject({ status: 'succeeded' });
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ failures: [] });

  // A start finds the clock far behind what is in the state.
  const held = await gateway.submit('flaky/handle');
  await gateway.kill9();
  set(-hoursMax);
  await gateway.start();
  ids.push(held, await gateway.submit('flaky/handle'), await gateway.run('wide', { list: [1] }));
  for (const id of ids) expect(await gateway.settled(id, endMsMax)).toMatchObject({ status: 'succeeded' });
});
