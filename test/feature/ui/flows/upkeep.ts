// Flows of those who run a service: backfill, delayed jobs, a cancel of many jobs, the vault, a reload.
import { expect, test } from 'vitest';
import type { Settings } from '../../../service/gateway/configuration.ts';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import type { VaultGateway } from '../../vault/service.ts';
import { type Route, visit } from '../browser.ts';
import { ObservedPage } from '../observed.ts';
import { drawn } from '../screens.ts';

const dayMs = 86_400_000;
/** The value of a time field; the pages of the tests are in UTC. */
const fieldTime = (ms: number) => new Date(ms).toISOString().slice(0, 16);

/** The schedule `daily` of the gateway fires at midnight; its settings are `settings`, which the last flow changes. */
export function upkeepFlows(gateway: Gateway, vault: () => VaultGateway, settings: Settings): void {
  test('backfill a schedule: nothing is fired before the occurrences are counted, and none twice', async () => {
    const page = await visit(gateway, { at: '#/schedules/daily' });
    const midnight = Math.floor(Date.now() / dayMs) * dayMs;
    const count = async () => {
      await page.getByRole('button', { name: 'Backfill daily' }).click();
      const dialog = page.getByRole('dialog', { name: 'Backfill daily' });
      await dialog.getByLabel('From').fill(fieldTime(midnight - 2.5 * dayMs));
      await dialog.getByLabel('To').fill(fieldTime(midnight + 60_000));
      expect(await dialog.getByRole('button', { name: 'Fire' }).isDisabled()).toBe(true);
      await dialog.getByRole('button', { name: 'Count them' }).click();
      return dialog;
    };
    const dialog = await count();
    await dialog.getByText('3 occurrences, 0 of them have fired.').waitFor();
    expect((await gateway.call('GET', '/jobs?plugin=echo')).body['total']).toBe(0);
    await dialog.getByLabel('Reason').fill('the days before the first start');
    await dialog.getByRole('button', { name: 'Fire 3' }).click();
    await page.getByText('3 occurrences between the two times.').waitFor();
    await page.getByRole('link', { name: 'Show the action' }).click();
    await page.getByRole('heading', { level: 1 }).filter({ hasText: 'backfill' }).waitFor();
    await page.getByText('3 done', { exact: true }).waitFor();
    expect((await gateway.call('GET', '/jobs?plugin=echo')).body['total']).toBe(3);
    await page.goBack();
    const again = await count();
    await again.getByText('3 occurrences, 3 of them have fired.').waitFor();
    expect(await again.getByRole('button', { name: 'Fire 0' }).isDisabled()).toBe(true);
    // A count whose answer arrives after the times were changed offers no button to fire.
    const held: Route[] = [];
    await page.route('**/backfill', route => void held.push(route));
    await again.getByRole('button', { name: 'Count them' }).click();
    await until('the count is under way', () => held.length === 1);
    await again.getByLabel('From').fill(fieldTime(midnight - 9.5 * dayMs));
    const answered = page.waitForEvent('requestfinished', request => request.url().endsWith('/backfill'));
    await held[0]!.fulfill({ json: { matched: 3, already_fired: 0 } });
    await answered;
    await page.evaluate(drawn);
    await again.getByText('Nothing is fired before they are counted.').waitFor();
    expect(await again.getByRole('button', { name: 'Fire' }).isDisabled()).toBe(true);
  });

  test('reschedule a delayed job, by a duration and by a time, and run it now', async () => {
    const { body } = await gateway.call('POST', '/plugin/greeter/handle', { payload: { name: 'Ada' }, delay: '10h' });
    const id = String(body['job_id']);
    const runsAt = async () => Date.parse(String((await gateway.call('GET', `/job/${id}`)).body['run_at']));
    const page = await visit(gateway, { at: `#/job/${id}`, expected: [/status of 400/] });
    await page.getByText('in 9 h').first().waitFor();
    await page.getByRole('button', { name: 'Reschedule' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reschedule greeter.handle' });
    const confirm = dialog.getByRole('button', { name: 'Reschedule' });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel('After').fill('soon');
    await confirm.click();
    await page.getByText('Reschedule greeter.handle:').waitFor();
    await dialog.getByLabel('After').fill('20h');
    const before = Date.now();
    await confirm.click();
    await page.getByText('It runs at').waitFor();
    await page.getByText('in 19 h').first().waitFor();
    expect(Math.abs((await runsAt()) - before - (20 * dayMs) / 24)).toBeLessThan(60_000);

    await page.getByRole('button', { name: 'Reschedule' }).click();
    const time = fieldTime(Date.now() + 5 * dayMs);
    await dialog.getByLabel('Or at').fill(time);
    await confirm.click();
    await page.getByText('in 4 d').first().waitFor();
    expect(await runsAt()).toBe(Date.parse(`${time}Z`));

    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByText('It is due.').waitFor();
    await page.getByRole('region', { name: 'Result' }).getByText('hello Ada').waitFor();
    expect(await page.getByRole('button', { name: 'Run now' }).count()).toBe(0);
  });

  test('cancel all jobs that match a filter: the dry run counts them and changes none, and no other job is touched', async () => {
    const tagged = async (text: string) => {
      const { body } = await gateway.call('POST', '/plugin/worker/handle', {
        payload: { gate: 'never opened' },
        tags: { load: text },
        delay: '1h',
      });
      return String(body['job_id']);
    };
    const wrong = [await tagged('wrong'), await tagged('wrong'), await tagged('wrong')];
    const right = await tagged('right');
    const statusOf = async (id: string) => (await gateway.job(id)).status;
    const page = await visit(gateway, { at: '#/jobs?status=queued&tag=load:wrong' });
    await page.getByText('3 jobs match').waitFor();
    await page.getByRole('button', { name: 'Cancel all' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel all that match?' });
    await dialog.getByText('Filter: status queued, tag load:wrong.').waitFor();
    await dialog.getByText('3 jobs match.').waitFor();
    for (const id of wrong) await dialog.getByTitle(id, { exact: true }).waitFor();
    for (const id of [...wrong, right]) expect(await statusOf(id)).toBe('queued');
    await dialog.getByRole('button', { name: 'Back' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await statusOf(wrong[0]!)).toBe('queued');

    await page.getByRole('button', { name: 'Cancel all' }).click();
    await dialog.getByLabel('Reason').fill('the wrong load');
    await dialog.getByRole('button', { name: 'Cancel 3' }).click();
    await page.getByText('3 matched.').waitFor();
    await page.getByText('No job matches').waitFor();
    for (const id of wrong) expect((await gateway.settled(id)).status).toBe('cancelled');
    expect(await statusOf(right)).toBe('queued');
    await page.goto(`${gateway.url}/ui#/job/${wrong[0]}`);
    await page.getByText('the wrong load').first().waitFor();
  });

  test('the vault is read when somebody asks for it, and never by itself', async () => {
    await vault().do('secret', { name: 'smtp-password', value: 'correct horse battery', authorized_principals: [] });
    const observed = await ObservedPage.open(gateway, { at: '#/vault' });
    const { page } = observed;
    const reads = async () => (await observed.asked()).filter(({ path }) => path.startsWith('/vault')).length;
    const audited = () =>
      vault()
        .trail()
        .filter(({ op }) => op === 'list').length;
    const open = async () => {
      await page.getByLabel('Admin token of the vault').fill(vault().adminToken);
      await page.getByRole('button', { name: 'Open' }).click();
      await page.getByRole('table', { name: 'Secrets' }).waitFor();
    };
    await open();
    await observed.stopClock();
    // None of this may read the vault again: time passes, secrets change, jobs end, and other screens are visited.
    await vault().do('secret', { name: 'another', value: 'battery staple', authorized_principals: [] });
    await gateway.finished('greeter/handle', { name: 'Ada' });
    await observed.pass(120_000);
    for (const at of ['#/now', '#/events', '#/config', '#/jobs']) {
      await observed.goTo(at);
      await gateway.finished('greeter/handle', { name: 'Ada' });
      await observed.pass(10_000);
    }
    await observed.goTo('#/vault');
    await observed.pass(10_000);
    expect([await reads(), audited()]).toEqual([1, 1]);
    // The page has forgotten the token on the way, so it asks for it again.
    await page.clock.resume();
    await open();
    await page.getByRole('button', { name: 'Read again' }).click();
    await expect.poll(reads).toBe(3);
    await expect.poll(audited).toBe(3);
  });

  test('reload the configuration: its errors forbid it, and jobs that it would hold are named before', async () => {
    const waiting = await gateway.call('POST', '/plugin/echo/say', { payload: {}, delay: '1h' });
    expect(waiting.status).toBe(202);
    const page = await visit(gateway, { at: '#/config' });
    const ask = async () => {
      await page.getByRole('button', { name: 'Reload…' }).click();
      return page.getByRole('dialog', { name: 'Reload the configuration' });
    };
    const steps = [{ id: 'one', uses: 'nobody' }];
    gateway.write({ ...settings, pipelines: [{ name: 'broken', steps }] });
    const dialog = await ask();
    await dialog.getByRole('heading', { name: 'Errors' }).waitFor();
    await dialog.getByRole('listitem').filter({ hasText: 'nobody' }).first().waitFor();
    const confirm = dialog.getByRole('button', { name: 'Reload' });
    expect(await confirm.isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    const { greeter, worker } = settings.plugins!;
    const pipelines = [{ name: 'new-pipeline', steps: [{ id: 'one', uses: 'greeter' }] }];
    const rest = { plugins: { greeter: greeter!, worker: worker! }, instances: {}, schedules: [] };
    gateway.write({ ...settings, ...rest, pipelines });
    await ask();
    await dialog.getByText('The files are valid.').waitFor();
    await dialog.getByRole('heading', { name: 'Queued jobs that would be held' }).waitFor();
    await dialog.getByText('echo say: 1').waitFor();
    expect(await page.getByText('new-pipeline').count()).toBe(0);
    await confirm.click();
    await page.getByText('Reloaded the configuration').waitFor();
    await page.getByText('new-pipeline').first().waitFor();
  });
}
