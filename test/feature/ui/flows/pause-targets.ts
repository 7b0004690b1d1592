// Flows of pauses: of the service, a pipeline and a command, for a time, and with new calls refused.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { visit } from '../browser.ts';

type Pause = { readonly target: object; readonly since: string; readonly until?: string; readonly reject?: true };

export function pauseTargetFlows(gateway: Gateway): void {
  const pauses = async () => (await gateway.call('GET', '/pauses')).body['pauses'] as readonly Pause[];
  const onlyPause = async () => {
    const all = await pauses();
    expect(all).toHaveLength(1);
    const [{ target, since, until, reject }] = all as [Pause];
    return {
      target,
      minutes: until === undefined ? null : Math.round((Date.parse(until) - Date.parse(since)) / 60_000),
      reject,
    };
  };

  test('the service is paused for an hour and refuses calls, until it is resumed', async () => {
    const page = await visit(gateway, { at: '#/now', expected: [/status of 503/], keepsToasts: true });
    await page.getByRole('button', { name: 'Pause the service' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause the service?' });
    await dialog.getByText('No job and no step of a pipeline starts until it is resumed').waitFor();
    await dialog.getByLabel('For how long').selectOption('1 hour');
    await dialog.getByLabel('Reason').fill('the rack moves');
    await dialog.getByLabel('Refuse new calls with 503').check();
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    const notice = page.getByRole('listitem').filter({ hasText: 'The service is paused' });
    for (const text of ['the rack moves', 'by api:test', /ends in 5\d/, 'new calls are refused'])
      await notice.filter({ hasText: text }).waitFor();
    expect(await onlyPause()).toEqual({ target: { kind: 'system' }, minutes: 60, reject: true });

    // Calls during the pause are told why they are refused, and when to try again.
    await page.goto(`${gateway.url}/ui#/plugin/greeter`);
    const form = page.getByRole('form', { name: 'Run greeter handle' });
    await form.getByLabel('name').fill('Ada');
    await form.getByRole('button', { name: 'Run greeter handle' }).click();
    const refusal = form.getByRole('alert').filter({ hasText: '503' });
    await refusal.getByText('a pause refuses new calls').waitFor();
    await refusal.getByText('The service asks to wait').waitFor();
    await page.goBack();
    await notice.getByRole('button', { name: 'Resume the service' }).click();
    await page.getByText('Jobs start again.').waitFor();
    await notice.waitFor({ state: 'detached' });
    expect(await pauses()).toEqual([]);
    expect((await gateway.finished('greeter/handle', { name: 'Ada' })).status).toBe('succeeded');
  });

  test('a pipeline is paused for ten minutes: its runs say so and wait, and start when it is resumed', async () => {
    const page = await visit(gateway, { at: '#/pipeline/fetch' });
    await page.getByRole('button', { name: 'Pause the pipeline fetch' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause the pipeline fetch?' });
    await dialog.getByText('Nothing of it runs or waits now.').waitFor();
    await dialog.getByLabel('For how long').selectOption('10 minutes');
    await dialog.getByLabel('Reason').fill('the source is down');
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    const note = page.getByText(/Paused by api:test, .*, ends in \d.*: the source is down/);
    await note.waitFor();
    const target = { kind: 'pipeline', name: 'fetch' };
    expect(await onlyPause()).toEqual({ target, minutes: 10, reject: undefined });
    await page.getByRole('link', { name: 'Pipelines' }).last().click();
    await page.getByRole('row').filter({ hasText: 'fetch' }).getByText('paused').waitFor();

    const run = await gateway.run('fetch', { url: 'https://example.org' });
    await gateway.waiting(run, 'paused');
    await page.goto(`${gateway.url}/ui#/run/${run}`);
    await page.getByText('Is paused', { exact: true }).waitFor();
    await page.getByText(/the source is down/).waitFor();
    await page.goto(`${gateway.url}/ui#/pipeline/fetch`);
    await page.getByRole('button', { name: 'Resume the pipeline fetch' }).click();
    await note.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Pause the pipeline fetch' }).waitFor();
    expect((await gateway.settled(run)).status).toBe('succeeded');
  });

  test('a command is paused, and the other commands of its plugin run', async () => {
    const page = await visit(gateway, { at: '#/plugin/echo?command=say' });
    await page.getByRole('button', { name: 'Pause the plugin echo, command say' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause the plugin echo, command say?' });
    await dialog.getByText('No job of the command starts until it is resumed').waitFor();
    await dialog.getByLabel('Reason').fill('it says too much');
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText(/Paused by api:test, .*: it says too much/).waitFor();
    const target = { kind: 'plugin', name: 'echo', command: 'say' };
    expect(await onlyPause()).toEqual({ target, minutes: null, reject: undefined });
    const held = await gateway.submit('echo/say', { text: 'later' });
    await gateway.waiting(held, 'paused');
    expect((await gateway.finished('echo/handle')).status).toBe('succeeded');
    await page.getByRole('navigation', { name: 'Commands' }).getByRole('link', { name: 'handle' }).click();
    await page.getByRole('button', { name: 'Pause the plugin echo, command handle' }).waitFor();
    expect(await page.getByText('it says too much').count()).toBe(0);
    await page.goto(`${gateway.url}/ui#/now`);
    const notice = page.getByRole('listitem').filter({ hasText: 'The plugin echo, command say is paused' });
    await notice.getByRole('button', { name: 'Resume the plugin echo, command say' }).click();
    await notice.waitFor({ state: 'detached' });
    expect((await gateway.settled(held)).status).toBe('succeeded');
  });
}
