// Flows of jobs that no person has paused, but that are held back: by an open breaker, or by a disabled plugin, which the doctor reports.
import { expect, test } from 'vitest';
import type { Settings } from '../../../service/gateway/configuration.ts';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { visit } from '../browser.ts';

/** The plugin `breaking` of the gateway has a breaker that two failures open; the settings of the gateway are `settings`. */
export function holdFlows(gateway: Gateway, settings: Settings): void {
  test('an open breaker is a notice, and is closed by hand', async () => {
    for (const n of [1, 2]) await gateway.finished('breaking/handle', { message: `no answer ${n}`, retry: false });
    const waiting = await gateway.submit('breaking/handle', { times: 0 });
    await gateway.waiting(waiting, 'paused');
    const page = await visit(gateway, { at: '#/now' });
    const notice = page.getByRole('listitem').filter({ hasText: 'The breaker of the plugin breaking is open' });
    for (const text of ['2 of its last 4 attempts failed', /tries again in 5\d/, '1 job waits'])
      await notice.filter({ hasText: text }).waitFor();
    const lane = page.getByRole('table', { name: 'Lanes' }).getByRole('row').filter({ hasText: 'breaking' });
    await lane.getByText(/^breaker open/).waitFor();
    await page.goto(`${gateway.url}/ui#/plugin/breaking`);
    await page.getByText(/Breaker open, .*: 2 of its last 4 attempts failed/).waitFor();
    await page.getByRole('button', { name: 'Resume the plugin breaking', exact: true }).click();
    await page.getByRole('button', { name: 'Pause the plugin breaking', exact: true }).waitFor();
    expect((await gateway.settled(waiting)).status).toBe('succeeded');
  });

  test('jobs of a plugin that is disabled are a notice and fail a check of the doctor, until the plugin is back', async () => {
    const held = await delayed(gateway);
    const { instances = {} } = settings;
    const said = await gateway.reload({ ...settings, instances: { ...instances, greeter: { enabled: false } } });
    expect(said).toContain('configuration reloaded');
    await gateway.call('POST', `/job/${held}/run-now`);
    await gateway.waiting(held, 'plugin');
    const page = await visit(gateway, { at: '#/now' });
    const notices = page.getByRole('list', { name: 'Attention' }).getByRole('listitem');
    await notices.filter({ hasText: '1 job of greeter cannot run: the plugin greeter is disabled' }).waitFor();
    await page.goto(`${gateway.url}/ui#/job/${held}`);
    await page.getByText('Waits for its plugin', { exact: true }).waitFor();

    await page.goto(`${gateway.url}/ui#/now`);
    await notices.getByRole('link', { name: 'held_jobs' }).click();
    await page.getByRole('heading', { name: 'Doctor', level: 1 }).waitFor();
    const checks = page.getByRole('list', { name: 'Checks' }).getByRole('listitem');
    const check = checks.filter({ hasText: 'held jobs' });
    await check
      .filter({ hasText: 'not passed' })
      .getByText(/\d jobs? of greeter\.handle .*the plugin greeter is disabled/)
      .waitFor();
    // The checks that have not passed come first, and the page says how many there are.
    const summed = async () => {
      const rows = await checks.allTextContents();
      const failed = rows.filter(row => row.startsWith('✕'));
      expect(rows.slice(0, failed.length)).toEqual(failed);
      await page.getByText(saidOf(failed.length, rows.length), { exact: true }).waitFor();
      return rows.length;
    };
    const all = ((await gateway.call('GET', '/system/doctor')).body['checks'] as readonly object[]).length;
    expect(await summed()).toBe(all);

    await gateway.reload(settings);
    await gateway.settled(held);
    await page.getByRole('button', { name: 'Run again' }).click();
    await check
      .filter({ hasText: /✓passed/ })
      .getByText('none', { exact: true })
      .waitFor();
    expect(await summed()).toBe(all);
    await page.getByRole('button', { name: 'Check the store' }).click();
    await page.getByText(/All \d+ invariants hold\./).waitFor();
    await page.goto(`${gateway.url}/ui#/now`);
    await page.getByRole('table', { name: 'Lanes' }).waitFor();
    await expect.poll(() => notices.filter({ hasText: 'greeter' }).count()).toBe(0);
  });
}

/** The id of a job of the plugin `greeter` whose time has not come. */
async function delayed(gateway: Gateway): Promise<string> {
  const { body } = await gateway.call('POST', '/plugin/greeter/handle', { payload: { name: 'Ada' }, delay: '1h' });
  return String(body['job_id']);
}

/** The sentence on the screen about the number of checks that have not passed. */
function saidOf(failed: number, all: number): string {
  if (failed === 0) return `All ${all} checks have passed`;
  return failed === 1 ? `1 check of ${all} has not passed` : `${failed} checks of ${all} have not passed`;
}
