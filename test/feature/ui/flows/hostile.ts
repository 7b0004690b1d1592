// Hostile texts in whatever the page shows of others: names, errors, stderr, logs, results, tags, reasons, descriptions, spans, events.
import { expect, test } from 'vitest';
import type { Settings } from '../../../service/gateway/configuration.ts';
import { type Gateway, startGateway } from '../../../service/gateway/gateway.ts';
import { type Page, visit } from '../browser.ts';
import { hostileTexts } from '../hostile-texts.ts';
import { type Seeded, screensOf, shown } from '../screens.ts';

const all = hostileTexts.join('\n');
/** A text as it is written in a configuration, with `${` escaped. */
const inConfig = (text: string) => text.replaceAll('${', () => '$${');

const speaker = `
export function handle({ event }, { log }) {
  const { text, all } = event.payload;
  log('error', text);
  return { status: 'error', error: text, retry: false, result: all };
}
export const say = ({ payload }) => ({ result: payload });
export function measure({ payload }, { span }) {
  for (const name of payload.names) span(name)();
}
`;
/** Prints its text on stderr, which is stored with the job. */
const printer = {
  code: `#!/usr/bin/env node
console.error(JSON.parse(require('node:fs').readFileSync(0)).payload.all);
console.log('{"status":"ok","result":null}');
`,
  entrypoint: 'main.cjs',
  runtime: 'process',
  commands: { print: {} },
};
/** A hostile text of one line. */
const handler = hostileTexts[16]!;
/** How many spans of an attempt are stored. */
const spansMax = 32;

const properties = Object.fromEntries(
  hostileTexts.map(text => [text, { type: 'string', description: text, title: text }]),
);

const settings: Settings = {
  plugins: {
    greeter: {
      code: speaker,
      description: all,
      commands: {
        handle: { description: all, input_schema: { type: 'object', properties } },
        say: { description: all },
      },
    },
    printer,
  },
  instances: { greeter: { retry: { max_attempts: 1 } } },
  pipelines: [
    {
      name: 'send-parcels',
      description: inConfig(all),
      steps: [
        {
          id: 'each',
          uses: 'greeter',
          foreach: 'payload.texts',
          fail_fast: false,
          with: { text: '{payload.item}' },
          if: { path: 'payload.kind', op: 'neq', value: inConfig(all) },
        },
        { id: 'all', uses: 'greeter.say', join: 'all' },
      ],
    },
  ],
  schedules: [{ id: 'hourly', every: '1h', plugin: 'greeter', payload: { text: inConfig(all) } }],
};

/** Jobs, runs, tags and pauses with all texts. */
async function fill(gateway: Gateway): Promise<Seeded> {
  const payloads = hostileTexts.map(text => ({ text, all }));
  const { body } = await gateway.call('POST', '/plugin/greeter/handle/batch', { payloads });
  const jobs = body['job_ids'] as readonly string[];
  const tagged = await gateway.call('POST', '/plugin/greeter/say', {
    payload: { all: hostileTexts },
    tags: Object.fromEntries(hostileTexts.slice(0, 4).map((text, n) => [`tag${n}`, text.replace(/\s/g, ' ')])),
  });
  const runs: string[] = [];
  for (let n = 0; n < 2; n++) runs.push((await gateway.ran('send-parcels', { texts: hostileTexts })).job_id);
  for (let first = 0; first < hostileTexts.length; first += spansMax)
    await gateway.finished('greeter/measure', { names: hostileTexts.slice(first, first + spansMax) });
  await gateway.allSettled(jobs);
  await gateway.settled(String(tagged.body['job_id']));
  await gateway.call('POST', '/control/plugin/greeter/pause', { reason: all.slice(0, 400) });
  const queued = await gateway.submit('greeter/say', { all });
  await gateway.call('POST', `/job/${queued}/cancel`, { reason: all.slice(0, 400) });
  const where = { plugin: hostileTexts[16]!, command: hostileTexts[0]! };
  const { status } = await gateway.call('POST', '/actions', { do: 'cancel', where, reason: all.slice(0, 400) });
  expect(status).toBe(202);
  return { runs, job: jobs[0]! };
}

