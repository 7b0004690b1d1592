// axe on screens without their content: while they load, after an error of the service, at a place that does not exist, with a token that lacks
// scopes; and on screens at the width of a phone (on all of them in the deep suite).
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../service/gateway/gateway.ts';
import { isDeep } from '../../../support/deep.ts';
import { violationsInBoth, withoutPolicy } from '../accessibility.ts';
import { type Page, reopen, visit } from '../browser.ts';
import { type ScreenVisit, type Seeded, screensOf, shown } from '../screens.ts';
import { greeter, stopperToken } from '../service.ts';

const phone = { width: 360, height: 740 };
/** An id that no job has. */
const unknown = '0198c0de-0000-7000-8000-000000000000';
/** Requests to the API, apart from those with which the page signs in and reads events. */
const api = /^http:[/][/][^/]+[/](?!ui\b|whoami$|events\b)/;

/** Returns the complaints of axe about each screen, by its name, in light and dark. `ready` resolves when the screen is as it is to be looked at. */
async function looksAt(
  page: Page,
  gateway: Gateway,
  screens: readonly ScreenVisit[],
  ready: (page: Page) => Promise<unknown> = shown,
) {
  const found: Record<string, string[]> = {};
  for (const { name, at } of screens) {
    await reopen(page, gateway, at);
    await ready(page);
    found[name] = await violationsInBoth(page);
  }
  return found;
}

const clean = (screens: readonly ScreenVisit[]) => Object.fromEntries(screens.map(({ name }) => [name, []]));
const only = (screens: readonly ScreenVisit[], names: string) =>
  screens.filter(({ name }) => names.split(' ').includes(name));

export function stateChecks(gateway: Gateway, seeded: () => Seeded): void {
  test('axe has no complaint about screens on a phone, light and dark', { timeout: 240_000 }, async () => {
    const all = screensOf(seeded());
    const screens = isDeep ? all : only(all, 'now jobs run compare stopwatch failures');
    const page = await visit(gateway, { size: phone, ...withoutPolicy });
    expect(await looksAt(page, gateway, screens)).toEqual(clean(screens));
  });

  test('axe has no complaint about the screens of a service without jobs, and about unknown ids, light and dark', async () => {
    const own = await startGateway({ plugins: { greeter } });
    const page = await visit(own, { expected: [/status of 404/], ...withoutPolicy });
    const all = screensOf({ runs: [unknown, unknown], job: unknown });
    const screens = all.filter(({ name }) => !['config', 'doctor', 'events', 'vault'].includes(name));
    screens.push(
      { name: 'schedule', at: '#/schedules/nobody' },
      { name: 'no page', at: '#/nowhere' },
      { name: 'no id', at: '#/job/' },
    );
    expect(await looksAt(page, own, screens)).toEqual(clean(screens));
  });

  test('axe has no complaint about errors of the service, light and dark', async () => {
    const page = await visit(gateway, { expected: [/status of 500/], ...withoutPolicy });
    const json = { status: 500, title: 'It cannot be read', detail: 'The log of the service has the reason.' };
    await page.route(api, route => route.fulfill({ status: 500, json, contentType: 'application/problem+json' }));
    const screens = only(screensOf(seeded()), 'now job run compare stopwatch failures plugin doctor');
    const refused = async () => {
      await page.getByText('It cannot be read').first().waitFor();
      await shown(page);
    };
    expect(await looksAt(page, gateway, screens, refused)).toEqual(clean(screens));
  });

  test('axe has no complaint about screens that the token may not see, or only in part, light and dark', async () => {
    const page = await visit(gateway, { token: stopperToken, expected: [/status of 403/], ...withoutPolicy });
    const screens = only(screensOf(seeded()), 'schedules pipeline config events');
    expect(await looksAt(page, gateway, screens)).toEqual(clean(screens));
  });

  test('axe has no complaint about screens that are loading, light and dark', async () => {
    const page = await visit(gateway, withoutPolicy);
    await page.route(api, () => {});
    const loading = () => page.getByRole('main').getByRole('status', { name: 'Loading' }).first().waitFor();
    const screens = only(screensOf(seeded()), 'now jobs job run plugin');
    expect(await looksAt(page, gateway, screens, loading)).toEqual(clean(screens));
  });
}
