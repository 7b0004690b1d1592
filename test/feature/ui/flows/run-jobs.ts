// Flows of what the page of a run says of its jobs: the slowest, the first failures, the critical path, the tree, and the jobs of phases.
import { expect, test } from 'vitest';
import type { RunTimeline } from '../../../../ui/screens/run/timeline.ts';
import type { Gateway, Job } from '../../../service/gateway/gateway.ts';
import { visit } from '../browser.ts';
import { stepOf, stripsOf } from '../idle-run.ts';

/** More jobs than the tree reads at once. */
const manyJobs = 230;

export function runJobFlows(gateway: Gateway, run: () => RunTimeline): void {
  test('the slowest jobs and the first failures are those of all steps, or of the one that is chosen', async () => {
    const page = await visit(gateway, { at: `#/run/${run().job_id}` });
    const slowest = page.getByRole('list', { name: 'Slowest jobs' });
    const failures = page.getByRole('list', { name: 'First failures' });
    const idsIn = (jobs: typeof slowest) =>
      jobs
        .getByRole('listitem')
        .getByRole('link')
        .evaluateAll(links => links.map(link => link.getAttribute('title')));
    const ids = (jobs: readonly { readonly job_id: string }[]) => jobs.map(({ job_id: id }) => id);
    await slowest.waitFor();
    const ofAllSteps = run().steps.flatMap(step => step.slowest);
    expect(ofAllSteps).toHaveLength(8);
    expect(await idsIn(slowest)).toEqual(ids(ofAllSteps.sort((a, b) => b.run_us - a.run_us)));
    const { failed } = stepOf(run(), 'each');
    expect(await idsIn(failures)).toEqual(ids(failed));
    expect(failed.map(({ error }) => error).sort()).toEqual(['no route', 'no such host']);
    expect(await failures.getByRole('listitem').allTextContents()).toEqual(
      failed.map(({ error }) => expect.stringContaining(error!)),
    );

    const step = (name: string) => stripsOf(page).getByRole('button', { name, exact: true });
    await step('all').press('Enter');
    await expect.poll(() => idsIn(slowest)).toEqual(ids(stepOf(run(), 'all').slowest));
    await page.getByText('No job has failed.', { exact: true }).waitFor();
    await page.reload();
    expect(await step('all').getAttribute('aria-pressed')).toBe('true');
    await step('each').click();
    await expect.poll(() => idsIn(slowest)).toEqual(ids(stepOf(run(), 'each').slowest));
    expect(await step('all').getAttribute('aria-pressed')).toBe('false');
    await page.getByRole('button', { name: 'show all steps' }).first().click();
    await expect.poll(() => idsIn(slowest)).toHaveLength(8);
    await expect.poll(() => page.url()).not.toContain('step=');
    await page.getByRole('link', { name: 'all 2', exact: true }).click();
    await page.getByText('2 jobs match').waitFor();
    const rows = page.getByRole('table', { name: 'Jobs' });
    for (const id of ids(stepOf(run(), 'each').failed)) await rows.getByTitle(id, { exact: true }).waitFor();
  });

  test('the critical path leads from job to job, and a table has the figures of the steps', async () => {
    const page = await visit(gateway, { at: `#/run/${run().job_id}` });
    await stripsOf(page).getByRole('button', { name: 'Critical path' }).click();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toMatch(/^the chain of jobs/);
    const entries = page.getByRole('list', { name: 'Critical path' }).getByRole('listitem');
    const path = run().critical_path;
    expect(path.map(({ step }) => step)).toEqual(['first', 'each', 'all', 'tell']);
    await expect.poll(() => entries.count()).toBe(path.length);
    for (const [n, { job_id: id, step }] of path.entries()) {
      await entries
        .nth(n)
        .filter({ hasText: new RegExp(`^${step}`) })
        .waitFor();
      await entries.nth(n).getByTitle(id, { exact: true }).waitFor();
    }
    await page.getByRole('img', { name: /^The critical path: first, then each, then all, then tell\./ }).waitFor();

    await page.getByText('All figures as a table').click();
    const row = page.getByRole('region', { name: 'Figures of the steps' }).getByRole('row').filter({ hasText: 'each' });
    await expect
      .poll(async () => (await row.getByRole('cell').allTextContents()).slice(0, 4))
      .toEqual(['5', '2', '0', '0']);
    await entries.nth(1).getByTitle(path[1]!.job_id, { exact: true }).click();
    await page.getByRole('heading', { name: 'later.handle', level: 1 }).waitFor();
  });

  test('a job of a phase cannot be run again, the others can', async () => {
    const jobs = await gateway.tree(run().job_id);
    const page = await visit(gateway, { at: `#/job/${jobOf(jobs, 'echo')}` });
    await page.getByText('tell, in finally').waitFor();
    await page.getByRole('button', { name: 'Copy as curl' }).waitFor();
    const rerun = page.getByRole('main').getByRole('button', { name: 'Rerun' });
    expect(await rerun.count()).toBe(0);
    await page.goto(`${gateway.url}/ui#/job/${jobOf(jobs, 'later')}`);
    await page.getByRole('heading', { name: 'later.handle', level: 1 }).waitFor();
    await rerun.waitFor();
  });

  test('the tree is opened, closed and walked through by keys, and reads long branches as they come into view', async () => {
    const many = await gateway.ran('parts', { result: { list: Array(manyJobs).fill({}) } });
    const page = await visit(gateway, { at: `#/run/${many.job_id}` });
    const tree = page.getByRole('tree', { name: 'Jobs of the run' });
    await tree.getByRole('treeitem').first().waitFor();
    await tree.focus();
    const current = async () => page.locator(`#${await tree.getAttribute('aria-activedescendant')}`);
    const at = async (level: number, text: string | RegExp) => {
      await expect.poll(async () => (await current()).getAttribute('aria-level')).toBe(String(level));
      await expect.poll(async () => (await current()).textContent()).toMatch(text);
    };
    await at(1, 'step.handle');
    await page.keyboard.press('ArrowRight');
    await tree.getByText('later.handle').first().waitFor();
    expect(await (await current()).getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('ArrowDown');
    await at(2, /\.handle/);
    // The rows below are read once they are in view.
    const rest = page.waitForResponse(/[/]jobs[?]parent=.*cursor=/);
    for (let n = 0; n < 20; n++) await page.keyboard.press('PageDown');
    await rest;
    await expect
      .poll(async () => {
        await page.keyboard.press('End');
        return (await current()).textContent();
      })
      .toMatch(/echo\.handle|later\.handle|step\.handle/);
    await page.keyboard.press('Home');
    await at(1, 'step.handle');
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowLeft']) await page.keyboard.press(key);
    await at(1, 'step.handle');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(async () => (await current()).getAttribute('aria-expanded')).toBe('false');
    expect(await tree.getByText('later.handle').count()).toBe(0);
  });
}

const jobOf = (jobs: readonly Job[], wanted: string) => jobs.find(({ plugin }) => plugin === wanted)!.job_id;
