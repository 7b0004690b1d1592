// Flows of the pages of runs: a run as it goes on, its time axis, its repair, and two runs side by side.
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../service/gateway/gateway.ts';
import { worker } from '../../../service/gateway/sources.ts';
import { visit } from '../browser.ts';
import type { Seeded } from '../screens.ts';

export function runFlows(gateway: Gateway, seeded: () => Seeded): void {
  test('follow a run: its page shows each step as it happens', async () => {
    const run = await gateway.run('held', { result: { gate: 'followed' } });
    const page = await visit(gateway, { at: `#/run/${run}` });
    await page.getByRole('heading', { name: 'held', level: 1 }).waitFor();
    await page
      .getByText(/^\W*running$/)
      .first()
      .waitFor();
    // The step that waits at the gate appears, with one open job.
    await page.getByText('worker.handle').first().waitFor();
    const tree = page.getByRole('tree', { name: 'Jobs of the run' });
    await tree.getByRole('treeitem').filter({ hasText: 'step.handle' }).waitFor();
    await tree.focus();
    await page.keyboard.press('ArrowRight');
    const last = tree.getByRole('treeitem').filter({ hasText: 'worker.handle' });
    await last.getByText('running').waitFor();
    gateway.open('followed');
    await page
      .getByText(/^\W*succeeded$/)
      .first()
      .waitFor();
    expect((await gateway.settled(run)).status).toBe('succeeded');
    // The tree also shows the end of the last job.
    await last.getByText('succeeded').waitFor();
  });

  test('zoom the time axis of a run, and show the whole run again', async () => {
    const page = await visit(gateway, { at: `#/run/${seeded().runs[0]}` });
    const parts: string[] = [];
    page.on('request', request => {
      if (/[/]timeline[?].*from=.*to=/.test(request.url())) parts.push(request.url());
    });
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await expect.poll(() => page.url()).toMatch(/[?&]zoom=/);
    await page.getByText(/^\d.* to \d.* of \d/).waitFor();
    // The part in view is read with finer buckets, and the URL brings it back.
    await expect.poll(() => parts.length).toBe(1);
    await page.reload();
    await page.getByRole('link', { name: 'Jobs accepted in this time' }).waitFor();
    await page.getByRole('button', { name: 'Whole run' }).click();
    await expect.poll(() => page.url()).not.toMatch(/[?&]zoom=/);
  });

  test('rerun only what failed in a run', async () => {
    const list = [{}, { fail: 'broken' }, {}];
    const { job_id: run } = await gateway.ran('fan', { list });
    const page = await visit(gateway, { at: `#/run/${run}` });
    await page.getByRole('button', { name: 'Rerun failed' }).click();
    const dialog = page.getByRole('dialog', { name: /^Rerun/ });
    // The dialog says what the rerun would do.
    await dialog
      .getByText('2 jobs succeeded and are reused, but not jobs of phases. 1 job runs again, and the steps after it.')
      .waitFor();
    await dialog.getByLabel('From').selectOption('start');
    await dialog.getByText('The run had 3 jobs: all run again, also the 2 that succeeded.').waitFor();
    await dialog.getByLabel('From').selectOption('failed');
    await dialog.getByRole('button', { name: 'Rerun', exact: true }).click();
    await page.getByText('The new job is accepted.').waitFor();
    await expect.poll(() => page.url()).not.toContain(run);
    const next = new URL(page.url()).hash.split('/').at(-1)!;
    expect(await gateway.settled(next)).toMatchObject({ rerun_of: run });
  });

  test('compare two runs', async () => {
    const [first, second] = seeded().runs;
    const page = await visit(gateway, { at: `#/run/${second}` });
    await page.getByRole('link', { name: 'Compare' }).click();
    await page.getByRole('heading', { name: 'Compare runs', level: 1 }).waitFor();
    // The run before it is proposed.
    await expect.poll(() => page.url()).toContain(`a=${first}`);
    await page.getByText(/^B took/).waitFor();
    await page.getByRole('button', { name: 'Swap' }).click();
    await expect.poll(() => page.url()).toContain(`a=${second}`);
  });

  test('an open run is compared as it goes on', async () => {
    const own = await startGateway({
      plugins: { worker },
      pipelines: [{ name: 'gated', steps: [{ uses: 'worker' }] }],
    });
    const ids: string[] = [];
    for (const gate of ['first', 'second']) ids.push(await own.run('gated', { gate }));
    own.open('first');
    await own.settled(ids[0]!);
    const page = await visit(own, { at: `#/compare?a=${ids[0]}&b=${ids[1]}` });
    const main = page.getByRole('main');
    await main.getByText(/^\W*running$/).waitFor();
    own.open('second');
    await expect.poll(() => main.getByText(/^\W*succeeded$/).count(), { timeout: 20_000 }).toBe(2);
    expect(await main.getByText(/^\W*running$/).count()).toBe(0);
  });

  test('a run is compared with the one before it, and not with a rerun of what had failed', async () => {
    const { job_id: first } = await gateway.ran('fan', { list: [{}, { fail: 'broken' }] });
    const { body } = await gateway.call('POST', `/job/${first}/rerun`, { from: 'failed' });
    await gateway.settled(String(body['job_id']));
    const { job_id: third } = await gateway.ran('fan', { list: [{}, {}] });
    const page = await visit(gateway, { at: `#/run/${third}` });
    await page.getByRole('link', { name: 'Compare' }).click();
    await expect.poll(() => page.url()).toContain(`a=${first}`);
  });
}
