// Flows of a page whose service goes away and comes back, whose stream has a gap, and of tokens that may only read.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { startGateway } from '../../../service/gateway/gateway.ts';
import { freeAddress } from '../../kit/page.ts';
import { visit } from '../browser.ts';
import { type Seeded, screensOf, shown } from '../screens.ts';
import { greeter, viewerToken } from '../service.ts';

/** Words of buttons that change something. */
const acts = /^(cancel|rerun|run|pause|resume|reschedule|backfill|revoke|reload|run now)\b/i;

export function liveFlows(gateway: Gateway, seeded: () => Seeded): void {
  test('the service is restarted under the page: the page says so, and shows what happened since', async () => {
    const restarted = await startGateway({ plugins: { greeter }, api: { listen: await freeAddress() } });
    await restarted.finished('greeter/handle', { name: 'before' });
    const page = await visit(restarted, { at: '#/jobs', expected: [/ERR_/, /Failed to load resource/] });
    await page.getByRole('row').filter({ hasText: 'greeter' }).first().waitFor();
    await page.getByRole('button', { name: 'Live' }).waitFor();
    await restarted.kill9();
    await page.getByRole('button', { name: /Connection lost/ }).waitFor();
    await restarted.start();
    await restarted.finished('greeter/handle', { name: 'after' });
    await page.getByRole('button', { name: 'Live' }).waitFor();
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'greeter' }).count()).toBe(2);
  });

  test('a gap in the stream: what is on screen is fetched again', async () => {
    const page = await visit(gateway, { at: '#/jobs?plugin=greeter' });
    await page.getByRole('button', { name: 'Live' }).waitFor();
    const lists: string[] = [];
    page.on('request', request => request.url().includes('/jobs?') && lists.push(request.url()));
    // The stream ends, and the next one tells of a gap.
    await page.route(/\/events/, route =>
      route.fulfill({
        headers: { 'Content-Type': 'text/event-stream' },
        body: 'id: x\nevent: gap\ndata: {"reason":"too_old","lost":7}\n\n',
      }),
    );
    await page.reload();
    await expect.poll(() => lists.length, { timeout: 20_000 }).toBeGreaterThan(1);
  });

  test('updates stop while the user has stopped them', async () => {
    const page = await visit(gateway, { at: '#/jobs?plugin=greeter' });
    let fetched = 0;
    // The list, and not the counts by status, which have another limit.
    page.on('request', request => {
      if (/[/]jobs[?].*limit=100/.test(request.url())) fetched++;
    });
    const rows = page.getByRole('table', { name: 'Jobs' }).getByRole('row').filter({ hasText: 'greeter' });
    await rows.first().waitFor();
    await page.getByRole('button', { name: 'Live' }).click();
    await page.getByRole('button', { name: 'Updates stopped' }).waitFor();
    const [before, fetchedBefore] = [await rows.count(), fetched];
    await gateway.finished('greeter/handle', { name: 'unseen' });
    await gateway.finished('greeter/handle', { name: 'unseen' });
    expect([await rows.count(), fetched]).toEqual([before, fetchedBefore]);
    await page.getByRole('button', { name: 'Updates stopped' }).click();
    await expect.poll(() => rows.count()).toBe(before + 2);
  });

  test('a token that may only read sees no button that acts and can be pressed', async () => {
    const page = await visit(gateway, { token: viewerToken, expected: [/status of 403/] });
    for (const { name, at } of screensOf(seeded())) {
      await page.goto(`${gateway.url}/ui${at}`);
      await shown(page);
      const buttons = await page.getByRole('main').getByRole('button', { disabled: false }).allInnerTexts();
      expect(
        buttons.filter(text => acts.test(text.trim())),
        name,
      ).toEqual([]);
    }
  });
}
