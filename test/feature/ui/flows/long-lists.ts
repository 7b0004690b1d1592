// Long lists: pages by cursor, a list that stands still while further pages are shown, and few rows in the document.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { type Route, visit } from '../browser.ts';
import { ObservedPage } from '../observed.ts';
import { shown } from '../screens.ts';

/** Jobs of the list: more than four pages. */
const jobs = 900;
/** Rows of the first page. */
const pageRows = 100;
/** Rows of a page of logs. */
const logRows = 20;
/** The most rows in the document, besides the heading and the fillers in the place of the others. */
const rowsMax = 300;

export function longListFlows(gateway: Gateway): void {
  test('a long list has few rows in the document, stands still while further pages are shown, and then follows again', async () => {
    const payloads = Array.from({ length: jobs }, () => ({ name: 'Ada' }));
    const { body } = await gateway.call('POST', '/plugin/greeter/handle/batch', { payloads, tags: { list: 'long' } });
    const ids = body['job_ids'] as readonly string[];
    const oneMore = async () => {
      const call = { payload: { name: 'Ada' }, tags: { list: 'long' } };
      const { body: one } = await gateway.call('POST', '/plugin/greeter/handle', call);
      return (await gateway.settled(String(one['job_id']))).job_id;
    };
    const observed = await ObservedPage.open(gateway, { at: '#/jobs?tag=list:long' });
    const { page } = observed;
    await shown(page);
    await page.getByText('900 jobs match').waitFor();
    const table = page.getByRole('table', { name: 'Jobs' });
    const rows = () => table.getByRole('row').count();
    // The end of the page comes into view again and again, until all pages are there.
    await expect
      .poll(async () => {
        await page.keyboard.press('End');
        return table.getAttribute('aria-rowcount');
      })
      .toBe(String(jobs + 1));
    await page.keyboard.press('End');
    const oldest = table.getByTitle(ids[0]!, { exact: true });
    await oldest.waitFor();
    expect(await rows()).toBeLessThanOrEqual(rowsMax + 3);
    const cursors = (await observed.asked()).filter(({ path }) => path.includes('cursor='));
    expect(new Set(cursors.map(({ path }) => path)).size).toBe(cursors.length);
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);

    await observed.stopClock();
    const listed = async () =>
      (await observed.asked()).filter(({ path }) => /^[/]jobs[?].*limit=(100|200)/.test(path)).length;
    const before = await listed();
    const newest = await oneMore();
    for (let n = 0; n < 5; n++) await observed.pass(1_000);
    expect(await listed()).toBe(before);
    await oldest.waitFor();
    await page.getByRole('button', { name: 'Back to the newest' }).click();
    await observed.pass(1_000);
    await observed.pass(1_000);
    await table.getByTitle(newest, { exact: true }).waitFor();
    expect(await table.getAttribute('aria-rowcount')).toBe('101');
    // The list follows new jobs again, even if so many jobs keep the service busy.
    const last = await oneMore();
    await until('the list has the last job', async () => {
      await observed.pass(1_000);
      return table.getByTitle(last, { exact: true }).count();
    });
  });

  test('while a list with other filters is fetched, it has no further page: none of the jobs before gets into it', async () => {
    const payloads = Array.from({ length: pageRows + 1 }, () => ({ name: 'Ada' }));
    await gateway.call('POST', '/plugin/greeter/handle/batch', { payloads, tags: { list: 'before' } });
    const { body } = await gateway.call('POST', '/plugin/greeter/handle/batch', { payloads, tags: { list: 'after' } });
    const ids = body['job_ids'] as readonly string[];
    const page = await visit(gateway, { at: '#/jobs?tag=list:before' });
    const more = page.getByRole('button', { name: 'Show more' });
    await more.waitFor();
    const held: Route[] = [];
    await page.route(/[/]jobs[?]tag=list%3Aafter&limit=100$/, route => held.push(route));
    await page.evaluate("location.hash = '#/jobs?tag=list:after'");
    await until('the list is fetched', () => held.length === 1);
    await expect.poll(() => more.count()).toBe(0);
    await page.keyboard.press('End');
    await held[0]!.continue();
    const table = page.getByRole('table', { name: 'Jobs' });
    await expect
      .poll(async () => {
        await page.keyboard.press('End');
        return table.getAttribute('aria-rowcount');
      })
      .toBe(String(ids.length + 1));
    const shownIds = await table
      .locator('[data-row] [title]')
      .evaluateAll(found => found.map(one => one.getAttribute('title')));
    expect(shownIds.filter(id => id !== null && /^[0-9a-f-]{36}$/.test(id) && !ids.includes(id))).toEqual([]);
  });

  test('a further page that is refused is not asked for again by itself', async () => {
    const payloads = Array.from({ length: pageRows + 1 }, () => ({ name: 'Ada' }));
    await gateway.call('POST', '/plugin/greeter/handle/batch', { payloads, tags: { list: 'refused' } });
    const observed = await ObservedPage.open(gateway, { at: '#/jobs?tag=list:refused', expected: [/status of 503/] });
    const { page } = observed;
    await shown(page);
    let isBusy = true;
    await page.route(/cursor=/, route => (isBusy ? route.fulfill({ status: 503, body: '' }) : route.continue()));
    const asked = async () => (await observed.asked()).filter(({ path }) => path.includes('cursor=')).length;
    const more = page.getByRole('button', { name: 'Show more' });
    await page.keyboard.press('End');
    await page.getByText('Load more jobs:').waitFor();
    // Gives the page time to send another request after it has shown the refusal.
    await shown(page);
    await shown(page);
    expect(await asked()).toBe(1);
    isBusy = false;
    await more.click();
    const table = page.getByRole('table', { name: 'Jobs' });
    await expect.poll(() => table.getAttribute('aria-rowcount')).toBe(String(pageRows + 2));
    expect(await asked()).toBe(2);
  });

  test('further pages of logs join the first one, though events arrive: no log is missing between them', async () => {
    const payloads = Array.from({ length: 2 * logRows }, () => ({ name: 'Ada' }));
    const { body } = await gateway.call('POST', '/plugin/greeter/handle/batch', { payloads });
    await gateway.allSettled(body['job_ids'] as readonly string[]);
    const observed = await ObservedPage.open(gateway, { at: '#/logs?plugin=greeter' });
    const { page } = observed;
    await shown(page);
    await observed.stopClock();
    // The first event has the list fetched, the second one less than a second later: the list waits to be fetched again.
    await observed.hears();
    await observed.answered();
    await observed.hears();
    const rows = page.getByRole('list', { name: 'Logs' }).getByRole('listitem');
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(2 * logRows);
    for (let n = 0; n < 3; n++) await observed.pass(1_000);
    const found = await rows.locator('.log-job [title]').evaluateAll(ids => ids.map(id => id.getAttribute('title')));
    const ids = found.filter(id => id !== null && /^[0-9a-f-]{36}$/.test(id));
    const { logs } = (await gateway.call('GET', '/job-logs?plugin=greeter&limit=200')).body;
    const all = (logs as readonly { readonly job_id: string }[]).map(({ job_id: id }) => id);
    const from = all.indexOf(ids[0]!);
    expect(ids).toEqual(all.slice(from, from + 2 * logRows));
  });

  test('further pages of failures seen in the last hour stay while minutes pass', async () => {
    const group = (n: number) => ({
      fingerprint: `group-${n}`,
      plugin: 'failing',
      command: 'handle',
      pattern: `page ${n}`,
      count: 1,
      trend: [1],
      first_at: '2026-01-01T00:00:00Z',
      last_at: '2026-01-01T00:00:00Z',
      sample: { job_id: '0198c0de-0000-7000-8000-000000000000', message: `page ${n}` },
    });
    const observed = await ObservedPage.open(gateway, { at: '#/now' });
    const { page } = observed;
    await page.route(/[/]failures[?]/, route => {
      const n = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 1);
      const next = n < 3 ? { next_cursor: String(n + 1) } : {};
      void route.fulfill({ json: { failures: [group(n)], total: 3, ...next } });
    });
    await observed.goTo('#/failures?hours=1');
    const groups = page.getByRole('list', { name: 'Groups of failures' }).getByRole('listitem');
    const more = page.getByRole('button', { name: 'Show more' });
    for (const n of [2, 3]) {
      await observed.pass(70_000);
      await until('a further page can be asked for', async () => {
        await observed.pass(1_000);
        return more.isVisible();
      });
      await more.click();
      await groups.nth(n - 1).waitFor();
      expect(await groups.count()).toBe(n);
    }
  });
}
