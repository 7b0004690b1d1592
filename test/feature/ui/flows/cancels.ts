// Flows that cancel runs: with the runs that their events have started, and by force.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { type Page, visit } from '../browser.ts';

/** The pipelines `source`, `heard` and `long_end` of the gateway are those of work.test.ts. */
export function cancelFlows(gateway: Gateway): void {
  test('a run is cancelled with the runs that its events have started, if that is wanted', async () => {
    const started = async (gate: string) => {
      const run = await gateway.run('source', {
        emit: [{ type: 'heard', payload: { gate } }],
        result: { gate },
      });
      const heard = await until('its event has started a run, and both hold', async () => {
        const jobs = await gateway.tree(run);
        const held = jobs.filter(({ plugin, status }) => plugin === 'worker' && status === 'running');
        return held.length === 2 && jobs.find(({ command }) => command === 'heard')?.job_id;
      });
      return { run, heard };
    };
    const cancelled = async (page: Page, run: string, isDetached: boolean) => {
      await page.goto(`${gateway.url}/ui#/run/${run}`);
      const dialog = await askToCancel(page, 'source');
      await dialog
        .getByText('Nothing new starts in this run, and its running jobs are stopped. 1 job has not ended.')
        .waitFor();
      const box = dialog.getByLabel('Also cancel the runs that its events have started');
      expect(await box.isChecked()).toBe(false);
      await box.setChecked(isDetached);
      await dialog.getByLabel('Reason').fill('a wrong turn');
      await dialog.getByRole('button', { name: 'Cancel it' }).click();
      await page.getByText(/Cancelled by api:test .*: a wrong turn/).waitFor();
      expect((await gateway.settled(run)).status).toBe('cancelled');
    };
    const page = await visit(gateway);
    const alone = await started('alone');
    await cancelled(page, alone.run, false);
    expect((await gateway.job(alone.heard)).status).toBe('running');
    gateway.open('alone');
    expect((await gateway.settled(alone.heard)).status).toBe('succeeded');

    const both = await started('never opened');
    await cancelled(page, both.run, true);
    expect((await gateway.settled(both.heard)).status).toBe('cancelled');
    await page.goto(`${gateway.url}/ui#/run/${both.heard}`);
    await page.getByText(/Cancelled by api:test .*: a wrong turn/).waitFor();
  });

  test('a run whose steps are cancelled goes on to its phase finally, which is stopped only by force', async () => {
    const run = await gateway.run('long_end', { gate: 'never opened', last: 'never opened' });
    const runs = async (name: string) =>
      (await gateway.tree(run)).some(({ plugin, status }) => plugin === name && status === 'running');
    await until('its step runs', () => runs('worker'));
    const page = await visit(gateway, { at: `#/run/${run}`, expected: [/status of 409/], keepsToasts: true });
    const first = await askToCancel(page, 'long_end');
    await first.getByRole('button', { name: 'Cancel it' }).click();
    await page.getByText(/Being stopped by api:test/).waitFor();
    await until('it is in its last phase', () => runs('cleaner'));
    const dialog = await askToCancel(page, 'long_end');
    const confirm = dialog.getByRole('button', { name: 'Cancel it' });
    await dialog.getByLabel('Also cancel the runs that its events have started').check();
    await confirm.click();
    await page.getByText('the run is in its phase "finally" and ends soon').waitFor();
    expect((await gateway.job(run)).status).toBe('running');
    await dialog.getByLabel('Also stop its phase finally, which cleans up').check();
    await confirm.click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText(/Cancelled by api:test/).waitFor();
    expect((await gateway.settled(run)).status).toBe('cancelled');
    expect(await page.getByRole('main').getByRole('button', { name: 'Cancel' }).count()).toBe(0);
  });
}

/** The dialog that cancels the run of a pipeline, on its page. */
async function askToCancel(page: Page, pipeline: string) {
  await page.getByRole('heading', { name: pipeline, level: 1 }).waitFor();
  await page.getByRole('main').getByRole('button', { name: 'Cancel' }).click();
  return page.getByRole('dialog', { name: `Cancel ${pipeline}` });
}
