// Long lists: pages by cursor, a list that stands still while further pages are shown, and few rows in the document.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { ObservedPage } from '../observed.ts';
import { shown } from '../screens.ts';

/** Jobs of the list: more than four pages. */
const jobs = 900;
/** Rows of the first page. */
const pageRows = 100;
/** Rows that the document has at most, besides the heading and what keeps the place of others. */
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
    // It follows again, also if so many jobs have made the service busy.
    const last = await oneMore();
    await until('the list has the last job', async () => {
      await observed.pass(1_000);
      return table.getByTitle(last, { exact: true }).count();
    });
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
    // Whatever the page would do after it has shown the refusal.
    await shown(page);
    await shown(page);
    expect(await asked()).toBe(1);
    isBusy = false;
    await more.click();
    const table = page.getByRole('table', { name: 'Jobs' });
    await expect.poll(() => table.getAttribute('aria-rowcount')).toBe(String(pageRows + 2));
    expect(await asked()).toBe(2);
  });
}
