// Flows of the screens for plugins, failures, events, schedules, logs and the vault.
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../service/gateway/gateway.ts';
import { worker } from '../../../service/gateway/sources.ts';
import { until } from '../../../service/gateway/until.ts';
import { type Locator, visit } from '../browser.ts';
import { greeter } from '../service.ts';

type Firing = { readonly outcome: string; readonly job_id: string };

/** `adminToken`: that of the vault, which has the secret `smtp-password`. */
export function operationFlows(gateway: Gateway, adminToken: () => string): void {
  test('run a plugin by the form that its schema makes', async () => {
    const page = await visit(gateway, { at: '#/plugins' });
    await page.getByRole('link', { name: 'greeter' }).first().click();
    await page.getByRole('heading', { name: 'greeter', level: 1 }).waitFor();
    const form = page.getByRole('form', { name: 'Run greeter handle' });
    await form.getByRole('button', { name: 'Run greeter handle' }).click();
    // The schema requires a name.
    await form
      .getByText(/required/i)
      .first()
      .waitFor();
    await form.getByLabel('name').fill('Grace');
    await form.getByLabel('times').fill('2');
    await form.getByText('When, and with which tags').click();
    await form.getByLabel('Expires').fill('5m');
    const submitted = page.waitForResponse(/[/]plugin[/]greeter[/]handle$/);
    await form.getByRole('button', { name: 'Run greeter handle' }).click();
    await page.getByText('hello Grace, hello Grace').waitFor();
    const { job_id: id } = await (await submitted).json();
    const { body } = await gateway.call('GET', `/job/${id}`);
    expect(Date.parse(String(body['expires_at'])) - Date.parse(String(body['created_at']))).toBe(300_000);
  });

  test('a reload is refused if it would hold queued jobs and that is not wanted', async () => {
    const own = await startGateway({ plugins: { greeter, worker } });
    // The pause keeps the job in the queue.
    await own.call('POST', '/control/plugin/worker/pause', {});
    await own.call('POST', '/plugin/worker/handle', {});
    own.write({ plugins: { greeter } });
    const page = await visit(own, { at: '#/config', expected: [/status of 409/] });
    await page.getByRole('button', { name: 'Reload…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reload the configuration' });
    await dialog.getByText('worker handle: 1').waitFor();
    await dialog.getByLabel('Refuse the reload').check();
    await dialog.getByRole('button', { name: 'Reload', exact: true }).click();
    await page.getByText(/it would hold 1 job of worker.handle/).waitFor();
    await dialog.getByLabel('Refuse the reload').uncheck();
    await dialog.getByRole('button', { name: 'Reload', exact: true }).click();
    await page.getByText(/^configuration reloaded.*held now: 1 job of worker.handle/).waitFor();
  });

  test('find a group of failures, search its logs, and rerun it', async () => {
    for (let n = 0; n < 4; n++)
      await gateway.finished('failing/handle', { message: `disk ${n} of the array is gone`, retry: false });
    const page = await visit(gateway, { at: '#/failures?plugin=failing' });
    const group = page.getByRole('listitem').filter({ hasText: 'disk # of the array is gone' });
    await group.getByRole('link', { name: 'Show the 4 jobs' }).waitFor();
    await group.getByRole('button', { name: 'Rerun' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('4 jobs match.').waitFor();
    await dialog.getByRole('button', { name: 'Rerun 4' }).click();
    await page.getByText('4 matched.').waitFor();
    // The new jobs fail alike, and join the group.
    await group.getByRole('link', { name: 'Show the 8 jobs' }).waitFor();
    await group.getByRole('link', { name: 'Search logs' }).click();
    await page.getByRole('heading', { name: 'Logs', level: 1 }).waitFor();
    await page.getByText('disk 3 of the array is gone').first().waitFor();
  });

  test('freeze the stream of events, and let it go on', async () => {
    const page = await visit(gateway, { at: '#/events?text=greeter' });
    const events = page.getByRole('list', { name: 'Events, newest first' });
    const completed = events.getByRole('listitem').filter({ hasText: 'job.completed' });
    // The first events show that the stream has begun.
    const heard = async () => {
      await gateway.finished('greeter/handle', { name: 'Ada' });
      return completed.count();
    };
    await expect.poll(heard, { interval: 300 }).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Freeze' }).click();
    await page.getByText('Frozen: no new events').waitFor();
    const before = await completed.count();
    await gateway.finished('greeter/handle', { name: 'Grace' });
    await page.getByRole('button', { name: /^Go on \(\d+ new\)$/ }).waitFor();
    expect(await completed.count()).toBe(before);
    await page.getByRole('button', { name: /^Go on/ }).click();
    await expect.poll(() => completed.count()).toBeGreaterThan(before);
  });

  test('the kinds of events filter those that were heard before, and an unknown kind in the URL is none', async () => {
    const page = await visit(gateway, { at: '#/events?types=job.failed' });
    await page.getByText('As they happen', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'all', exact: true }).getAttribute('aria-pressed')).toBe('true');
    const events = page.getByRole('list', { name: 'Events, newest first' });
    const heard = async () => {
      await gateway.finished('greeter/handle', { name: 'Ada' });
      return events.getByRole('listitem').filter({ hasText: 'job.completed' }).count();
    };
    await expect.poll(heard, { interval: 300 }).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Freeze' }).click();
    await page.getByText('Frozen: no new events').waitFor();
    await page.getByRole('button', { name: 'schedule', exact: true }).click();
    await page.getByText('No event matches').waitFor();
    await page.getByRole('button', { name: 'job', exact: true }).click();
    await events.getByRole('listitem').filter({ hasText: 'job.completed' }).first().waitFor();
  });

  test('run, pause and resume a schedule', async () => {
    const page = await visit(gateway, { at: '#/schedules' });
    await page.getByRole('button', { name: 'Run nightly now' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Pause nightly' }).click();
    await page.getByRole('dialog', { name: 'Pause nightly' }).getByLabel('Reason').fill('holidays');
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume nightly' }).click();
    await page.getByRole('button', { name: 'Pause nightly' }).waitFor();
    const { body } = await gateway.call('GET', '/schedule/nightly');
    expect(body).toMatchObject({ id: 'nightly', history: [{ job_id: expect.any(String) }] });
  });

  test('a job in the queue of its schedule leads to the job that it waits for, and to the schedule', async () => {
    const every = { every: '1s', if_running: 'queue', plugin: 'worker', payload: { gate: 'never opened' } };
    const own = await startGateway({ plugins: { worker }, schedules: [{ id: 'busy', ...every }] });
    const ids = await until('a job waits for the one before it', async () => {
      const { history } = (await own.call('GET', '/schedule/busy')).body as { history: Firing[] };
      const of = (wanted: string) => history.findLast(({ outcome }) => outcome === wanted)?.job_id;
      const [running, queued] = [of('running'), of('queued')];
      return running !== undefined && queued !== undefined ? { running, queued } : null;
    });
    await own.waiting(ids.queued, 'schedule_queue');
    const page = await visit(own, { at: `#/job/${ids.queued}` });
    const notice = page.getByText('Waits in the queue of its schedule').locator('..');
    await notice.getByTitle(ids.running, { exact: true }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'busy', exact: true }).click();
    await page.getByRole('heading', { name: 'busy', level: 1 }).waitFor();
    await page.getByText(/\d+ waiting/).waitFor();
  });

  test('a step of the stopwatch without samples says so, and what to do', async () => {
    const at = '#/stopwatch/greeter?from=2020-01-01T00:00:00Z&to=2020-01-01T01:00:00Z';
    const page = await visit(gateway, { at });
    await page.getByText('No job of it ran in this window').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'greeter', exact: true }).click();
    await page.getByRole('heading', { name: 'greeter', level: 1 }).waitFor();
  });

  test('two windows of the stopwatch are compared, by times that somebody enters', async () => {
    const page = await visit(gateway, { at: '#/stopwatch/greeter' });
    await page.getByLabel('Against', { exact: true }).selectOption('other times');
    await page.getByLabel('Against from').fill('2020-01-01T02:00');
    await page.getByLabel('Against to').fill('2020-01-01T01:00');
    const show = page.getByRole('button', { name: 'Show', exact: true });
    expect(await show.isDisabled()).toBe(true);
    await page.getByLabel('Against from').fill('2020-01-01T00:00');
    await show.click();
    await page.getByText(/^2020-01-01 00:00 to 01:00 → /).waitFor();
    await page.getByLabel('Window', { exact: true }).selectOption('other times');
    await page.getByLabel('From', { exact: true }).fill('2020-01-02T00:00');
    await page.getByLabel('To', { exact: true }).fill('2020-01-02T01:00');
    await show.first().click();
    await page.getByText('2020-01-01 00:00 to 01:00 → 2020-01-02 00:00 to 01:00').waitFor();
  });

  test('the counts of a pipeline lead to the runs that they count', async () => {
    const own = await startGateway({ plugins: { worker }, pipelines: [{ name: 'slow', steps: [{ uses: 'worker' }] }] });
    const call = async (more: object) => {
      const { body } = await own.call('POST', '/pipeline/slow?async=true', { payload: { gate: 'never' }, ...more });
      return String(body['job_id']);
    };
    expect((await own.settled(await call({ deadline: '100ms' }))).status).toBe('timed_out');
    const queued = await call({ delay: '1h' });
    const page = await visit(own, { at: '#/pipelines' });
    const link = (place: Locator, to: string) => place.locator(`a[href="#/${to}"]`).filter({ hasText: /^1$/ });
    const [failed, waits] = [
      'failures?plugin=pipeline&command=slow',
      'jobs?plugin=pipeline&command=slow&status=queued',
    ];
    const row = page.getByRole('table', { name: 'Pipelines' });
    await link(row, failed).click();
    await page.getByRole('link', { name: 'Show the 1 job', exact: true }).waitFor();
    await page.goBack();
    await link(row, waits).click();
    await page.getByRole('table', { name: 'Jobs' }).getByTitle(queued, { exact: true }).waitFor();
    await page.goto(`${own.url}/ui#/pipeline/slow`);
    for (const to of [failed, waits]) await link(page.getByRole('main'), to).waitFor();
  });

  test('a pipeline is drawn with the counts of its newest run', async () => {
    const { job_id: newest } = await gateway.ran('send-parcels', { count: 2 });
    const page = await visit(gateway, { at: '#/pipelines' });
    await page.getByRole('link', { name: 'send-parcels' }).first().click();
    await page.getByRole('heading', { name: 'send-parcels', level: 1 }).waitFor();
    await page.getByText('parcels.price').first().waitFor();
    await page.getByText('parcels.label').first().waitFor();
    const steps = page.getByRole('main');
    await steps.getByTitle(newest, { exact: true }).first().waitFor();
    // Both parcels have a price, and one of them no carrier.
    await steps
      .getByText(/\b2 succeeded/)
      .first()
      .waitFor();
    await steps
      .getByText(/\b1 failed/)
      .first()
      .waitFor();
  });

  test('the vault shows names and ages to its admin token, never a value, and keeps the token in memory alone', async () => {
    const page = await visit(gateway, { at: '#/vault' });
    await page.getByLabel('Admin token of the vault').fill(adminToken());
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('table', { name: 'Secrets' }).getByText('smtp-password').waitFor();
    expect(await page.content()).not.toContain('correct horse battery');
    const stored = await page.evaluate('JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])');
    expect(stored).not.toContain(adminToken());
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await page.getByRole('table', { name: 'Secrets' }).waitFor({ state: 'detached' });
  });
}
