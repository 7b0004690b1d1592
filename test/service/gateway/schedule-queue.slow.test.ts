// `if_running: queue` (docs/schedules.md): an occurrence that comes due while the job before runs has a job of its own, which waits.
import { expect, onTestFinished, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { everythingToken, type Settings } from './configuration.ts';
import { type Answer, Gateway, type Job } from './gateway.ts';
import { worker } from './sources.ts';
import { until } from './until.ts';

const queueing = { every: '1s', if_running: 'queue' };
const settings: Settings = {
  plugins: { worker },
  pipelines: [{ name: 'one', steps: [{ id: 'only', uses: 'worker' }] }],
  schedules: [
    { id: 'job', plugin: 'worker', ...queueing, payload: { gate: 'job', name: 'job' } },
    { id: 'run', pipeline: 'one', ...queueing, payload: { gate: 'run', name: 'run' } },
  ],
};

async function start(): Promise<Gateway> {
  const gateway = new Gateway(settings);
  onTestFinished(() => gateway.discard());
  await gateway.start();
  return gateway;
}

type Firing = { readonly outcome: string; readonly job_id: string; readonly late_ms: number };
type Schedule = { readonly queued: number; readonly history: readonly Firing[] };
type Waiting = Job & { readonly waits_for: object; readonly run_at?: string };

async function show(gateway: Gateway, id: string): Promise<Schedule> {
  const { body } = await gateway.call('GET', `/schedule/${id}`);
  return body as unknown as Schedule;
}

/** The jobs of the schedule that wait, oldest first, once there are `count` of them; and the job that runs (`first`). */
async function queued(gateway: Gateway, id: string, count: number): Promise<{ first: string; waiting: string[] }> {
  return until(`${count} jobs of ${id} wait`, async () => {
    const { history } = await show(gateway, id);
    const of = (wanted: string) => history.filter(({ outcome }) => outcome === wanted).map(({ job_id }) => job_id);
    const [waiting, [first]] = [of('queued').toReversed(), of('running')];
    return first !== undefined && waiting.length >= count ? { first, waiting } : null;
  });
}

const stop = (gateway: Gateway, id: string): Promise<Answer> => gateway.call('POST', `/schedule/${id}/pause`, {});

for (const id of ['job', 'run'])
  test(`each occurrence has a job at its time, which says what it waits for (${id})`, async () => {
    const gateway = await start();
    const { first, waiting } = await queued(gateway, id, 3);
    const [second, third] = waiting as [string, string];
    const job = (await gateway.waiting(third, 'schedule_queue')) as unknown as Waiting;
    expect(job).toMatchObject({
      ...{ status: 'queued', started_at: null, submitted_by: `schedule:${id}` },
      schedule: { id, due_at: expect.any(String) },
      waits_for: { detail: `the job ${first} of the schedule ${id} has not ended; 1 job begins before this one` },
    });
    expect(job).not.toHaveProperty('run_at');
    expect(job.waits_for).not.toHaveProperty('until');
    const env = { HEADGATE_TOKEN: everythingToken };
    const { stdout } = await headgate(['job', 'why', second, '--url', gateway.url], { env });
    expect(stdout).toContain(
      ` waits in the queue of its schedule: the job ${first} of the schedule ${id} has not ended (since `,
    );
    // The job waits for another job, not for a time, so `run-now` and `reschedule` do not apply.
    const now = await gateway.call('POST', `/job/${second}/run-now`);
    expect(now.body).toMatchObject({ status: 'queued', rescheduled: false });
    const later = await gateway.call('POST', `/job/${second}/reschedule`, { delay: '1s' });
    expect([later.status, later.body['code']]).toEqual([409, 'not_waiting']);
    const queue = (await gateway.call('GET', '/analytics/queue')).body;
    expect(queue['scheduled_count']).toBeGreaterThanOrEqual(3);

    await stop(gateway, id);
    await gateway.kill9();
    await gateway.start();
    const kept = await queued(gateway, id, 3);
    expect([kept.first, ...kept.waiting.slice(0, 2)]).toEqual([first, second, third]);
    expect(await gateway.waiting(second, 'schedule_queue')).toMatchObject({
      waits_for: { detail: `the schedule ${id} is paused` },
    });
    expect((await gateway.call('POST', `/job/${second}/cancel`)).body).toMatchObject({ status: 'cancelled' });
    const before = (await show(gateway, id)).queued;
    expect(before).toBe(kept.waiting.length - 1);

    await gateway.call('POST', `/schedule/${id}/resume`, {});
    gateway.open(id);
    const all = [first, third, ...kept.waiting.slice(2)];
    await gateway.allSettled(all);
    expect((await gateway.settled(third)).status).toBe('succeeded');
    // Each job begins only after the one before has ended.
    const steps = gateway.journal().filter(({ name, what }) => name === id && (what === 'start' || what === 'end'));
    const order = steps.slice(steps.findIndex(({ what }) => what === 'end')).map(({ what }) => what);
    expect(order.every((what, at) => what === (at % 2 === 0 ? 'end' : 'start'))).toBe(true);
  });

test('the waiting jobs of a schedule that is removed or disabled are cancelled, also if that happens while the service is down', async () => {
  const gateway = await start();
  const { waiting: jobs } = await queued(gateway, 'job', 2);
  const { first: run, waiting: runs } = await queued(gateway, 'run', 2);
  const [job, other] = settings.schedules!;
  await gateway.reload({ ...settings, schedules: [other!] });
  for (const id of jobs)
    expect(await gateway.settled(id)).toMatchObject({
      status: 'cancelled',
      cancel: { by: 'schedule:job', reason: 'the schedule was removed' },
    });
  await gateway.kill9();
  gateway.write({ ...settings, schedules: [job!, { ...other!, enabled: false }] });
  await gateway.start();
  for (const id of runs)
    expect(await gateway.settled(id)).toMatchObject({
      status: 'cancelled',
      cancel: { by: 'schedule:run', reason: 'the schedule is disabled' },
    });
  gateway.open('run');
  expect((await gateway.settled(run)).status).toBe('succeeded');
  await until('no run waits', async () => (await show(gateway, 'run')).queued === 0);
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok' });
});
