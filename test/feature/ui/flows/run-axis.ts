// Flows of the time axis of a run: by pointer and by keys, and without its idle time.
import { expect, test } from 'vitest';
import { TimeScale } from '../../../../ui/screens/run/scale.ts';
import { idleSpans } from '../../../../ui/screens/run/strip.ts';
import type { RunTimeline } from '../../../../ui/screens/run/timeline.ts';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { type Page, visit } from '../browser.ts';
import { stripsOf } from '../idle-run.ts';

export function runAxisFlows(gateway: Gateway, run: () => RunTimeline): void {
  test('the time axis is zoomed by a drag, moved and zoomed by keys, and shown whole again', async () => {
    const page = await visit(gateway, { at: `#/run/${run().job_id}` });
    const wholeMs = run().duration_us / 1_000;
    const zoomed = (from: number, to: number) => expectZoom(page, from * wholeMs, to * wholeMs, wholeMs / 100);
    const whole = () => expect.poll(() => zoomOf(page)).toBeNull();
    await page.getByText('Drag across the strips to zoom.').waitFor();
    for (const name of ['Zoom out', 'Earlier', 'Later', 'Whole run'])
      expect(await page.getByRole('button', { name }).isDisabled()).toBe(true);

    await drag(page, 0.2, 0.6);
    await zoomed(0.2, 0.6);
    await page.getByText(/^\d\S*\s\S+ to \d\S*\s\S+ of \d/).waitFor();
    // A drag to the left does the same, and a click does nothing.
    await page.keyboard.press('0');
    await whole();
    await drag(page, 0.9, 0.5);
    await zoomed(0.5, 0.9);
    await drag(page, 0.5, 0.5);
    await zoomed(0.5, 0.9);

    await page.keyboard.press('0');
    await whole();
    await page.keyboard.press('+');
    await zoomed(0.25, 0.75);
    await stripsOf(page).focus();
    await page.keyboard.press('ArrowLeft');
    await zoomed(0.125, 0.625);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await zoomed(0.375, 0.875);
    // The view stops at the end of the axis.
    for (const _ of [1, 2]) await page.keyboard.press('ArrowRight');
    await zoomed(0.5, 1);
    await page.keyboard.press('+');
    await zoomed(0.625, 0.875);
    await page.getByRole('button', { name: 'Earlier' }).click();
    await zoomed(0.5, 0.75);
    await page.keyboard.press('-');
    await zoomed(0.375, 0.875);
    await page.keyboard.press('-');
    await whole();
  });

  test('idle time is collapsed: a drag then selects another part of the time', async () => {
    const { steps, bucket_us: bucketUs, duration_us: wholeUs, job_id: id } = run();
    const page = await visit(gateway, { at: `#/run/${id}` });
    const idle = idleSpans(steps, bucketUs, wholeUs);
    const scale = new TimeScale({ fromUs: 0, toUs: wholeUs }, idle);
    // Chooses the place where the two axes differ most, away from collapsed stretches, in which a pixel is a long time.
    const moved = (place: number) => Math.abs(scale.usAt(place) - place * wholeUs);
    const isFar = (place: number) => scale.collapsed.every(({ from, to }) => place < from - 0.02 || place > to + 0.02);
    const places = Array.from({ length: 80 }, (_, n) => n / 100).filter(place => isFar(place) && isFar(place + 0.2));
    const from = places.reduce((most, place) => (moved(place) > moved(most) ? place : most));
    const to = from + 0.2;
    const toleranceMs = wholeUs / 1_000 / 50;
    expect(moved(from) / 1_000).toBeGreaterThan(2 * toleranceMs);
    const zoomed = (ofUs: (place: number) => number) =>
      expectZoom(page, ofUs(from) / 1_000, ofUs(to) / 1_000, toleranceMs);

    const collapse = page.getByRole('button', { name: /^Collapse \d\S*\s\S+ of idle time$/ });
    expect(await collapse.getAttribute('aria-pressed')).toBe('false');
    await drag(page, from, to);
    await zoomed(place => place * wholeUs);
    await page.keyboard.press('0');
    await expect.poll(() => zoomOf(page)).toBeNull();
    await collapse.click();
    await expect.poll(() => collapse.getAttribute('aria-pressed')).toBe('true');
    await page.reload();
    expect(await collapse.getAttribute('aria-pressed')).toBe('true');
    await drag(page, from, to);
    await zoomed(place => scale.usAt(place));
    await page.getByRole('button', { name: 'Whole run' }).click();
    await collapse.click();
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/run/${run().job_id}`);
  });
}

/** The part of the time in view, in ms since the start of the run; null: all of it. */
function zoomOf(page: Page): readonly [number, number] | null {
  const [, from, to] = /[?&]zoom=([\d.]+)-([\d.]+)/.exec(page.url()) ?? [];
  return from === undefined ? null : [Number(from), Number(to)];
}

async function expectZoom(page: Page, fromMs: number, toMs: number, toleranceMs: number): Promise<void> {
  const far = () => {
    const zoom = zoomOf(page);
    return zoom === null ? Number.POSITIVE_INFINITY : Math.max(Math.abs(zoom[0] - fromMs), Math.abs(zoom[1] - toMs));
  };
  await expect.poll(far, { message: `zoom to ${fromMs}-${toMs} ms` }).toBeLessThan(toleranceMs);
}

/** Drags across the strip of a step, from one share of its width to another. */
async function drag(page: Page, from: number, to: number): Promise<void> {
  const strip = stripsOf(page).getByRole('img', { name: /^each: / });
  // The page knows how wide the strip is once it has drawn it. An earlier drag would select nothing.
  await expect.poll(() => strip.getAttribute('style')).toMatch(/width: [1-9]/);
  await strip.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await strip.boundingBox())!;
  await page.mouse.move(x + from * width, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + ((from + to) / 2) * width, y + height / 2);
  await page.mouse.move(x + to * width, y + height / 2);
  await page.mouse.up();
}
