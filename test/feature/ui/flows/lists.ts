// Long lists: rows of equal height, of which only those near the view are in the document.
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../service/gateway/gateway.ts';
import { failing } from '../../../service/gateway/sources.ts';
import { visit } from '../browser.ts';

const rowCount = 1_000;
/** The rows of a list that are in the document. */
const drawnMax = 300;

/** The service's own answer, with its first row repeated. */
async function repeated(gateway: Gateway, path: string, of: string, key: string): Promise<object> {
  const { body } = await gateway.call('GET', path);
  const [row] = body[of] as readonly object[];
  const rows = Array.from({ length: rowCount }, (_, n) => ({
    ...row,
    [key]: String(n),
    stderr: 'a line\n'.repeat(n % 9),
  }));
  return { ...body, [of]: rows, total: rowCount, next_cursor: undefined };
}

export function listFlows(gateway: Gateway): void {
  test.each([
    ['Jobs', '#/jobs', 'jobs', 'jobs', 'job_id'],
    ['Logs', '#/logs', 'job-logs', 'logs', 'log_id'],
    ['Groups of failures', '#/failures', 'failures', 'failures', 'fingerprint'],
  ])('of a long list %s only some rows are in the document, all of one height', async (label, at, path, of, key) => {
    const answer = await repeated(gateway, `/${path}`, of, key);
    for (const width of [1440, 360]) {
      const page = await visit(gateway, { at: '#/now', size: { width, height: 800 } });
      // The counts by status have a limit of one job.
      await page.route(new RegExp(`/${path}([?](?!.*limit=1$)|$)`), route => route.fulfill({ json: answer }));
      await page.goto(`${gateway.url}/ui${at}`);
      const rows = page
        .getByRole('list', { name: label })
        .or(page.getByRole('table', { name: label }))
        .locator('[data-row]');
      await expect.poll(() => rows.count()).toBe(drawnMax);
      const height = () => page.evaluate('document.documentElement.scrollHeight');
      const before = await height();
      for (const place of [500, 999]) {
        await page.evaluate(`scrollTo(0, document.documentElement.scrollHeight * ${place / rowCount})`);
        await page.locator(`[data-row="${place - 1}"]`).waitFor();
        expect(await rows.count()).toBe(drawnMax);
        expect(await height()).toBe(before);
      }
      const heights = await rows.evaluateAll(found => found.map(row => row.getBoundingClientRect().height));
      expect(new Set(heights).size).toBe(1);
      await page.context().close();
    }
  });

  test('the list of logs asks for few logs at a time, because each has its whole error output', async () => {
    const page = await visit(gateway, { at: '#/now' });
    const asked = page.waitForRequest(/[/]job-logs[?]/);
    await page.goto(`${gateway.url}/ui#/logs`);
    const limit = new URL((await asked).url()).searchParams.get('limit');
    await page.getByRole('list', { name: 'Logs' }).waitFor();
    expect(Number(limit ?? 50)).toBeLessThanOrEqual(20);
  });

  test('the response of an attempt is read alone, because those of the others may be large', async () => {
    const retry = { max_attempts: 3, backoff_base: '1ms', backoff_max: '1ms' };
    const own = await startGateway({ plugins: { failing }, instances: { failing: { retry } } });
    const { job_id: id } = await own.finished('failing/handle', { times: 2 });
    const page = await visit(own, { at: '#/logs' });
    await page.getByRole('button', { name: `Show attempt 3 of the job ${id}` }).click();
    const answer = page.waitForResponse(/include_result=true/);
    await page.getByRole('dialog').getByRole('button', { name: 'Response' }).click();
    const { logs } = (await (await answer).json()) as { readonly logs: readonly { readonly attempt: number }[] };
    expect(logs.map(({ attempt }) => attempt)).toEqual([3]);
    await page.getByRole('dialog').getByText('"attempt":3').waitFor();
  });

  test('the filter of the plugins is in the URL', async () => {
    const page = await visit(gateway, { at: '#/plugins' });
    const field = page.getByLabel('Find a plugin');
    const rows = page.getByRole('table', { name: 'Plugins' }).locator('[data-row]');
    await field.fill('greet');
    await expect.poll(() => rows.count()).toBe(1);
    expect(new URL(page.url()).hash).toBe('#/plugins?find=greet');
    await page.reload();
    await expect.poll(() => rows.count()).toBe(1);
    expect(await field.inputValue()).toBe('greet');
    await field.fill('');
    await expect.poll(() => rows.count()).toBeGreaterThan(1);
    expect(new URL(page.url()).hash).toBe('#/plugins');
  });

  test('counts of jobs that are lower bounds have a plus, and so has their sum', async () => {
    const page = await visit(gateway, { at: '#/now' });
    const json = { jobs: [], total: 10_000, total_at_least: true };
    await page.route(/[/]jobs[?].*limit=1$/, route => route.fulfill({ json }));
    await page.goto(`${gateway.url}/ui#/jobs?pipeline=fan`);
    const tabs = page.getByRole('navigation', { name: 'Statuses' });
    await tabs.getByRole('link', { name: 'failed 10\u202f000+' }).waitFor();
    await tabs.getByRole('link', { name: 'all 70\u202f000+' }).waitFor();
  });

  test('an export of more jobs than it can have says so, before and after', async () => {
    const page = await visit(gateway, { at: '#/now' });
    const { body } = await gateway.call('GET', '/jobs?limit=1');
    const [row] = body['jobs'] as readonly object[];
    const jobs = Array.from({ length: 200 }, (_, n) => ({ ...row, job_id: String(n) }));
    const json = { jobs, total: 100_001, next_cursor: 'next' };
    await page.route(/[/]jobs[?].*limit=(100|200)/, route => route.fulfill({ json }));
    await page.goto(`${gateway.url}/ui#/jobs?plugin=greeter`);
    const downloads = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export the newest 100\u202f000' }).click();
    await downloads;
    await page.getByText('100\u202f000 jobs, the newest; an export has at most 100\u202f000.').waitFor();
  });
}
