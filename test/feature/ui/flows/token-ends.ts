// A page whose token ends, or whose service is restarted, while a dialog is open.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { everythingToken, type Settings } from '../../../service/gateway/configuration.ts';
import { startGateway } from '../../../service/gateway/gateway.ts';
import { worker } from '../../../service/gateway/sources.ts';
import { freeAddress } from '../../kit/page.ts';
import { type Page, type Site, visit } from '../browser.ts';
import { greeter } from '../service.ts';
import { refused401 } from './sign-in.ts';

const token = 'token-that-ends-0123456789';
const everything = { name: 'test', token: everythingToken, scopes: ['*'] };

/** `more`: what the configuration says of the token; null: it has none of this name. */
function settings(more: { readonly scopes: readonly string[]; readonly expires_at?: string } | null): Settings {
  const tokens = [everything, ...(more === null ? [] : [{ name: 'guest', token, ...more }])];
  return { plugins: { greeter, worker }, api: { auth: { tokens } } };
}

/** A proxy of the service. Of the first answer to a path of this pattern it sends only the head and the first byte. */
async function breakingOff({ url }: Site, path: RegExp): Promise<Site> {
  let isBroken = false;
  const proxy = createServer((call, answer) => {
    const { method, headers } = call;
    const passed = request(url + call.url, { method, headers }, response => {
      answer.writeHead(response.statusCode!, response.headers);
      if (isBroken || !path.test(call.url!)) return void response.pipe(answer);
      isBroken = true;
      response.once('data', (part: Buffer) => answer.write(part.subarray(0, 1), () => answer.destroy()));
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    call.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

async function signInAgain(page: Page): Promise<void> {
  await page.getByText('The token is no longer valid: it has expired').waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.getByLabel('API token').fill(everythingToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

export function tokenEndFlows(): void {
  test('a token expires while a dialog counts jobs: after the sign-in the dialog is gone, and updates go on', async () => {
    const scopes = ['jobs:rw', 'plugin:rw', 'control:rw', 'events:ro'];
    const own = await startGateway(settings({ scopes, expires_at: '2999-01-01T00:00:00Z' }));
    await own.finished('greeter/handle', { name: 'Ada' });
    const page = await visit(own, { token, at: '#/jobs', expected: refused401 });
    await page.getByRole('button', { name: 'Rerun all' }).click();
    await page.getByRole('dialog').getByText('1 job matches.').waitFor();
    await own.reload(settings({ scopes, expires_at: '2020-01-01T00:00:00Z' }));
    await signInAgain(page);
    await page.getByRole('button', { name: 'Live' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    const { job_id: id } = await own.finished('greeter/handle', { name: 'Grace' });
    await page.getByRole('table', { name: 'Jobs' }).getByTitle(id, { exact: true }).waitFor();
  });

  test('a token is removed while a dialog asks: what it asks for is not done, and the place is the same after the sign-in', async () => {
    const own = await startGateway(settings({ scopes: ['jobs:rw'] }));
    const id = await own.submit('worker/handle', { gate: 'never opened' });
    await own.noted('start', id);
    const page = await visit(own, { token, at: `#/job/${id}`, expected: refused401 });
    await page.getByRole('button', { name: 'Cancel' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel worker.handle' });
    await dialog.getByLabel('Reason').fill('by a token that is gone');
    await own.reload(settings(null));
    await dialog.getByRole('button', { name: 'Cancel it' }).click();
    await signInAgain(page);
    await page.getByRole('heading', { name: 'worker.handle', level: 1 }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect((await own.job(id)).status).toBe('running');
  });

  test('a rerun whose answer is lost is made once, though it is asked for again', async () => {
    const own = await startGateway({ plugins: { greeter } });
    const { job_id: id } = await own.finished('greeter/handle', { name: 'Ada' });
    const page = await visit(own, { at: `#/job/${id}`, expected: [/ERR_/, /Failed to load resource/] });
    await page.route(
      '**/rerun',
      async route => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Rerun' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    await page.getByText('The service does not answer').first().waitFor();
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    await expect.poll(() => page.url()).not.toContain(id);
    const again = await own.job(id);
    expect(again).toMatchObject({ rerun_count: 1 });
    expect(page.url()).toContain((again as unknown as { reruns: readonly string[] }).reruns[0]);
  });

  test('a proxy loses the answer of a rerun: it can be asked for again, and is made once', async () => {
    const own = await startGateway({ plugins: { greeter } });
    const { job_id: id } = await own.finished('greeter/handle', { name: 'Ada' });
    const page = await visit(own, { at: `#/job/${id}`, expected: [/Failed to load resource/] });
    await page.route(
      '**/rerun',
      async route => {
        await route.fetch();
        await route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>502 Bad Gateway</h1>' });
      },
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Rerun' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    await page.getByText(/^Rerun .*: (Bad Gateway|Status 502)$/).waitFor();
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    await expect.poll(() => page.url()).not.toContain(id);
    expect(await own.job(id)).toMatchObject({ rerun_count: 1 });
  });

  test('ten minutes after an answer was lost, the same request is a new one', async () => {
    const schedules = [{ id: 'nightly', cron: '30 2 * * *', plugin: 'greeter', payload: { name: 'Ada' } }];
    const own = await startGateway({ plugins: { greeter }, schedules });
    const page = await visit(own, { at: '#/schedules', expected: [/ERR_/, /Failed to load resource/] });
    await page.route(
      '**/nightly/run',
      async route => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    const dialog = page.getByRole('dialog');
    const run = async () => {
      await page.getByRole('button', { name: 'Run nightly now' }).click();
      await dialog.getByRole('button', { name: 'Run now' }).click();
    };
    await run();
    await page.getByText('The service does not answer').first().waitFor();
    await page.keyboard.press('Escape');
    await page.clock.setSystemTime(Date.now() + 600_000);
    await run();
    await dialog.waitFor({ state: 'detached' });
    const { body } = await own.call('GET', '/jobs?plugin=greeter');
    expect(body['total']).toBe(2);
  });

  test('an answer that breaks off is as good as none: the rerun can be asked for again, and is made once', async () => {
    const own = await startGateway({ plugins: { greeter } });
    const { job_id: id } = await own.finished('greeter/handle', { name: 'Ada' });
    const site = await breakingOff(own, /[/]rerun$/);
    const page = await visit(site, { at: `#/job/${id}`, expected: [/ERR_/, /Failed to load resource/] });
    await page.getByRole('button', { name: 'Rerun' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    await page.getByText('The service does not answer').first().waitFor();
    await dialog.getByRole('button', { name: 'Rerun' }).click();
    await expect.poll(() => page.url()).not.toContain(id);
    expect(await own.job(id)).toMatchObject({ rerun_count: 1 });
  });

  test('the service is restarted while a dialog is open: the dialog keeps what was typed, and does it afterwards', async () => {
    const own = await startGateway({ plugins: { greeter }, api: { listen: await freeAddress() } });
    const { body } = await own.call('POST', '/plugin/greeter/handle', { payload: { name: 'Ada' }, delay: '1h' });
    const id = String(body['job_id']);
    const expected = [/ERR_/, /Failed to load resource/];
    const page = await visit(own, { at: `#/job/${id}`, expected });
    await page.getByRole('button', { name: 'Live' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('over a restart');
    await own.kill9();
    await dialog.getByRole('button', { name: 'Cancel it' }).click();
    await page.getByText('The service does not answer').first().waitFor();
    await own.start();
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('over a restart');
    await dialog.getByRole('button', { name: 'Cancel it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('over a restart').first().waitFor();
    expect((await own.settled(id)).status).toBe('cancelled');
  });
}
