// How long a pause lasts, what an open breaker says, which jobs count as running, and a job that is followed.
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../service/gateway/gateway.ts';
import { failing, step, worker } from '../../../service/gateway/sources.ts';
import { visit } from '../browser.ts';
import { greeter } from '../service.ts';

type Pauses = { readonly pauses: readonly { readonly since: string; readonly until?: string }[] };

export function pauseFlows(gateway: Gateway): void {
  test('a pause lasts for any duration, or until any time', async () => {
    const own = await startGateway({ plugins: { greeter } });
    const page = await visit(own, { at: '#/now', expected: [/status of 400/] });
    const pause = async () => ((await own.call('GET', '/pauses')).body as Pauses).pauses[0]!;
    const dialog = page.getByRole('dialog', { name: 'Pause the plugin greeter?' });
    const confirm = dialog.getByRole('button', { name: 'Pause' });
    const resume = page.getByRole('button', { name: 'Resume the plugin greeter' }).first();

    await page.getByRole('button', { name: 'Pause the plugin greeter' }).click();
    await dialog.getByLabel('For how long').selectOption('another duration');
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel('Duration').fill('a while');
    await confirm.click();
    // The service says what is wrong, and the dialog stays.
    await page.getByText('Pause the plugin greeter:').waitFor();
    await dialog.getByLabel('Duration').fill('45m');
    await confirm.click();
    await resume.waitFor();
    const { since, until } = await pause();
    // The end of the pause counts from the call, and its beginning is the commit, so the difference is not exact.
    expect(Math.abs(Date.parse(until!) - Date.parse(since) - 45 * 60_000)).toBeLessThan(60_000);

    await resume.click();
    await page.getByRole('button', { name: 'Pause the plugin greeter' }).click();
    await dialog.getByLabel('For how long').selectOption('until a time');
    expect(await confirm.isDisabled()).toBe(true);
    const time = new Date(Date.now() + 50 * 3_600_000).toISOString().slice(0, 16);
    await dialog.getByLabel('Until', { exact: true }).fill(time);
    await confirm.click();
    await resume.waitFor();
    expect(Date.parse((await pause()).until!)).toBe(Date.parse(`${time}Z`));
  });

  test('an open breaker says that it is open, and when it tries again', async () => {
    const own = await startGateway({
      plugins: { failing, step },
      instances: {
        failing: { retry: { max_attempts: 1 }, breaker: { failures: 2, of: 2, for: '5h' } },
        trying: { uses: 'step', breaker: { failures: 1, of: 1, for: '10ms' } },
      },
    });
    await own.finished('trying/handle', { fail: 'no answer' });
    for (let n = 0; n < 2; n++) await own.finished('failing/handle', { message: 'no answer', retry: false });
    const page = await visit(own, { at: '#/now' });
    await page.getByText('The breaker of the plugin failing is open').waitFor();
    await page.getByText('The breaker of the plugin trying is half open: the next job tries').waitFor();
    const lane = page.getByRole('table', { name: 'Lanes' }).getByRole('row').filter({ hasText: 'failing' });
    await lane.getByText(/^breaker open, tries again in (4|5)\sh$/).waitFor();
  });

  test.each([-2, 2])('a browser whose clock is wrong by %i hours calls the same things urgent', async hours => {
    const own = await startGateway({
      plugins: { step },
      instances: {
        step: { retry: { max_attempts: 1 } },
        trying: { uses: 'step', breaker: { failures: 1, of: 1, for: '10ms' } },
        waiting: { uses: 'step', breaker: { failures: 1, of: 1, for: '1h' } },
      },
    });
    for (const plugin of ['step', 'trying', 'waiting']) await own.finished(`${plugin}/handle`, { fail: 'no answer' });
    const wrong = Date.now() + hours * 3_600_000;
    const page = await visit(own, { at: '#/now', prepare: page => page.clock.setSystemTime(wrong) });
    const notices = page.getByRole('list', { name: 'Attention' }).getByRole('listitem');
    for (const text of [
      'The breaker of the plugin waiting is open',
      'The breaker of the plugin trying is half open',
      '1 job of step handle failed',
    ])
      await notices.filter({ hasText: text }).waitFor();
    await page.goto(`${own.url}/ui#/plugin/trying`);
    await page.getByText('Breaker half open: the next job tries').waitFor();
  });

  test('Now tells the jobs in workers from the runs that are open', async () => {
    const own = await startGateway({
      plugins: { worker },
      pipelines: [{ name: 'gated', steps: [{ uses: 'worker' }] }],
    });
    const run = await own.run('gated', { gate: 'now' });
    const page = await visit(own, { at: '#/now' });
    const main = page.getByRole('main');
    const inWorkers = main.getByText('Running jobs', { exact: true }).locator('..');
    await inWorkers.getByRole('link', { name: '1', exact: true }).waitFor();
    const stored = main.getByRole('heading', { name: 'Stored jobs and runs' }).locator('../..');
    await stored.getByRole('link', { name: /running 2$/ }).waitFor();
    await stored.getByText('a run counts as running until its last job has ended').waitFor();
    own.open('now');
    await own.settled(run);
  });

  test('a job that was started is followed without its result, which is read once at its end', async () => {
    const page = await visit(gateway, { at: '#/plugin/worker' });
    const whole: string[] = [];
    page.on('request', request => {
      const { pathname, search } = new URL(request.url());
      if (pathname.startsWith('/job/') && !search.includes('result=short')) whole.push(pathname);
    });
    await page.getByLabel('Payload as JSON').fill('{"gate": "followed alone", "text": "as sent"}');
    await page.getByRole('button', { name: 'Run worker handle' }).click();
    const followed = page.getByRole('region', { name: 'The job that was started' });
    await followed
      .getByText(/^\W*running$/)
      .first()
      .waitFor();
    expect(whole).toEqual([]);
    gateway.open('followed alone');
    await followed.getByText('"as sent"').waitFor();
    expect(whole.length).toBe(1);
  });

  test('a job that Enter in a field has started is followed to its end, though the focus stays there', async () => {
    const page = await visit(gateway, { at: '#/plugin/worker' });
    await page.getByLabel('Payload as JSON').fill('{"gate": "by Enter"}');
    await page.getByText('When, and with which tags').click();
    await page.getByLabel('Tags').press('Enter');
    const followed = page.getByRole('region', { name: 'The job that was started' });
    await followed
      .getByText(/^\W*running$/)
      .first()
      .waitFor();
    gateway.open('by Enter');
    await followed
      .getByText(/^\W*succeeded$/)
      .first()
      .waitFor();
    expect(await page.evaluate('document.activeElement.placeholder')).toBe('tenant:acme');
  });
}
