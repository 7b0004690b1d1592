// Flows by keyboard alone.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { visit } from '../browser.ts';

export function keyboardFlows(gateway: Gateway): void {
  test('keys go to screens, to the filters, and list themselves', async () => {
    const page = await visit(gateway, { at: '#/now' });
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keys' });
    await help.getByText('go to Jobs').waitFor();
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.tagName')).toMatch(/INPUT|SELECT/);
    // In a field, keys type letters instead of moving to a screen.
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    expect(page.url()).toContain('#/jobs');
  });

  test('a dialog that is closed returns the focus to where it was', async () => {
    const page = await visit(gateway, { at: '#/jobs' });
    const cancel = page.getByRole('button', { name: 'Cancel all' });
    await cancel.click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: /^Cancel \d/ }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Cancel all/);
  });

  test('g r goes to the list of runs', async () => {
    const page = await visit(gateway, { at: '#/now' });
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    const rows = page.getByRole('table', { name: 'Jobs' }).getByRole('row');
    await rows.filter({ hasText: 'send-parcels' }).first().waitFor();
    expect(new URL(page.url()).hash).toBe('#/jobs?plugin=pipeline');
    // The list has only runs left.
    await expect.poll(() => rows.filter({ hasText: 'mailer' }).count()).toBe(0);
  });

  test.each([
    ['failures', 'Failures', 'Plugin'],
    ['plugins', 'Plugins', 'Find a plugin'],
    ['logs', 'Logs', 'Search errors, output, messages and results'],
    ['events', 'Events', 'Text'],
  ])('/ goes to the first filter of %s', async (name, title, label) => {
    const page = await visit(gateway, { at: `#/${name}` });
    await page.getByRole('heading', { name: title, level: 1 }).waitFor();
    await page.getByLabel(label, { exact: true }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('seen');
    expect(await page.getByLabel(label, { exact: true }).inputValue()).toBe('seen');
  });

  test('j, k and Enter open a log, the jobs of a group of failures, and the job of an event', async () => {
    const { job_id: failed } = await gateway.finished('failing/handle', {
      message: 'opened by keyboard',
      retry: false,
    });
    const page = await visit(gateway, { at: '#/logs?plugin=failing' });
    await page.getByRole('list', { name: 'Logs' }).getByTitle(failed, { exact: true }).waitFor();
    for (const key of ['j', 'j', 'k', 'Enter']) await page.keyboard.press(key);
    const log = page.getByRole('dialog', { name: 'failing handle, attempt 1' });
    await log.getByRole('region', { name: 'Error', exact: true }).getByText('opened by keyboard').waitFor();
    await log.getByRole('button', { name: 'Response' }).click();
    await log.getByRole('region', { name: 'The response of the plugin' }).getByText('"status":"error"').waitFor();
    await page.keyboard.press('Escape');
    await log.waitFor({ state: 'detached' });

    await page.goto(`${gateway.url}/ui#/failures?plugin=failing`);
    const groups = page.getByRole('list', { name: 'Groups of failures' }).getByRole('listitem');
    await groups.first().filter({ hasText: 'opened by keyboard' }).waitFor();
    for (const key of ['j', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('table', { name: 'Jobs' }).getByTitle(failed, { exact: true }).waitFor();
    expect(page.url()).toContain('#/jobs?fingerprint=');

    await page.goto(`${gateway.url}/ui#/events?text=greeter`);
    const events = page.getByRole('list', { name: 'Events, newest first' }).getByRole('listitem');
    const heard = async () => {
      await gateway.finished('greeter/handle', { name: 'Ada' });
      return events.count();
    };
    await expect.poll(heard, { interval: 300 }).toBeGreaterThan(0);
    await page.keyboard.press('f');
    for (const key of ['j', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: 'greeter.handle', level: 1 }).waitFor();
  });

  test('times are shown exactly, also after the page is loaded again', async () => {
    const page = await visit(gateway, { at: '#/jobs' });
    const time = page.getByRole('table', { name: 'Jobs' }).getByRole('time').first();
    await time.filter({ hasText: /ago|now/ }).waitFor();
    await page.keyboard.press('t');
    await time.filter({ hasText: /^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d/ }).waitFor();
    await page.reload();
    await time.filter({ hasText: /^20\d\d-/ }).waitFor();
    await page.getByRole('button', { name: 'Times: exact' }).click();
    await time.filter({ hasText: /ago|now/ }).waitFor();
  });

  test('the whole page can be walked through with Tab, and the focus is visible', async () => {
    const page = await visit(gateway, { at: '#/jobs' });
    await page.getByRole('row').nth(1).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    for (let n = 0; n < 6; n++) {
      await page.keyboard.press('Tab');
      const outline = await page.evaluate(`(() => {
        const style = getComputedStyle(document.activeElement);
        return style.outlineStyle !== 'none' || style.boxShadow !== 'none';
      })()`);
      expect(outline, `the focus after ${n + 1} presses of Tab`).toBe(true);
    }
  });
}
