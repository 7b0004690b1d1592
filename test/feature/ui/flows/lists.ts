// Long lists: rows of equal height, of which only those near the view are in the document.
import { expect, test } from 'vitest';
import type { Gateway } from '../../../service/gateway/gateway.ts';
import { visit } from '../browser.ts';

const rowCount = 1_000;
/** The rows of a list that are in the document. */
const drawnMax = 300;

/** The service's own answer, with its first row repeated. */
async function repeated(gateway: Gateway, path: string, of: string, key: string): Promise<object> {
  const { body } = await gateway.call('GET', path);
  const [row] = body[of] as readonly object[];
  const rows = Array.from({ length: rowCount }, (_, n) => ({
    ...row,
    [key]: String(n),
    stderr: 'a line\n'.repeat(n % 9),
  }));
  return { ...body, [of]: rows, total: rowCount, next_cursor: undefined };
}

export function listFlows(gateway: Gateway): void {
  test.each([
    ['Jobs', '#/jobs', 'jobs', 'jobs', 'job_id'],
    ['Logs', '#/logs', 'job-logs', 'logs', 'log_id'],
    ['Groups of failures', '#/failures', 'failures', 'failures', 'fingerprint'],
  ])('of a long list %s only some rows are in the document, all of one height', async (label, at, path, of, key) => {
    const answer = await repeated(gateway, `/${path}`, of, key);
    for (const width of [1440, 360]) {
      const page = await visit(gateway, { at: '#/now', size: { width, height: 800 } });
      // The counts by status have a limit of one job.
      await page.route(new RegExp(`/${path}([?](?!.*limit=1$)|$)`), route => route.fulfill({ json: answer }));
      await page.goto(`${gateway.url}/ui${at}`);
      const rows = page
        .getByRole('list', { name: label })
        .or(page.getByRole('table', { name: label }))
        .locator('[data-row]');
      await expect.poll(() => rows.count()).toBe(drawnMax);
      const height = () => page.evaluate('document.documentElement.scrollHeight');
      const before = await height();
      for (const place of [500, 999]) {
        await page.evaluate(`scrollTo(0, document.documentElement.scrollHeight * ${place / rowCount})`);
        await page.locator(`[data-row="${place - 1}"]`).waitFor();
        expect(await rows.count()).toBe(drawnMax);
        expect(await height()).toBe(before);
      }
      const heights = await rows.evaluateAll(found => found.map(row => row.getBoundingClientRect().height));
      expect(new Set(heights).size).toBe(1);
      await page.context().close();
    }
  });
}
