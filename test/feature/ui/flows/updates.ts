// What the page does by itself: when it fetches again, when it does not, and how many streams it has.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { type Page, visit } from '../browser.ts';
import { gapsOf, ObservedPage } from '../observed.ts';
import { type Seeded, screensOf, shown } from '../screens.ts';
import { stopperToken } from '../service.ts';

const listed = ({ path }: { readonly path: string }) => /^[/]jobs[?].*limit=100/.test(path);

type Freeze = {
  readonly what: string;
  readonly at: string;
  /** The path that the page fetches afterwards. */
  readonly fetched: string;
  /** How many ms pass meanwhile. */
  readonly ms?: number;
  /** False if the screen does not use the events of jobs. */
  readonly hears?: false;
  readonly begin: (page: Page) => Promise<unknown>;
  readonly end: (page: Page) => Promise<unknown>;
};

const freezes: readonly Freeze[] = [
  {
    what: 'text is selected',
    at: '#/jobs?plugin=greeter',
    fetched: '/jobs',
    begin: page => page.getByRole('heading', { name: 'Jobs', level: 1 }).selectText(),
    end: page => page.evaluate('getSelection().removeAllRanges()'),
  },
  {
    what: 'a dialog is open',
    at: '#/jobs?plugin=greeter',
    fetched: '/jobs',
    begin: page => page.getByRole('button', { name: 'Cancel all' }).click(),
    end: page => page.keyboard.press('Escape'),
  },
  {
    what: 'a form is edited',
    at: '#/plugin/greeter',
    fetched: '/overview',
    begin: page => page.getByRole('form').getByLabel('name').focus(),
    end: page => page.getByRole('link', { name: 'Durations' }).focus(),
  },
  {
    what: 'updates are stopped, though the window of the stopwatch moves on each minute',
    at: '#/stopwatch/greeter',
    fetched: '/stopwatch/greeter',
    ms: 130_000,
    hears: false,
    begin: page => page.getByRole('button', { name: 'Live' }).click(),
    end: page => page.getByRole('button', { name: 'Updates stopped' }).click(),
  },
  {
    what: 'the tab is hidden',
    at: '#/now',
    fetched: '/overview',
    begin: page => page.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, value: true })"),
    end: page => page.evaluate('delete document.hidden'),
  },
];

/** The streams of events that the service has open. */
async function streamsOf(gateway: Gateway): Promise<number> {
  const { body } = await gateway.call('GET', '/metrics');
  return Number(/^headgate_sse_streams(?:\{[^}]*\})? (\d+)$/m.exec(String(body['text']))![1]);
}

