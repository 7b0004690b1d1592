// `npm run pictures`: pictures of every screen, at three widths, light and dark, without data, with little and with much, for people to look at.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Gateway, startGateway } from '../../service/gateway/gateway.ts';
import { until } from '../../service/gateway/until.ts';
import { hasBrowser, shareBrowser, visit } from './browser.ts';
import { type Seeded, screensOf, shown } from './screens.ts';
import { carriers, seed, seedMuch, settings } from './service.ts';

const directory = process.env['HEADGATE_PICTURES'] ?? '';
const only = process.env['HEADGATE_SCREENS']?.split(',');
const widths = [
  { width: 1440, height: 900 },
  { width: 768, height: 1024 },
  { width: 360, height: 740 },
];
const documentation = fileURLToPath(new URL('../../../docs/pictures', import.meta.url));
const nothing: Seeded = { runs: [], job: '' };

const states: readonly { readonly name: string; readonly fill: (gateway: Gateway) => Promise<Seeded> }[] = [
  { name: 'none', fill: async () => nothing },
  { name: 'little', fill: gateway => seed(gateway) },
  { name: 'much', fill: gateway => seedMuch(gateway) },
];

describe.runIf(hasBrowser && directory !== '')('pictures', () => {
  shareBrowser();
  for (const { name: state, fill } of states) {
    describe(`with ${state === 'none' ? 'no' : state} data`, () => {
      const gateway = new Gateway(settings);
      let seeded = nothing;
      beforeAll(async () => {
        mkdirSync(directory, { recursive: true });
        await gateway.start();
        seeded = await fill(gateway);
      }, 600_000);
      afterAll(() => gateway.discard());

      const names = screensOf(nothing)
        .map(({ name }) => name)
        .filter(name => only?.includes(name) ?? true);
      test.each(names)('%s', async name => {
        const { at } = screensOf(seeded).find(screen => screen.name === name)!;
        if (at.includes('undefined') || /\/(job|run)\/$/.test(at)) return;
        const page = await visit(gateway, { at, expected: [/./] });
        for (const size of widths) {
          await page.setViewportSize(size);
          for (const theme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme: theme });
            await shown(page);
            const path = join(directory, `${name}-${state}-${size.width}-${theme}.png`);
            await page.screenshot({ path, fullPage: size.width !== 1440, animations: 'disabled' });
          }
          const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          expect.soft(overflow, `${name} is wider than ${size.width} px`).toBeLessThanOrEqual(0);
        }
      });
    });
  }

  test('the pictures of the documentation, as a reader of the tour sees the pages', async () => {
    const { plugins, instances, pipelines } = settings;
    const parcels = plugins!['parcels'] as string;
    const tour = {
      plugins: { parcels },
      instances: { parcels: instances!['parcels']! },
      pipelines: pipelines!.filter(({ name }) => name === 'send-parcels'),
    };
    const gateway = await startGateway(tour);
    const picture = async (name: string, at: string) => {
      const page = await visit(gateway, { at, size: { width: 1200, height: 760 } });
      await shown(page);
      await page.screenshot({ path: join(documentation, `${name}.png`), animations: 'disabled' });
    };
    const slow = await gateway.ran('send-parcels', { count: 300 });
    const groups = async () => (await gateway.call('GET', '/failures')).body['total'];
    // One group for the failed labels, and one for the run itself.
    await until('both groups of failures are counted', async () => (await groups()) === 2);
    await picture('now', '#/now');
    await picture('run', `#/run/${slow.job_id}`);
    await picture('failures', '#/failures');
    const repaired = { parcels: { config: { carriers: { ...carriers, NO: 'posten' } } } };
    const quick = { parcels: { code: parcels, commands: { price: { concurrency: 64 } } } };
    await gateway.reload({ ...tour, plugins: quick, instances: repaired });
    const { job_id: fast } = await gateway.ran('send-parcels', { count: 300 });
    await picture('compare', `#/compare?a=${slow.job_id}&b=${fast}`);
  });
});