/** Elements and attributes that only the texts could have brought into the page. */
const intruders = `[...document.querySelectorAll(
  'main script, main iframe, main object, main embed, main base, main meta, main link, main style, main img, main video, main audio, main marquee, a[href^="javascript" i]')]
  .concat([...document.querySelectorAll('*')].filter(node => node.getAttributeNames().some(name => name.startsWith('on'))))
  .map(node => node.outerHTML.slice(0, 200))`;

/** The hostile texts that the screen does not show. */
async function missing(page: Page): Promise<string[]> {
  const text = (await page.getByRole('main').textContent()) ?? '';
  return hostileTexts.filter(hostile => !text.includes(hostile));
}

/** The failures of the jobs that are run again, and the reason of a pause, as events. */
async function heardAsEvents(page: Page, gateway: Gateway): Promise<void> {
  const streamBegins = page.waitForResponse(/\/events\?types=job/);
  await page.goto(`${gateway.url}/ui#/events?types=job,plugin`);
  await streamBegins;
  await gateway.call('POST', '/control/plugin/greeter/resume');
  await gateway.call('POST', '/control/plugin/greeter/pause', { command: 'say', reason: handler });
  const payloads = hostileTexts.map(text => ({ text, all: '' }));
  await gateway.call('POST', '/plugin/greeter/handle/batch', { payloads });
  await expect.poll(() => missing(page)).toEqual([]);
  await page.getByRole('listitem').filter({ hasText: 'plugin.paused' }).getByText(handler).waitFor();
}

export function hostileFlows(): void {
  test(`${hostileTexts.length} hostile texts are shown as texts on every screen`, async () => {
    const gateway = await startGateway(settings);
    const seeded = await fill(gateway);
    const page = await visit(gateway, { expected: [/status of 40[34]/] });
    const dialogs: string[] = [];
    page.on('dialog', dialog => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const found: [string, unknown][] = [];
    const look = async (name: string) => {
      const strangers = (await page.evaluate(intruders)) as string[];
      if (strangers.length > 0) found.push([name, strangers]);
    };
    const lookNarrow = async (name: string) => {
      await look(name);
      await page.setViewportSize({ width: 360, height: 740 });
      await shown(page);
      const px = (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number;
      if (px > 0) found.push([`${name}, on a narrow page`, px]);
      await page.setViewportSize({ width: 1_440, height: 900 });
    };
    for (const { name, at } of screensOf(seeded)) {
      await page.goto(`${gateway.url}/ui${at}`);
      await shown(page);
      await look(name);
      // A filter that is in the URL is shown, too.
      await page.goto(`${gateway.url}/ui${at.split('?')[0]}?plugin=${encodeURIComponent(handler)}`);
      await shown(page);
    }
    await page.goto(`${gateway.url}/ui#/stopwatch/greeter?step=measure.run`);
    await page.getByRole('heading', { name: 'Spans' }).waitFor();
    expect(await missing(page)).toEqual([]);
    await lookNarrow('stopwatch with spans');
    const { job_id: printed } = await gateway.finished('printer/print', { all });
    await page.goto(`${gateway.url}/ui#/job/${printed}`);
    const stderr = page.getByRole('list', { name: 'Attempts' }).getByText('stderr').locator('..');
    await expect.poll(() => stderr.textContent()).toContain(all);
    await lookNarrow('a job with stderr');
    await heardAsEvents(page, gateway);
    await lookNarrow('events as they happen');
    expect({ found, dialogs }).toEqual({ found: [], dialogs: [] });
    await page.goto(`${gateway.url}/ui#/job/${seeded.job}`);
    await page.getByText(hostileTexts[0]!, { exact: false }).first().waitFor();
  });
}
