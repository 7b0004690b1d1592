// The heat map of the stopwatch, used by keys.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { visit } from '../browser.ts';
import { drawn } from '../screens.ts';

type Measured = {
  readonly from: string;
  readonly to: string;
  readonly steps: readonly { readonly sample_count: number }[];
};

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

export function heatMapFlows(gateway: Gateway): void {
  test('the arrow keys choose cells of the heat map, from each the nearest, and none beyond its edge', async () => {
    const id = await measuredJob(gateway);
    const page = await visit(gateway);
    // Four cells in a window of an hour: two rows apart in an early minute, and two neighbours late.
    await page.route(/[/]stopwatch[/]greeter[?].*heat=true/, async route => {
      const answer = (await (await route.fetch()).json()) as Measured;
      const startMs = Date.parse(answer.from);
      const cell = (minute: number, fromUs: number, samples: number) => ({
        at: new Date(startMs + minute * minuteMs).toISOString(),
        from_us: fromUs,
        to_us: fromUs * 2,
        sample_count: samples,
        exemplars: [{ job_id: id, us: fromUs + 1 }],
      });
      const heat = [cell(5, 1_024, 2), cell(5, 4_096, 3), cell(40, 1_024, 4), cell(41, 1_024, 5)];
      await route.fulfill({ json: { ...answer, bucket_minutes: 1, steps: [{ ...answer.steps[0], heat }] } });
    });
    await page.goto(`${gateway.url}/ui#/stopwatch/greeter?step=handle.run&${windowOf(60 * minuteMs)}`);
    const map = page.getByRole('group', { name: /^Heat map\./ });
    await page.getByText('Choose a cell to see its jobs. The fullest has 5 samples').waitFor();
    // The effects of the first rendering are over. One of them resets the chosen cell.
    await page.evaluate(drawn);
    await map.focus();
    for (const [key, samples] of [
      ['ArrowLeft', 5],
      ['ArrowRight', 5],
      ['ArrowLeft', 4],
      ['ArrowDown', 4],
      ['ArrowLeft', 2],
      ['ArrowLeft', 2],
      ['ArrowUp', 3],
      ['ArrowUp', 3],
      ['ArrowRight', 4],
    ] as const) {
      await page.keyboard.press(key);
      await page.getByText(new RegExp(`^${samples} samples from \\d.* to \\d.*, ended between`)).waitFor();
    }
    const longest = page.getByRole('list', { name: 'The longest of them' });
    await longest.getByTitle(id, { exact: true }).waitFor();
    await page.getByText('The cells as a table').click();
    const cells = page.getByRole('region', { name: 'Cells of the heat map' }).getByRole('row');
    await expect.poll(() => cells.count()).toBe(5);
    // Arrows with a modifier key belong to the browser, so Alt+ArrowLeft does not change the chosen cell.
    await map.focus();
    for (const key of ['Alt+ArrowLeft', 'ArrowRight']) await page.keyboard.press(key);
    await page.getByText(/^5 samples from/).waitFor();
  });

  test('in a window of several days, cells have their day', async () => {
    await measuredJob(gateway);
    const page = await visit(gateway, { at: `#/stopwatch/greeter?step=handle.run&${windowOf(7 * dayMs)}` });
    const map = page.getByRole('group', { name: /^Heat map\./ });
    await map.waitFor();
    await page.evaluate(drawn);
    await map.focus();
    await page.keyboard.press('ArrowLeft');
    await page.getByText(/ended between \d\d-\d\d \d\d:\d\d and \d\d-\d\d \d\d:\d\d\./).waitFor();
    await page.getByText('The cells as a table').click();
    const times = page.getByRole('region', { name: 'Cells of the heat map' }).getByRole('rowheader');
    await times.first().waitFor();
    for (const time of await times.allInnerTexts()) expect(time).toMatch(/^\d\d-\d\d \d\d:\d\d$/);
    expect(await times.count()).toBeGreaterThan(0);
  });
}

/** Runs a job of the plugin `greeter`. Resolves with its id once the stopwatch has measured a job of the plugin. */
async function measuredJob(gateway: Gateway): Promise<string> {
  const { job_id: id } = await gateway.finished('greeter/handle', { name: 'Ada' });
  await until('a job is measured', async () => {
    const { body } = await gateway.call('GET', '/stopwatch/greeter?step=handle.run');
    return (body as unknown as Measured).steps[0]!.sample_count > 0;
  });
  return id;
}

/**
 * The parameters of a window of this length, up to the end of the present minute. The window stays: one that ends now moves on with each minute,
 * and then no cell is chosen any more.
 */
function windowOf(lengthMs: number): string {
  const toMs = Math.ceil(Date.now() / minuteMs) * minuteMs;
  return `from=${new Date(toMs - lengthMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
}
