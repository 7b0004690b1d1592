// axe on every screen, in light and in dark.
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from 'vitest';
import type { Gateway } from '../../service/gateway/gateway.ts';
import { type Page, visit } from './browser.ts';
import { type Seeded, screensOf, shown } from './screens.ts';

/** axe is a script that is put into the page, which the policy of the page forbids: these pages have none. */
const withoutPolicy = { bypassCSP: true } as const;

async function violationsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  const builder = new AxeBuilder({ page }).setLegacyMode(true);
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
  return found;
}

/** `adminToken`: of the vault, which has the secret `smtp-password`. */
export function accessibilityChecks(gateway: Gateway, seeded: () => Seeded, adminToken: () => string): void {
  const names = screensOf({ runs: [], job: '' }).map(({ name }) => name);
  test.each(names)('axe has no complaint about the screen %s, light and dark', async name => {
    const { at } = screensOf(seeded()).find(screen => screen.name === name)!;
    const page = await visit(gateway, { at, ...withoutPolicy });
    await shown(page);
    expect(await violationsInBoth(page)).toEqual([]);
  });

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

  test.each([
    ['Cancel all…', () => '#/jobs?status=queued'],
    ['Rerun all…', () => '#/jobs?status=failed'],
    ['Rerun failed', () => `#/run/${seeded().runs[0]}`],
    ['Rerun', () => `#/job/${seeded().job}`],
    ['Pause the service', () => '#/now'],
    ['Backfill nightly', () => '#/schedules/nightly'],
    ['Reload…', () => '#/config'],
  ])('axe has no complaint about the dialog of %s, light and dark', async (name, at) => {
    const page = await visit(gateway, { at: at(), ...withoutPolicy });
    await page.getByRole('main').getByRole('button', { name, exact: true, disabled: false }).click();
    await page.getByRole('dialog').waitFor();
    expect(await violationsInBoth(page)).toEqual([]);
  });
}
