// Flows of the list of jobs and of a job's page.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { type Route, visit } from '../browser.ts';

export function jobFlows(gateway: Gateway): void {
  test('filter jobs: the URL has the filters, and the list only what matches', async () => {
    const failed = await gateway.finished('failing/handle', { message: 'for the filter', retry: false });
    await gateway.finished('greeter/handle', { name: 'Ada' });
    const page = await visit(gateway, { at: '#/jobs' });
    await page.getByLabel('Plugin').fill('failing');
    await page.keyboard.press('Enter');
    const link = page.getByRole('navigation', { name: 'Statuses' }).getByRole('link', { name: 'failed' });
    await expect.poll(() => link.getAttribute('href')).toBe('#/jobs?plugin=failing&status=failed');
    await link.click();
    const rows = page.getByRole('table', { name: 'Jobs' }).getByRole('row');
    await expect.poll(() => new URL(page.url()).hash).toBe('#/jobs?plugin=failing&status=failed');
    await rows.getByTitle(failed.job_id, { exact: true }).waitFor();
    await expect.poll(() => rows.filter({ hasText: 'greeter' }).count()).toBe(0);

    await page.getByRole('button', { name: 'Remove the filter status' }).click();
    await page.getByRole('button', { name: 'Remove the filter plugin' }).click();
    await rows.filter({ hasText: 'greeter' }).first().waitFor();
    expect(new URL(page.url()).hash).toBe('#/jobs');
  });

  test('open a job by keyboard: its attempts, payload and result are there, and integers keep their digits', async () => {
    const payload = '{"payload":{"id":9007199254740991}}';
    const { body } = await gateway.call('POST', '/plugin/step/handle', payload);
    await gateway.settled(String(body['job_id']));
    const page = await visit(gateway, { at: '#/jobs?plugin=step&command=handle' });
    await page.getByRole('row').filter({ hasText: 'step' }).first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'step.handle', level: 1 }).waitFor();
    await page.getByRole('region', { name: 'Payload' }).getByText('9007199254740991').waitFor();
  });

  test('cancel a running job', async () => {
    const id = await gateway.submit('worker/handle', { gate: 'never opened' });
    await gateway.noted('start', id);
    const page = await visit(gateway, { at: `#/job/${id}` });
    await page.getByRole('button', { name: 'Cancel' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel worker.handle' });
    await dialog.getByLabel('Reason').fill('a test of the dashboard');
    await dialog.getByRole('button', { name: 'Cancel it' }).click();
    await page
      .getByText(/^\W*cancelled$/)
      .first()
      .waitFor();
    expect((await gateway.settled(id)).status).toBe('cancelled');
  });

  test('an answer that comes late closes no question that was opened since', async () => {
    const id = await gateway.submit('worker/handle', { gate: 'never opened' });
    await gateway.noted('start', id);
    const page = await visit(gateway, { at: `#/job/${id}` });
    const held: Route[] = [];
    const hold = (route: Route) => held.push(route);
    const main = page.getByRole('main');
    await page.route('**/cancel', hold);
    await main.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel it' }).click();
    const cancel = await until('it is asked for', () => held[0]);
    await page.keyboard.press('Escape');
    const response = await cancel.fetch();
    await main.getByRole('button', { name: 'Rerun' }).click();
    const rerun = page.getByRole('dialog', { name: 'Rerun worker.handle' });
    await rerun.getByLabel('Reason').fill('typed meanwhile');
    await cancel.fulfill({ response });
    await page.getByText('Cancel worker.handle', { exact: true }).waitFor();
    expect(await rerun.getByLabel('Reason').inputValue()).toBe('typed meanwhile');

    await page.keyboard.press('Escape');
    await page.route('**/actions', route => {
      if (route.request().postDataJSON().dry_run) void route.fulfill({ json: { matched: 1, sample: [], up_to: '' } });
      else held.push(route);
    });
    await page.goto(`${gateway.url}/ui#/jobs?plugin=greeter`);
    await main.getByRole('button', { name: 'Rerun all' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rerun 1' }).click();
    await until('the action is asked for', () => held.length === 2);
    await page.keyboard.press('Escape');
    await main.getByRole('button', { name: 'Cancel all' }).click();
    const many = page.getByRole('dialog', { name: 'Cancel all that match?' });
    await many.getByLabel('Reason').fill('typed meanwhile');
    await held[1]!.fulfill({ json: { action_id: id, matched: 1 } });
    await page.getByText('Rerun all that match?', { exact: true }).waitFor();
    expect(await many.getByLabel('Reason').inputValue()).toBe('typed meanwhile');
  });

  test('rerun a job with a payload that is edited by the form of its schema', async () => {
    const payload = '{"payload":{"name":"Ada","times":2,"note":"","ids":[9007199254740991]}}';
    const { body } = await gateway.call('POST', '/plugin/greeter/handle', payload);
    const id = String(body['job_id']);
    await gateway.settled(id);
    const page = await visit(gateway, { at: `#/job/${id}`, expected: [/status of 400/] });
    await page.getByRole('button', { name: 'Rerun' }).click();
    const dialog = page.getByRole('dialog', { name: 'Rerun greeter.handle' });
    expect(await dialog.getByLabel('times').inputValue()).toBe('2');
    // A member that the schema lacks is edited as JSON.
    expect(await dialog.getByLabel('ids').inputValue()).toBe('[\n  9007199254740991\n]');
    await dialog.getByLabel('ids').fill('[9007199254740991, 1.50]');
    await dialog.getByLabel('name').fill('Grace');
    await dialog.getByLabel('times').fill('0');
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    // The service refuses it, and the dialog says so beside the field.
    await dialog.getByText(/^times must be/).waitFor();
    await dialog.getByLabel('times').fill('3');
    const sent = page.waitForRequest(/[/]rerun$/);
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    expect((await sent).postData()).toMatch(/"note": "",\s+"ids": \[9007199254740991, 1\.50\]/);
    await page.getByText('The new job is accepted.').waitFor();
    await page.getByText('hello Grace, hello Grace, hello Grace').waitFor();
  });

  test('rerun a job with a payload that is edited as JSON', async () => {
    const { job_id: id } = await gateway.finished('greeter/handle', { name: 'Ada' });
    const page = await visit(gateway, { at: `#/job/${id}` });
    await page.getByRole('button', { name: 'Rerun' }).click();
    const dialog = page.getByRole('dialog', { name: 'Rerun greeter.handle' });
    await dialog.getByRole('button', { name: 'JSON' }).click();
    const text = dialog.getByLabel('Payload as JSON');
    await text.fill('{"name": ');
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    await dialog.getByText(/^Payload is not JSON/).waitFor();
    await text.fill('{"name": "Grace"}');
    await dialog.getByRole('button', { name: 'Form' }).click();
    expect(await dialog.getByLabel('name').inputValue()).toBe('Grace');
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    await page.getByText('The new job is accepted.').waitFor();
    await page.getByText('hello Grace').waitFor();
  });

  test('a call is copied only with its payload: a large one is loaded first', async () => {
    const { job_id: id } = await gateway.finished('greeter/handle', { name: 'x'.repeat(70_000) });
    const page = await visit(gateway, { at: `#/job/${id}` });
    const load = page.getByRole('button', { name: 'The payload is large: load all' });
    await load.waitFor();
    const copy = page.getByRole('button', { name: 'Copy as command' });
    expect(await copy.count()).toBe(0);
    await load.click();
    await copy.click();
    await page.getByText('It is on the clipboard.').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain('x'.repeat(70_000));
  });

  test('pause a plugin with a reason, and resume it', async () => {
    const running = await gateway.submit('worker/handle', { gate: 'a pause' });
    await gateway.noted('start', running);
    const { body: delayed } = await gateway.call('POST', '/plugin/worker/handle', { delay: '1h' });
    const page = await visit(gateway, { at: '#/now' });
    await page.getByRole('button', { name: 'Pause the plugin worker' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause the plugin worker?' });
    // The dialog says how much the pause would hold.
    await dialog.getByText('Now 1 job waits and 1 running job continues.').waitFor();
    await dialog.getByLabel('Reason').fill('a test of the dashboard');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('a test of the dashboard').first().waitFor();
    const { body } = await gateway.call('GET', '/pauses');
    expect(JSON.stringify(body)).toContain('a test of the dashboard');
    await page.getByRole('button', { name: 'Resume the plugin worker' }).first().click();
    await page.getByRole('button', { name: 'Pause the plugin worker' }).waitFor();
    expect(JSON.stringify((await gateway.call('GET', '/pauses')).body)).not.toContain('a test of the dashboard');
    await gateway.call('POST', `/job/${delayed['job_id']}/cancel`);
    gateway.open('a pause');
    await gateway.settled(running);
  });

  test('export the jobs that match, one a line', async () => {
    const page = await visit(gateway, { at: '#/jobs?plugin=mailer' });
    const rows = page.getByRole('table', { name: 'Jobs' }).getByRole('row').filter({ hasText: 'mailer' });
    await rows.first().waitFor();
    const downloads = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const file = await (await downloads).path();
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    expect(lines.map(line => JSON.parse(line).plugin)).toEqual(Array(await rows.count()).fill('mailer'));
  });

  test('copy the id of a job, and the call as curl', async () => {
    const { job_id: id } = await gateway.finished('greeter/handle', { name: 'Ada' });
    const page = await visit(gateway, { at: `#/job/${id}` });
    await Promise.all([
      page.getByRole('button', { name: 'Copied' }).first().waitFor(),
      page
        .getByRole('button', { name: `Copy the id ${id}` })
        .first()
        .click(),
    ]);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(id);
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain('/plugin/greeter/handle');
  });
}
