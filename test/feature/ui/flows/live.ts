// Flows of a page whose service goes away and comes back, whose stream has a gap, and of tokens that may only read.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { startGateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { openSource } from '../../events/reader.ts';
import { freeAddress } from '../../kit/page.ts';
import { type Route, visit } from '../browser.ts';
import { type Seeded, screensOf, shown } from '../screens.ts';
import { commandToken, greeter, pauserToken, statusToken, stopperToken, treeToken, viewerToken } from '../service.ts';

/** Words of buttons that change something. */
const acts = /^(cancel|rerun|run|pause|resume|reschedule|backfill|revoke|reload|run now)\b/i;

export function liveFlows(gateway: Gateway, seeded: () => Seeded): void {
  test('the service is restarted under the page: the page says so, shows what happened since, and where events may be missing', async () => {
    const restarted = await startGateway({ plugins: { greeter }, api: { listen: await freeAddress() } });
    await restarted.finished('greeter/handle', { name: 'before' });
    const expected = [/ERR_/, /Failed to load resource/];
    const page = await visit(restarted, { at: '#/jobs', expected });
    await page.getByRole('row').filter({ hasText: 'greeter' }).first().waitFor();
    await page.getByRole('button', { name: 'Live' }).waitFor();
    const other = await visit(restarted, { at: '#/events', expected });
    await other.getByText('As they happen', { exact: true }).waitFor();
    const events = other.getByRole('list', { name: 'Events, newest first' }).getByRole('listitem');
    const heard = async () => {
      await restarted.finished('greeter/handle', { name: 'before' });
      return events.filter({ hasText: 'job.completed' }).count();
    };
    await expect.poll(heard, { interval: 300 }).toBeGreaterThan(0);
    const rows = page.getByRole('row').filter({ hasText: 'greeter' });
    const { body } = await restarted.call('GET', '/jobs?plugin=greeter');
    await expect.poll(() => rows.count()).toBe(body['total']);
    await restarted.kill9();
    await page.getByRole('button', { name: /Connection lost/ }).waitFor();
    await restarted.start();
    await restarted.finished('greeter/handle', { name: 'after' });
    await page.getByRole('button', { name: 'Live' }).waitFor();
    await expect.poll(() => rows.count()).toBe(Number(body['total']) + 1);
    await events.filter({ hasText: 'Events may be missing here: the service was restarted.' }).waitFor();
  });

  test('a gap in the stream: what is on screen is fetched again', async () => {
    const { job_id: id } = await gateway.finished('greeter/handle', { name: 'the last event before the gap' });
    const { seen } = await openSource(gateway, `?last_event_id=0&job_id=${id}`);
    const last = await until('its end is an event', () => seen.find(({ type }) => type === 'job.completed')?.id);
    const page = await visit(gateway, { at: '#/jobs' });
    // The first stream is held until the list is shown, then reports a gap and ends. The next one, of the service, has no news for the list.
    const held: Route[] = [];
    let isHeld = true;
    await page.route(/\/events\?/, route => {
      if (isHeld) held.push(route);
      else void route.continue();
    });
    await page.reload();
    await page.getByRole('table', { name: 'Jobs' }).getByTitle(id, { exact: true }).waitFor();
    const stream = await until('the page asks for events', () => held.at(-1));
    isHeld = false;
    const again = page.waitForRequest(/[/]jobs[?].*limit=100/);
    const body = `id: ${last}\nevent: gap\ndata: {"reason":"too_slow","lost":7}\n\n`;
    await stream.fulfill({ headers: { 'Content-Type': 'text/event-stream' }, body });
    await again;
  });

  test('what happens before the stream of events begins is shown', async () => {
    const { job_id: id } = await gateway.finished('greeter/handle', { name: 'before the stream' });
    const page = await visit(gateway, { at: `#/job/${id}` });
    const held: Route[] = [];
    let isHeld = true;
    await page.route(/\/events\?/, route => {
      if (isHeld) held.push(route);
      else void route.continue();
    });
    const gate = await gateway.submit('worker/handle', { gate: 'before the stream' });
    await gateway.noted('start', gate);
    await page.goto(`${gateway.url}/ui/#/job/${gate}`);
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await until('the page asks for events', () => held.length > 0);
    gateway.open('before the stream');
    await gateway.settled(gate);
    isHeld = false;
    for (const route of held) await route.continue().catch(() => {});
    await page.getByRole('button', { name: 'Rerun' }).waitFor();
  });

  test('without a stream of events, the attempts of a job are read again once it has ended', async () => {
    const id = await gateway.submit('worker/handle', { gate: 'attempts without a stream' });
    await gateway.noted('start', id);
    const page = await visit(gateway, { token: stopperToken });
    const held: Route[] = [];
    await page.route(/[/]job-logs[?]/, route => (held.length === 0 ? held.push(route) : route.continue()));
    await page.goto(`${gateway.url}/ui/#/job/${id}`);
    await until('the attempts are read', () => held.length === 1);
    gateway.open('attempts without a stream');
    await page
      .getByText(/^\W*succeeded$/)
      .first()
      .waitFor();
    await held[0]!.fulfill({ json: { logs: [], total: 0 } }).catch(() => {});
    await page.getByRole('list', { name: 'Attempts' }).getByText('Attempt 1').waitFor();
  });

  test('updates stop while the user has stopped them', async () => {
    const page = await visit(gateway, { at: '#/jobs?plugin=greeter' });
    let fetched = 0;
    // Counts requests for the list, not those for the counts by status, which have another limit.
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

  test('a token that may act on jobs and run no plugin sees no button that reruns', async () => {
    const page = await visit(gateway, { token: stopperToken, at: `#/run/${seeded().runs[0]}` });
    const main = page.getByRole('main');
    await main.getByRole('link', { name: 'Compare' }).waitFor();
    expect(await main.getByRole('button', { name: /^Rerun/ }).count()).toBe(0);
    await page.goto(`${gateway.url}/ui#/job/${seeded().job}`);
    await page.getByRole('heading', { name: 'mailer.handle', level: 1 }).waitFor();
    expect(await main.getByRole('button', { name: /^Rerun/ }).count()).toBe(0);
  });

  test('a token that may run only commands that read sees no button that reruns a run', async () => {
    const page = await visit(gateway, { token: commandToken, at: `#/run/${seeded().runs[0]}` });
    const main = page.getByRole('main');
    await main.getByRole('link', { name: 'Compare' }).waitFor();
    expect(await main.getByRole('button', { name: /^Rerun/ }).count()).toBe(0);
    await page.goto(`${gateway.url}/ui#/job/${seeded().job}`);
    await main.getByRole('button', { name: 'Rerun' }).waitFor();
  });

  test('a token that may see jobs and not runs stays on the page of the job, without links to the run', async () => {
    const run = seeded().runs[0];
    const page = await visit(gateway, { token: statusToken, at: `#/job/${run}` });
    const main = page.getByRole('main');
    await main.getByRole('heading', { name: 'send-parcels', level: 1 }).waitFor();
    await main.getByRole('heading', { name: 'Facts' }).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/job/${run}`);
    expect(await main.getByRole('link', { name: /^(Run|Compare)$/ }).count()).toBe(0);
    await page.goto(`${gateway.url}/ui#/pipeline/held`);
    await page.getByRole('button', { name: 'Run held' }).click();
    const followed = page.getByRole('region', { name: 'The job that was started' });
    await followed
      .getByText(/^\W*(queued|running|succeeded)$/)
      .first()
      .waitFor();
    expect(await followed.getByRole('link', { name: 'Follow the run' }).count()).toBe(0);
  });

  test('a token that may pause and read no job resumes what is paused', async () => {
    const page = await visit(gateway, { token: pauserToken, at: '#/plugins' });
    await page.getByRole('button', { name: 'Pause the plugin step', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByRole('button', { name: 'Resume the plugin step' }).waitFor();
    await page.goto(`${gateway.url}/ui#/plugin/step`);
    await page.getByText('Paused by api:pauser').waitFor();
    await page.getByRole('button', { name: 'Resume the plugin step' }).click();
    await page.getByRole('button', { name: 'Pause the plugin step', exact: true }).waitFor();
    await gateway.call('POST', '/control/pipeline/held/pause', {});
    await page.goto(`${gateway.url}/ui#/pipelines`);
    await page.getByRole('row').filter({ hasText: 'held' }).getByText('paused').waitFor();
    await page.goto(`${gateway.url}/ui#/pipeline/held`);
    await page.getByRole('button', { name: 'Resume the pipeline held' }).click();
    await page.getByRole('button', { name: 'Pause the pipeline held' }).waitFor();
  });

  test('a token that may see only the jobs of runs follows an open run to its end', async () => {
    const run = await gateway.run('held', { result: { gate: 'followed by its tree' } });
    const page = await visit(gateway, { token: treeToken, at: `#/run/${run}`, expected: [/status of 403/] });
    const main = page.getByRole('main');
    await main.getByRole('link', { name: 'running 1' }).waitFor();
    gateway.open('followed by its tree');
    await gateway.settled(run);
    await main.getByRole('link', { name: 'succeeded 2' }).waitFor();
    await page.getByText('No job failed.').waitFor();
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
