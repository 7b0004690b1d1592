// Two windows of the stopwatch with jobs in both.
import { expect, test } from 'vitest';
import type { Gateway, Job } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { visit } from '../browser.ts';

const minuteMs = 60_000;
/** The number of jobs in each window: a difference of medians stands out only with ten samples on both sides. */
const samples = 10;
/** How long a slow job waits. */
const slowMs = 150;

type Figures = { readonly steps: readonly { readonly sample_count: number; readonly p50_us: number }[] };
/** A window from and to whole minutes. */
export type Minutes = { readonly from: string; readonly to: string };

/** Runs jobs of the plugin `step` that wait so long. Resolves with the minutes in which they ended. */
export async function measuredMinutes(gateway: Gateway, wait: number): Promise<Minutes> {
  const payloads = Array.from({ length: samples }, () => ({ wait }));
  const { body } = await gateway.call('POST', '/plugin/step/handle/batch', { payloads });
  const jobs: readonly Job[] = await gateway.allSettled(body['job_ids'] as readonly string[]);
  const ends = jobs.map(({ completed_at: end }) => Math.floor(Date.parse(end!) / minuteMs));
  const [from, to] = [Math.min(...ends), Math.max(...ends) + 1].map(minute =>
    new Date(minute * minuteMs).toISOString(),
  );
  return { from: from!, to: to! };
}

/** `quick`: the minutes of jobs of the plugin `step` that did not wait. */
export function stopwatchFlows(gateway: Gateway, quick: () => Minutes): void {
  test('the percentiles of a step differ in colour, and their legend has the latest values before anything is pointed at', async () => {
    const page = await visit(gateway, { at: '#/stopwatch/step?step=handle.run' });
    const legend = page.locator('.percentiles .u-series');
    await legend.filter({ hasText: 'Time' }).getByText('(latest)').waitFor();
    for (const name of ['p50', 'p95', 'p99'])
      await legend
        .filter({ hasText: name })
        .getByText(/[0-9]\s(µs|ms|s)$/)
        .waitFor();
    const colours = await page.evaluate(
      `[...document.querySelectorAll('.percentiles .u-marker')].slice(-3).map(mark => getComputedStyle(mark).borderTopColor)`,
    );
    expect(new Set(colours as string[]).size).toBe(3);
  });

  test('two windows with jobs in both are compared: the step that became slower stands out', async () => {
    const before = quick();
    await until('the minutes of the quick jobs are over', () => Date.now() >= Date.parse(before.to));
    const after = await measuredMinutes(gateway, slowMs);
    const figuresOf = async ({ from, to }: Minutes) => {
      const { body } = await gateway.call('GET', `/stopwatch/step?step=handle.run&from=${from}&to=${to}`);
      return (body as Figures).steps[0]!;
    };
    const [old, now] = [await figuresOf(before), await figuresOf(after)];
    // Percentiles have an error of at most 1/64.
    expect(now.p50_us).toBeGreaterThan((slowMs * 1_000 * 63) / 64);

    const at = `#/stopwatch/step?step=handle.run&from=${after.from}&to=${after.to}`;
    const page = await visit(gateway, { at });
    const row = page.getByRole('region', { name: 'Measured steps' }).getByRole('row').filter({ hasText: 'handle.run' });
    await row.getByRole('cell', { name: String(now.sample_count), exact: true }).waitFor();
    await page.getByLabel('Against', { exact: true }).selectOption('other times');
    await page.getByLabel('Against from').fill(before.from.slice(0, 16));
    await page.getByLabel('Against to').fill(before.to.slice(0, 16));
    await page.getByRole('button', { name: 'Show', exact: true }).last().click();
    await row.getByRole('cell', { name: `${old.sample_count} → ${now.sample_count}`, exact: true }).waitFor();
    const median = row.getByRole('cell').nth(1);
    await median.getByText(/^\S+\s\S+ → \d+\sms$/).waitFor();
    await median.getByText('▲').waitFor();
    await median.getByText('stands out').waitFor();
  });
}
