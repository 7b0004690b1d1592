// axe on every screen, dialog and form, in light and in dark.
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from 'vitest';
import type { Gateway } from '../../service/gateway/gateway.ts';
import { type Page, reopen, visit } from './browser.ts';
import { type Seeded, screensOf, shown } from './screens.ts';

/** axe is a script that is put into the page, which the page's content security policy forbids, so it is switched off for these pages. */
export const withoutPolicy = { bypassCSP: true } as const;

/** Rows of lists that axe skips: they are like the first ones, and a hundred rows would take many times as long. */
const furtherRows = ['main tbody tr:nth-child(n + 12)', 'main li:nth-child(n + 12)'];

/** How many screens one test checks, each in a page of its own. */
const groupSize = 6;

/** `within`: a selector of the part to look at, if it is not the whole page. */
type Look = { readonly rules?: readonly string[]; readonly within?: string | undefined };

async function violationsOf(page: Page, { rules, within }: Look = {}): Promise<string[]> {
  const builder = new AxeBuilder({ page }).setLegacyMode(true);
  if (within !== undefined) builder.include(within);
  for (const rows of furtherRows) builder.exclude(rows);
  const { violations } = await (rules ? builder.withRules([...rules]) : builder).analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(node => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary?.slice(0, 200)}`),
  );
}

/** The violations in the light theme, and those of the colours in the dark theme, in which nothing else differs. */
export async function violationsInBoth(page: Page, within?: string): Promise<string[]> {
  const found = await violationsOf(page, { within });
  await page.emulateMedia({ colorScheme: 'dark' });
  found.push(...(await violationsOf(page, { rules: ['color-contrast'], within })).map(text => `dark: ${text}`));
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}

/** `adminToken`: that of the vault, which has the secret `smtp-password`. */
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

  test('axe has no complaint about a list that is read again, which a line above its rows shows, light and dark', async () => {
    const page = await visit(gateway, { at: '#/jobs', ...withoutPolicy });
    await shown(page);
    await page.route(/[/]jobs[?]status=succeeded&limit=100/, () => {});
    await page
      .getByRole('navigation', { name: 'Statuses' })
      .getByRole('link', { name: /succeeded/ })
      .click();
    await page.locator('.job-list[aria-busy="true"]').waitFor();
    await page.waitForFunction(`getComputedStyle(document.querySelector('.job-list'), '::before').opacity === '1'`);
    expect(await violationsInBoth(page)).toEqual([]);
  });

  test('axe has no complaint about the sign-in, and what it says to a wrong token, light and dark', async () => {
    const page = await visit(gateway, { token: null, expected: [/status of 401/], ...withoutPolicy });
    await page.getByLabel('API token').fill('not-a-token');
    const found = await violationsInBoth(page);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The service does not accept this token.').waitFor();
    found.push(...(await violationsInBoth(page)));
    expect(found).toEqual([]);
  });

  test('axe has no complaint about a form, what is wrong with it, the job that it starts, and the message about it, light and dark', async () => {
    const page = await visit(gateway, { at: '#/plugin/greeter', ...withoutPolicy });
    const form = page.getByRole('form', { name: 'Run greeter handle' });
    const run = form.getByRole('button', { name: 'Run greeter handle' });
    await form.getByText('When, and with which tags').click();
    await run.click();
    await form.getByText('required').first().waitFor();
    const found = await violationsInBoth(page, '.run-panel');
    await form.getByLabel('name').fill('Ada');
    await run.click();
    await page.getByRole('region', { name: 'The job that was started' }).getByText('hello Ada').waitFor();
    await page.getByRole('link', { name: 'Show the job' }).waitFor();
    found.push(...(await violationsInBoth(page)));
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
    const { body } = await gateway.call('POST', '/plugin/echo/say', { payload: {}, delay: '1h' });
    const delayed = `#/job/${body['job_id']}`;
    const dialogs = [
      ['Cancel all…', '#/jobs?status=queued'],
      ['Rerun failed', `#/run/${seeded().runs[0]}`],
      ['Rerun', `#/job/${seeded().job}`],
      ['Cancel', delayed],
      ['Reschedule', delayed],
      ['Pause the service', '#/now'],
      ['Pause the plugin greeter', '#/plugin/greeter'],
      ['Run nightly now', '#/schedules'],
      ['Pause nightly', '#/schedules'],
      ['Backfill nightly', '#/schedules/nightly'],
      ['Reload…', '#/config'],
      [`Show attempt 1 of the job ${seeded().job}`, `#/logs?job_id=${seeded().job}`],
    ] as const;
    let shownAt = '';
    for (const [name, at] of dialogs) {
      if (at !== shownAt) await reopen(page, gateway, at);
      shownAt = at;
      await page.getByRole('main').getByRole('button', { name, exact: true, disabled: false }).click();
      found.push([name, await lookAtDialog(page)]);
    }
    await page.keyboard.press('?');
    found.push(['Keys', await lookAtDialog(page)]);
    expect(found).toEqual([...dialogs.map(([name]) => name), 'Keys'].map(name => [name, []]));
  });
}

/** By how much the text of the dialog is wider than its room, in px. */
const overflow = `(body => body.scrollWidth - body.clientWidth)(document.querySelector('dialog[open] > div'))`;

/** Looks at the dialog that opens, clicks beside its controls, which does nothing, and closes it. */
async function lookAtDialog(page: Page): Promise<string[]> {
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  const found = await violationsInBoth(page, 'dialog[open]');
  if (((await page.evaluate(overflow)) as number) > 0) found.push('its text is cut off');
  const before = page.url();
  await dialog.getByRole('heading').first().click();
  if (page.url() !== before) found.push('a click on its heading leads elsewhere');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  return found;
}