export function updateFlows(gateway: Gateway, seeded: () => Seeded): void {
  test('what is on screen is fetched again at most once a second, and every two seconds while the service is busy', async () => {
    const observed = await ObservedPage.open(gateway, { at: '#/jobs' });
    await shown(observed.page);
    await observed.stopClock();
    const before = (await observed.asked()).length;
    for (let n = 0; n < 16; n++) {
      await observed.hears();
      await observed.pass(250);
    }
    const calm = (await observed.asked()).slice(before);
    expect(gapsOf(calm).filter(({ ms }) => ms < 1_000)).toEqual([]);
    expect(calm.filter(listed).length).toBeGreaterThanOrEqual(3);

    const payloads = Array(150).fill({ name: 'Ada' });
    const { heard } = await observed.seen();
    await gateway.call('POST', '/plugin/greeter/handle/batch', { payloads });
    await until('the page hears more than it can use', async () => {
      const { heard: now } = await observed.seen();
      return now.slice(heard.length).split('event: ').length > 150;
    });
    // The second with too many events ends, and the page opens a stream without the events of jobs.
    await observed.pass(1_250);
    const types = async () => (await observed.seen()).asked.findLast(({ path }) => path.startsWith('/events'))!.path;
    expect(await types()).not.toContain('job.');
    // When that stream begins, the page fetches once more; then it fetches at intervals.
    for (let n = 0; n < 18; n++) await observed.pass(250);
    const busyBefore = (await observed.asked()).length;
    for (let n = 0; n < 30; n++) {
      await gateway.finished('greeter/handle', { name: 'Ada' });
      await observed.pass(250);
    }
    const busy = (await observed.asked()).slice(busyBefore);
    expect(gapsOf(busy).filter(({ ms }) => ms < 2_000)).toEqual([]);
    expect(busy.filter(listed).length).toBeGreaterThanOrEqual(3);
    // No further events come for a while.
    await observed.pass(6_000);
    await until('the stream has the events of jobs again', async () => (await types()).includes('job.'));
    const id = await observed.hears();
    await observed.pass(2_000);
    await observed.page.getByRole('table', { name: 'Jobs' }).getByTitle(id, { exact: true }).waitFor();
  });

  test.each(freezes.map(freeze => [freeze.what, freeze] as const))(
    'nothing is fetched while %s, and what has changed is fetched afterwards',
    async (_, { at, fetched, ms = 20_000, hears = true, begin, end }) => {
      const observed = await ObservedPage.open(gateway, { at });
      const { page } = observed;
      const happens = () => (hears ? observed.hears() : gateway.finished('greeter/handle', { name: 'Ada' }));
      await shown(page);
      await observed.stopClock();
      await happens();
      await observed.pass(1_500);
      await begin(page);
      await observed.pass(250);
      const before = (await observed.asked()).length;
      await happens();
      await observed.pass(ms);
      expect((await observed.asked()).slice(before)).toEqual([]);
      await end(page);
      await observed.pass(1_000);
      const after = (await observed.asked()).slice(before);
      expect(after.map(({ path }) => path.split('?')[0])).toContain(fetched);
    },
  );

  test('a stream that falls silent is lost after 45 seconds, and opened again', async () => {
    const observed = await ObservedPage.open(gateway, { at: '#/jobs' });
    await shown(observed.page);
    await observed.stopClock();
    const streams = async () => (await observed.seen()).asked.filter(({ path }) => path.startsWith('/events')).length;
    const before = await streams();
    await observed.pass(20_000);
    expect(await streams()).toBe(before);
    // A comment of the service begins the silence again.
    await until('the stream is opened again', async () => {
      await observed.pass(5_000);
      return (await streams()) > before;
    });
    await observed.page.getByRole('button', { name: 'Live' }).waitFor();
    const id = await observed.hears();
    await observed.pass(2_000);
    await observed.page.getByRole('table', { name: 'Jobs' }).getByTitle(id, { exact: true }).waitFor();
  });

  test('a queued job shows what it waits for now: every five seconds, and after events of pauses', async () => {
    const pause = (reason: string) => gateway.call('POST', '/control/plugin/step/pause', { reason });
    await pause('the first reason');
    const id = await gateway.submit('step/handle');
    await gateway.waiting(id, 'paused');
    const observed = await ObservedPage.open(gateway, { at: `#/job/${id}` });
    const { page } = observed;
    await page.getByText('the first reason').first().waitFor();
    await observed.stopClock();
    await observed.pass(2_000);
    const asked = async () => (await observed.asked()).filter(({ path }) => path === `/job/${id}?result=short`).length;
    const before = await asked();
    for (let n = 0; n < 6 && (await asked()) === before; n++) await observed.pass(1_000);
    expect(await asked()).toBe(before + 1);
    await pause('the second reason');
    await until('the page hears of it', async () => (await observed.seen()).heard.includes('the second reason'));
    await observed.pass(1_000);
    await page.getByText('the second reason').first().waitFor();
    await gateway.call('POST', '/control/plugin/step/resume');
    await gateway.settled(id);
  });

  test.each([
    ['the logs', '#/logs'],
    ['the failures', '#/failures'],
  ])('a field of %s keeps what is typed while the list below it is fetched again', async (_, at) => {
    const page = await visit(gateway, { at });
    await page.getByRole('button', { name: 'Live' }).waitFor();
    const field = page.getByLabel('Plugin');
    await field.pressSequentially('fai');
    const message = `typed over ${at.slice(2)}`;
    await gateway.finished('failing/handle', { message, retry: false });
    await page.getByRole('main').getByText(message).first().waitFor();
    expect(await field.inputValue()).toBe('fai');
    await field.pressSequentially('ling');
    await field.press('Enter');
    await expect.poll(() => new URL(page.url()).hash).toBe(`${at}?plugin=failing`);
    await page.getByRole('button', { name: 'Clear' }).click();
    await expect.poll(() => field.inputValue()).toBe('');
  });

  test('a clock that is set back does not stop updates', async () => {
    const observed = await ObservedPage.open(gateway, { at: '#/jobs' });
    const { page } = observed;
    await shown(page);
    await observed.stopClock();
    await page.clock.setSystemTime(((await page.evaluate('Date.now()')) as number) - 3_600_000);
    const id = await observed.hears();
    await observed.pass(2_000);
    await page.getByRole('table', { name: 'Jobs' }).getByTitle(id, { exact: true }).waitFor();
  });

  test('with a token that may not read events, what is on screen is fetched every five seconds', async () => {
    const given = { at: '#/jobs', token: stopperToken };
    const observed = await ObservedPage.open(gateway, given, 'Updated every 5 s');
    await shown(observed.page);
    await observed.stopClock();
    const before = (await observed.asked()).length;
    for (let n = 0; n < 22; n++) {
      await gateway.finished('greeter/handle', { name: 'Ada' });
      await observed.pass(1_000);
    }
    const asked = (await observed.asked()).slice(before);
    expect(asked.filter(listed).length).toBeGreaterThanOrEqual(4);
    expect(gapsOf(asked.filter(listed)).filter(({ ms }) => ms < 5_000 || ms > 6_000)).toEqual([]);
    expect((await observed.seen()).streamsMax).toBe(0);
  });

  test('a tab has one stream of events, whatever screens are visited', async () => {
    const observed = await ObservedPage.open(gateway);
    const { page } = observed;
    for (const { at } of screensOf(seeded())) {
      await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
      await shown(page);
    }
    const { streams, streamsMax } = await observed.seen();
    expect({ streams, streamsMax }).toEqual({ streams: 1, streamsMax: 1 });
    await until('the service has the stream of this page, and no other', async () => (await streamsOf(gateway)) === 1);
  });

  test.each(['#/jobs', '#/events'])(
    'a tab at %s that is hidden closes its stream, and shows afterwards what has happened meanwhile',
    async at => {
      const observed = await ObservedPage.open(gateway, { at });
      const { page } = observed;
      await shown(page);
      await observed.stopClock();
      await observed.hears();
      const turn = (hidden: boolean) =>
        page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
          document.dispatchEvent(new Event('visibilitychange'))`);
      const has = (streams: number) => async () => (await streamsOf(gateway)) === streams;
      // Whoever only looks at another tab keeps the stream.
      await turn(true);
      await observed.pass(1_000);
      await turn(false);
      await observed.pass(10_000);
      expect((await observed.seen()).streams).toBe(1);
      await turn(true);
      await observed.pass(6_000);
      await until('the service has no stream', has(0));
      const { job_id: id } = await gateway.finished('greeter/handle', { name: 'Ada' });
      await turn(false);
      await observed.pass(1_000);
      await until('the service has the stream again', has(1));
      await observed.pass(2_000);
      await page.getByRole('main').getByTitle(id, { exact: true }).first().waitFor();
    },
  );
}
