// axe on every screen, in light and in dark.
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from 'vitest';
import type { Gateway } from '../../service/gateway/gateway.ts';
import { type Page, reopen, visit } from './browser.ts';
import { type Seeded, screensOf, shown } from './screens.ts';

/** axe is a script that is put into the page, which the policy of the page forbids: these pages have none. */
const withoutPolicy = { bypassCSP: true } as const;

/** The rows of a list are alike: the first have all that there is, and a hundred would take many times as long. */
const furtherRows = ['main tbody tr:nth-child(n + 12)', 'main li:nth-child(n + 12)'];

/** Screens that one test looks at: each of them has a page of its own. */
const groupSize = 6;

async function violationsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  const builder = new AxeBuilder({ page }).setLegacyMode(true);
  for (const rows of furtherRows) builder.exclude(rows);
  const { violations } = await (rules ? builder.withRules([...rules]) : builder).analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(node => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary?.slice(0, 200)}`),
  );
}

/** In light, and in dark, in which the colours are all that differs. */
async function violationsInBoth(page: Page): Promise<string[]> {
  const found = await violationsOf(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  found.push(...(await violationsOf(page, ['color-contrast'])).map(text => `dark: ${text}`));
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}

/** `adminToken`: of the vault, which has the secret `smtp-password`. */
export function accessibilityChecks(gateway: Gateway, seeded: () => Seeded, adminToken: () => string): void {
  const names = screensOf({ runs: [], job: '' }).map(({ name }) => name);
  const groups = Array.from({ length: Math.ceil(names.length / groupSize) }, (_, n) =>
    names.slice(n * groupSize, (n + 1) * groupSize),
  );
  test.each(groups.map(group => [group.join(', '), group] as const))(
    'axe has no complaint about the screens %s, light and dark',
    async (_, group) => {
      const page = await visit(gateway, withoutPolicy);
      const found: [string, string[]][] = [];
      for (const { name, at } of screensOf(seeded())) {
        if (!group.includes(name)) continue;
        await reopen(page, gateway, at);
        await shown(page);
        found.push([name, await violationsInBoth(page)]);
      }
      expect(found).toEqual(group.map(name => [name, []]));
    },
  );

  test('axe has no complaint about the sign-in, the keys and a dialog', async () => {
    const page = await visit(gateway, { token: null, ...withoutPolicy });
    await page.getByLabel('API token').waitFor();
    const found = await violationsOf(page);
    const other = await visit(gateway, { at: '#/jobs', ...withoutPolicy });
    await shown(other);
    await other.keyboard.press('?');
    await other.getByRole('dialog').waitFor();
    found.push(...(await violationsOf(other)));
    expect(found).toEqual([]);
  });

  test.each([
    [
      'the secrets of an opened vault',
      '#/vault',
      async (page: Page) => {
        await page.getByLabel('Admin token of the vault').fill(adminToken());
        await page.getByRole('button', { name: 'Open' }).click();
        await page.getByRole('table', { name: 'Secrets' }).waitFor();
      },
    ],
    [
      'a schedule with its firings',
      '#/schedules/nightly',
      async (page: Page) => page.getByRole('heading', { name: 'Latest firings' }).waitFor(),
    ],
  ])('axe has no complaint about %s, light and dark', async (_, at, open) => {
    const page = await visit(gateway, { at, ...withoutPolicy });
    await open(page);
    expect(await violationsInBoth(page)).toEqual([]);
  });

  test('axe has no complaint about dialogs, light and dark', async () => {
    const page = await visit(gateway, withoutPolicy);
    const found: [string, string[]][] = [];
    const dialogs = [
      ['Cancel all…', '#/jobs?status=queued'],
      ['Rerun all…', '#/jobs?status=failed'],
      ['Rerun failed', `#/run/${seeded().runs[0]}`],
      ['Rerun', `#/job/${seeded().job}`],
      ['Pause the service', '#/now'],
      ['Backfill nightly', '#/schedules/nightly'],
      ['Reload…', '#/config'],
      [`Show attempt 1 of the job ${seeded().job}`, `#/logs?job_id=${seeded().job}`],
    ] as const;
    for (const [name, at] of dialogs) {
      await reopen(page, gateway, at);
      await page.getByRole('main').getByRole('button', { name, exact: true, disabled: false }).click();
      await page.getByRole('dialog').waitFor();
      found.push([name, await violationsInBoth(page)]);
    }
    expect(found).toEqual(dialogs.map(([name]) => [name, []]));
  });
}
