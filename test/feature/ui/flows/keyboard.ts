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
    // In a field, keys are letters.
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    expect(page.url()).toContain('#/jobs');
  });

  test('times are shown exactly, and so again after the page is loaded anew', async () => {
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
