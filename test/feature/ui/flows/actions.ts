// Flows of actions over many jobs: how they are asked for, and their list.
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { type Page, type Route, visit } from '../browser.ts';
import { drawn } from '../screens.ts';
import { greeter } from '../service.ts';

/** Has three jobs fail with this word, and asks on the page of these jobs to rerun all of them. */
async function askToRerun(gateway: Gateway, word: string): Promise<Page> {
  for (let n = 0; n < 3; n++) await gateway.finished('failing/handle', { message: `${word} ${n}`, retry: false });
  const page = await visit(gateway, { at: `#/jobs?status=failed&plugin=failing&error=${word}` });
  await page.getByText('3 jobs match').waitFor();
  await page.getByRole('button', { name: 'Rerun all' }).click();
  return page;
}

export function actionFlows(gateway: Gateway): void {
  test('rerun all failed jobs that match a filter, after a dry run that counts them; the action is in the list', async () => {
    const page = await askToRerun(gateway, 'rerun');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Filter: plugin failing, status failed, error rerun.').waitFor();
    await dialog.getByText('3 jobs match.').waitFor();
    await dialog.getByLabel('Reason').fill('the provider is back');
    await dialog.getByRole('button', { name: 'Rerun 3' }).click();
    await page.getByText('3 matched.').waitFor();
    await page.getByRole('link', { name: 'Show the action' }).click();
    await page.getByRole('heading', { level: 1 }).filter({ hasText: 'rerun' }).waitFor();
    await page.getByText('of 3 jobs that matched').waitFor();
    await page.getByText('3 done', { exact: true }).waitFor();
    await page.getByText('Rerun: plugin failing, status failed, words of the error rerun').waitFor();
    // An action cannot be run again, and no call of a plugin starts it.
    expect(
      await page
        .getByRole('main')
        .getByRole('button', { name: /^(Rerun|Copy as)/ })
        .count(),
    ).toBe(0);

    const id = new URL(page.url()).hash.split('/').at(-1)!;
    await page.getByRole('link', { name: 'All actions' }).click();
    await page.getByRole('heading', { name: 'Actions', level: 1 }).waitFor();
    const rows = page.getByRole('list', { name: 'Actions' }).getByRole('listitem');
    const row = rows.filter({ hasText: 'the provider is back' });
    for (const text of ['plugin failing, status failed, words of the error rerun', '3 of 3', 'by api:test'])
      await row.getByText(text, { exact: true }).waitFor();
    await row.getByText('succeeded').waitFor();
    await row.getByRole('img', { name: 'Jobs that were handled: done 3' }).waitFor();
    await row.getByRole('link', { name: 'Rerun' }).click();
    await expect.poll(() => page.url()).toContain(`#/job/${id}`);

    // The log of an action leads to the list, because no plugin carries it out.
    await page.goto(`${gateway.url}/ui#/logs?job_id=${id}`);
    await page.getByRole('list', { name: 'Logs' }).getByRole('link', { name: 'action rerun' }).click();
    await row.getByText('3 of 3', { exact: true }).waitFor();
  });

  test('an action has a limit and a pace, and runs reuse what succeeded', async () => {
    const page = await askToRerun(gateway, 'limited');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Rerun 3' }).waitFor();
    await dialog.getByLabel('Jobs at most').fill('0');
    await dialog.getByText('must be a whole number from 1 to 1000000000').waitFor();
    expect(await dialog.getByRole('button', { name: 'Rerun 3' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Jobs at most').fill('2');
    await dialog.getByLabel('Jobs a second').fill('50');
    await dialog.getByLabel('Runs reuse').check();
    await dialog.getByRole('button', { name: 'Rerun 2' }).click();
    await page.getByText('3 matched.').waitFor();
    await page.getByRole('link', { name: 'Show the action' }).click();
    await page.getByText('2 done', { exact: true }).waitFor();
    await page.getByText('Rerun from failed, at most 2, 50 a second: plugin failing').waitFor();
    await page.getByText('The limit of 2 leaves out 1 of the 3 jobs that matched.').waitFor();
  });

  test('a dry run that another choice has overtaken counts no more: what is offered is what would be done', async () => {
    const page = await visit(gateway, { at: '#/jobs?plugin=greeter' });
    const held: Route[] = [];
    await page.route('**/actions', route => {
      const { where } = route.request().postDataJSON();
      if (where.children === true) void route.fulfill({ json: { matched: 5_000, sample: [], up_to: '' } });
      else held.push(route);
    });
    await page.getByRole('button', { name: 'Cancel all' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Counting…').waitFor();
    await until('the first dry run is under way', () => held.length === 1);
    const aborted = page.waitForEvent('requestfailed', request => request.url().endsWith('/actions'));
    await dialog.getByLabel('Also jobs inside runs').check();
    await dialog.getByText(/^5\s000 jobs match\.$/).waitFor();
    await aborted;
    await held[0]!.fulfill({ json: { matched: 5, sample: [], up_to: '' } }).catch(() => {});
    await page.evaluate(drawn);
    expect(await dialog.getByRole('button', { name: /^Cancel / }).allTextContents()).toEqual([
      expect.stringMatching(/^Cancel 5\s000$/),
    ]);
  });

  test('a service without actions says how one is started', async () => {
    const own = await startGateway({ plugins: { greeter } });
    const page = await visit(own, { at: '#/now' });
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Actions' }).click();
    await page.getByText('No action has been started').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'jobs' }).click();
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
  });
}
