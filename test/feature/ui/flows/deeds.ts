// Flows of work on jobs: delayed jobs are run now, a pipeline is run by its form, a retry is followed, and an export is stopped.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { type Route, visit } from '../browser.ts';

/** The pipeline `fetch` and the plugin `speaker` of the gateway are those of work.test.ts. */
export function deedFlows(gateway: Gateway): void {
  test('all delayed jobs that match a filter are run now', async () => {
    const delayed = async (name: string, wave: string) => {
      const given = { payload: { name }, tags: { wave }, delay: '10h' };
      return String((await gateway.call('POST', '/plugin/greeter/handle', given)).body['job_id']);
    };
    const meant = [await delayed('Ada', 'first'), await delayed('Grace', 'first'), await delayed('Joan', 'first')];
    const other = await delayed('Edith', 'second');
    const page = await visit(gateway, { at: '#/jobs?status=queued&tag=wave:first', keepsToasts: true });
    await page.getByText('3 jobs match').waitFor();
    await page.getByRole('button', { name: 'Run all now…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run all now that match?' });
    await dialog.getByText('Filter: status queued, tag wave:first.').waitFor();
    await dialog.getByLabel('Reason').fill('the wave has come');
    await dialog.getByRole('button', { name: 'Run now 3' }).click();
    await page.getByText('3 matched.').waitFor();
    await page.getByText('No job matches').waitFor();
    for (const id of meant) expect((await gateway.settled(id)).status).toBe('succeeded');
    expect((await gateway.job(other)).status).toBe('queued');
    await page.getByRole('link', { name: 'Show the action' }).click();
    await page.getByText('3 done', { exact: true }).waitFor();
    await page.getByText('Run now: status queued, tag wave:first').waitFor();
  });

  test('a pipeline is run by the form of its schema, and its run is followed', async () => {
    const page = await visit(gateway, { at: '#/pipelines', expected: [/status of 400/] });
    await page.getByRole('link', { name: 'fetch', exact: true }).click();
    const form = page.getByRole('form', { name: 'Run fetch' });
    const start = form.getByRole('button', { name: 'Run fetch' });
    await start.click();
    await form
      .getByText(/required/)
      .first()
      .waitFor();
    await form.getByLabel('url').fill('https://example.org');
    await form.getByLabel('depth').fill('9');
    await start.click();
    // The service refuses it, and the form says so beside the field.
    await form.getByText(/^depth must/).waitFor();
    await form.getByLabel('depth').fill('2');
    await form.getByText('When, and with which tags').click();
    await form.getByLabel('Tags').fill('tenant:acme');
    await form.getByLabel('Deadline').fill('5m');
    const submitted = page.waitForResponse(/[/]pipeline[/]fetch[?]async=true$/);
    await start.click();
    const { job_id: id } = (await (await submitted).json()) as { job_id: string };
    const followed = page.getByRole('region', { name: 'The job that was started' });
    await followed.getByTitle(id, { exact: true }).waitFor();
    await followed
      .getByText(/^\W*succeeded$/)
      .first()
      .waitFor();
    await page.getByRole('table', { name: 'Newest runs' }).getByTitle(id, { exact: true }).waitFor();
    const run = await gateway.settled(id);
    expect(run).toMatchObject({ status: 'succeeded', tags: { tenant: 'acme' }, deadline_at: expect.any(String) });
    await followed.getByRole('link', { name: 'Follow the run' }).click();
    await page.getByRole('heading', { name: 'fetch', level: 1 }).waitFor();
    await page.goto(`${gateway.url}/ui#/job/${id}?view=job`);
    await page.getByRole('region', { name: 'Payload' }).getByText('"depth": 2').waitFor();
  });

  test('the attempts of a job have their logs, spans and stderr, and its retry is brought forward', async () => {
    const id = await gateway.submit('speaker/handle', {});
    await gateway.waiting(id, 'retry');
    const page = await visit(gateway, { at: `#/job/${id}` });
    await page.getByText('Waits for its next attempt').first().waitFor();
    await page.getByText('1 ended', { exact: true }).waitFor();
    const attempts = page.getByRole('list', { name: 'Attempts' });
    const said = async (n: number) => {
      const log = attempts.getByRole('list', { name: `Log of attempt ${n}` }).getByRole('listitem');
      await expect.poll(() => log.allTextContents()).toEqual(['info begins', `error attempt ${n} of many`]);
      const spans = attempts.getByRole('list', { name: `Spans of attempt ${n}` });
      await spans
        .getByRole('listitem')
        .filter({ hasText: /^connect \d/ })
        .waitFor();
      await attempts
        .getByRole('region', { name: `stderr of attempt ${n}` })
        .getByText(`warning ${n}`)
        .waitFor();
    };
    await said(1);
    const failed = attempts.locator('> li').last();
    await failed.getByText('no such host').waitFor();
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByText('2 ended', { exact: true }).waitFor();
    await said(2);
    // The newest attempt is listed first.
    expect(await attempts.getByText(/^Attempt \d$/).allTextContents()).toEqual(['Attempt 2', 'Attempt 1']);
    await page.getByRole('region', { name: 'Result' }).getByText('found').waitFor();
    await page.getByRole('img', { name: /^Waited for a worker .*, Ran .*, Lay between attempts / }).waitFor();
  });

  test('an export is stopped before its end: nothing is saved, and the next one is whole', async () => {
    const { body } = await gateway.call('GET', '/jobs?plugin=greeter&limit=200');
    const page = await visit(gateway, { at: '#/jobs?plugin=greeter', keepsToasts: true });
    const held: Route[] = [];
    const first = { ...body, jobs: (body['jobs'] as object[]).slice(0, 1), next_cursor: 'more' };
    await page.route(/[/]jobs[?].*limit=200/, route => {
      if (route.request().url().includes('cursor=')) held.push(route);
      else void route.fulfill({ json: first });
    });
    let saved = 0;
    page.on('download', () => saved++);
    await page.getByRole('button', { name: 'Export' }).click();
    // The second page has been asked for, and does not come.
    await expect.poll(() => held.length).toBe(1);
    await page.getByRole('button', { name: 'Stop the export (1)' }).click();
    await page.getByText('It was stopped; nothing was saved.').waitFor();
    expect([held.length, saved]).toEqual([1, 0]);
    await page.unroute(/[/]jobs[?].*limit=200/);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    await download;
    await page.getByText(/^\d+ jobs\.$/).waitFor();
    expect(saved).toBe(1);
  });
}
