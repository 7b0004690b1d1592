// Every screen on a phone: nothing is wider than the page.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { visit } from '../browser.ts';
import { type Seeded, screensOf, shown } from '../screens.ts';

/** How much wider the page, and each of its lists, is than its room, in px. */
const overflow = `[document.documentElement, ...[...document.querySelectorAll('main table[aria-rowcount]')].map(table => table.parentElement)]
  .map(node => node.scrollWidth - node.clientWidth)`;

/** The parts that stick out of the page, for the message of a failed test. */
const sticking = `[...document.querySelectorAll('main *')]
  .filter(node => node.checkVisibility({ contentVisibilityAuto: true }) && node.getBoundingClientRect().right > innerWidth)
  .map(node => node.tagName + '.' + node.className + ' ' + node.getBoundingClientRect().right + ' ' + node.textContent.slice(0, 40))
  .slice(0, 10)`;

export function narrowFlows(gateway: Gateway, seeded: () => Seeded): void {
  test('on a page of 360 px no screen and no list is cut off', async () => {
    const page = await visit(gateway, { size: { width: 360, height: 740 } });
    const cut: [string, number[], unknown][] = [];
    for (const { name, at } of screensOf(seeded())) {
      await page.goto(`${gateway.url}/ui${at}`);
      await shown(page);
      const found = (await page.evaluate(overflow)) as number[];
      if (found.some(px => px > 0)) cut.push([name, found, await page.evaluate(sticking)]);
    }
    expect(cut).toEqual([]);
  });

  test('on a page of 360 px the differences of two runs are read without scrolling sideways, and groups of failures are short', async () => {
    const [a, b] = seeded().runs;
    const page = await visit(gateway, { at: `#/compare?a=${a}&b=${b}`, size: { width: 360, height: 740 } });
    const differences = page.getByRole('region', { name: 'Differences by step' });
    await differences.getByText('label').waitFor();
    expect(await differences.evaluate(node => node.scrollWidth - node.clientWidth)).toBe(0);
    await page.goto(`${gateway.url}/ui#/failures`);
    const group = page.getByRole('list', { name: 'Groups of failures' }).locator('[data-row]').first();
    await group.waitFor();
    const { height } = (await group.boundingBox())!;
    const inside = await group.evaluate(node => node.scrollHeight - node.clientHeight);
    expect([height <= 160, inside], `${height} px`).toEqual([true, 0]);
  });

  test('on a page of 390 px each status of the jobs has room for a count of five digits', async () => {
    const page = await visit(gateway, { size: { width: 390, height: 740 } });
    await page.route('**/overview', async route => {
      const overview = await (await route.fetch()).json();
      await route.fulfill({ json: { ...overview, counts: { ...overview.counts, succeeded: 35_950 } } });
    });
    await page.goto(`${gateway.url}/ui#/jobs`);
    const succeeded = page.getByRole('navigation', { name: 'Statuses' }).getByRole('link', { name: 'succeeded' });
    await succeeded.getByText(/35.950/).waitFor();
    expect(await succeeded.evaluate(node => node.scrollWidth - node.clientWidth)).toBe(0);
  });

  test('the tree of a run names the step of each job, also on a page of 360 px', async () => {
    for (const width of [1440, 360]) {
      const page = await visit(gateway, { at: `#/run/${seeded().runs[0]}`, size: { width, height: 740 } });
      const tree = page.getByRole('tree', { name: 'Jobs of the run' });
      const name = tree.getByRole('treeitem').first().getByRole('link', { name: 'pick', exact: true });
      await name.waitFor();
      const cut = await name.evaluate(node => node.parentElement!.scrollWidth - node.parentElement!.clientWidth);
      expect(cut, `${width} px`).toBe(0);
    }
  });
}
