// What the page copies without HTTPS, prints, moves and announces.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { insecureSite, type Page, type Route, visit } from '../browser.ts';
import { gapsOf, ObservedPage } from '../observed.ts';
import { type Seeded, shown } from '../screens.ts';

const focused = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent";

/** Texts whose colour has a contrast of less than 4.5 with paper. */
const tooPale = `(() => {
  const light = part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const contrast = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(part => light(part / 255));
    return 1.05 / (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { data, parentElement: element } = texts.currentNode;
    if (data.trim() === '' || !element.checkVisibility()) continue;
    const { color } = getComputedStyle(element);
    if (contrast(color) < 4.5) found.push(data.trim().slice(0, 40) + ' ' + color);
  }
  return found;
})()`;

/** A4 upright and across, in px. */
const papers = [
  { width: 794, height: 1_123 },
  { width: 1_123, height: 794 },
];

/** Parts that are wider than the paper, or scroll on a screen and are cut off on paper. */
const cutOff = `[...document.querySelectorAll('main *')].filter(node => {
  const { overflowX, overflowY } = getComputedStyle(node);
  const scrolls = [overflowX, overflowY].some(value => value === 'auto' || value === 'scroll');
  if (!node.checkVisibility()) return false;
  return node.getBoundingClientRect().right > innerWidth + 1 ||
    scrolls && (node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1);
}).map(node => node.tagName + ' ' + node.className + ' ' + node.textContent.slice(0, 40))`;

export function presentationFlows(gateway: Gateway, seeded: () => Seeded): void {
  test('without HTTPS, ids and calls are copied too, also in a dialog, and the focus stays', async () => {
    const { job } = seeded();
    const page = await visit(insecureSite(gateway), { at: `#/job/${job}` });
    const reader = await page.context().newPage();
    await reader.goto(`${gateway.url}/ui`);
    const copied = async () => {
      await reader.bringToFront();
      const text = (await reader.evaluate('navigator.clipboard.readText()')) as string;
      await page.bringToFront();
      return text;
    };
    await page
      .getByRole('button', { name: `Copy the id ${job}` })
      .first()
      .click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('isSecureContext')).toBe(false);
    expect(await page.evaluate(focused)).toBe('Copied');
    expect(await copied()).toBe(job);
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('It is on the clipboard.').waitFor();
    expect(await copied()).toContain('/plugin/mailer/handle');

    await page.goto(`${insecureSite(gateway).url}/ui#/jobs?plugin=mailer&status=failed`);
    await page.getByRole('button', { name: 'Rerun all' }).click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByRole('button', { name: /^Copy the id/ })
      .first()
      .click();
    await dialog.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await copied()).toBe(job);
    expect(await page.evaluate(focused)).toBe('Copied');
  });

  test.each(['job', 'run'])('a button pressed while a %s loads keeps the focus after it', async kind => {
    const { job, runs } = seeded();
    const id = kind === 'job' ? job : runs[0]!;
    const held: Route[] = [];
    let isOpen = false;
    const holds = (route: Route) => (isOpen ? route.continue() : held.push(route));
    const prepare = (page: Page) => page.route(new RegExp(`/job/${id}`), holds);
    const page = await visit(gateway, { at: `#/${kind}/${id}`, prepare });
    await page.getByRole('button', { name: `Copy the id ${id}` }).click();
    isOpen = true;
    for (const route of held) await route.continue();
    await page
      .getByRole('button', { name: /^Rerun/ })
      .first()
      .waitFor();
    expect(held.length).toBeGreaterThan(0);
    expect(await page.evaluate(focused)).toMatch(/^Copied$|^Copy the id/);
  });

  test('a run is printed without navigation and buttons, dark on light, and nothing is cut off', async () => {
    const page = await visit(gateway, { at: `#/run/${seeded().runs[0]}` });
    await shown(page);
    const theme = page.getByRole('button', { name: 'Theme' });
    await theme.click();
    await theme.click();
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
    await page.getByText('All figures as a table').click();
    expect(await page.evaluate(tooPale)).not.toEqual([]);
    await page.emulateMedia({ media: 'print' });
    await page.getByRole('navigation', { name: 'Screens' }).waitFor({ state: 'hidden' });
    const pressed = await page.getByRole('button').allInnerTexts();
    expect(pressed.filter(text => /rerun|zoom|menu|keys|sign out|live/i.test(text))).toEqual([]);
    for (const step of ['pick', 'price', 'label', 'report'])
      await page.getByText(step, { exact: true }).first().waitFor();
    expect(await page.evaluate(tooPale)).toEqual([]);
    for (const size of papers) {
      await page.setViewportSize(size);
      const { width = 0 } = (await page.getByRole('main').boundingBox()) ?? {};
      expect([width > 0.9 * size.width, await page.evaluate(cutOff)], `${size.width} px`).toEqual([true, []]);
    }
  });

  test('nothing moves by itself for those who prefer that', async () => {
    const page = await visit(gateway, {
      at: '#/jobs',
      // The list is never answered, so its placeholder stays.
      prepare: async page => page.route(/[/]jobs[?].*limit=100/, () => {}),
    });
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    const moving = () =>
      page.evaluate("document.getAnimations().filter(({ playState }) => playState === 'running').length");
    expect(await moving()).toBe(0);
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await expect.poll(moving).toBeGreaterThan(0);
  });

  test('each live region announces at most one change in five seconds, and then the newest', async () => {
    const observed = await ObservedPage.open(gateway, { at: '#/jobs' });
    for (const [at, seconds] of [
      ['#/jobs', 12],
      ['#/now', 5],
      ['#/logs', 5],
      ['#/failures', 5],
      ['#/plugin/greeter', 5],
    ] as const) {
      await observed.goTo(at);
      const before = (await observed.seen()).said.length;
      for (let n = 0; n < seconds; n++) {
        await gateway.finished('greeter/handle', { name: 'Ada' });
        await observed.pass(1_000);
      }
      const said = (await observed.seen()).said.slice(before);
      const gaps = gapsOf(said.map(({ region, atMs }) => ({ path: String(region), atMs })));
      expect(
        gaps.filter(({ ms }) => ms < 5_000),
        at,
      ).toEqual([]);
      if (at !== '#/jobs') continue;
      expect(gaps.length).toBeGreaterThanOrEqual(1);
      const { total } = (await gateway.call('GET', '/jobs')).body as { total: number };
      await until('the newest number is announced', async () => {
        await observed.pass(1_000);
        return (await observed.seen()).said.at(-1)?.text.replaceAll(/\D/g, '') === String(total);
      });
    }
  });
}
