// What is on a screen stays where it is while the answers of the service arrive.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { type Page, type Route, reopen, visit } from '../browser.ts';
import { drawn, type Seeded, screensOf, shown } from '../screens.ts';

/** The limit for the sum of layout shifts. Up to 0.1 counts as good, but here answers are slow, so the sum has to be lower. */
const shiftMax = 0.02;

type Shift = { readonly value: number; readonly moved: readonly string[] };

/** Runs in the page, before its own scripts: notes each shift that no input has caused, with what moved. */
const observing = `(() => {
  globalThis.shifts = [];
  const place = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ');
  const moved = ({ node, previousRect: before, currentRect: after }) => {
    const element = node instanceof Element ? node : node?.parentElement;
    return (element ? element.tagName + '.' + element.className : '?') + ' ' + place(before) + ' -> ' + place(after);
  };
  new PerformanceObserver(list => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      if (!hadRecentInput) shifts.push({ value, moved: sources.map(moved) });
  }).observe({ type: 'layout-shift', buffered: true });
})()`;

/**
 * Makes answers arrive one by one, each after the page has drawn a frame, as on a slow network. Returns a function that resolves once no answer
 * is outstanding.
 */
async function slowly(page: Page): Promise<() => Promise<void>> {
  let last: Promise<void> = Promise.resolve();
  const answer = async (route: Route) => {
    await page.evaluate(drawn);
    await route.fulfill({ response: await route.fetch() });
  };
  await page.route(
    ({ pathname }) => !/^\/(ui|events)\b/.test(pathname),
    route => {
      // A page that has navigated away takes no answer, which is no error.
      last = last.then(() => answer(route)).catch(() => {});
    },
  );
  return async () => {
    for (let known: Promise<void> | null = null; known !== last; await page.evaluate(drawn)) {
      known = last;
      await known;
    }
  };
}

export function shiftFlows(gateway: Gateway, seeded: () => Seeded): void {
  test.each([1440, 360])('on a page of %i px no screen shifts while its answers arrive', async width => {
    const size = { width, height: width === 360 ? 740 : 900 };
    const page = await visit(gateway, { size, prepare: page => page.addInitScript(observing) });
    const answered = await slowly(page);
    const shifting: Record<string, unknown> = {};
    for (const { name, at } of screensOf(seeded())) {
      await reopen(page, gateway, at);
      await shown(page);
      await answered();
      const shifts = (await page.evaluate('shifts')) as readonly Shift[];
      const sum = shifts.reduce((all, { value }) => all + value, 0);
      if (sum >= shiftMax) shifting[name] = { sum, shifts };
    }
    expect(shifting).toEqual({});
  });
}
