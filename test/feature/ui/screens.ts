// Every screen of the dashboard, as the tests and pictures visit it.
import type { Page } from './browser.ts';

export type Seeded = { readonly runs: readonly string[]; readonly job: string };

export type ScreenVisit = { readonly name: string; readonly at: string };

/** The places, with a run and a job where a screen shows one. */
export function screensOf({ runs, job }: Seeded): readonly ScreenVisit[] {
  const [one = '', other = ''] = runs;
  return [
    { name: 'now', at: '#/now' },
    { name: 'jobs', at: '#/jobs' },
    { name: 'job', at: `#/job/${job}` },
    { name: 'run', at: `#/run/${one}` },
    { name: 'compare', at: `#/compare?a=${one}&b=${other}` },
    { name: 'stopwatch', at: '#/stopwatch/parcels' },
    { name: 'actions', at: '#/actions' },
    { name: 'failures', at: '#/failures' },
    { name: 'logs', at: '#/logs' },
    { name: 'plugins', at: '#/plugins' },
    { name: 'plugin', at: '#/plugin/greeter' },
    { name: 'pipelines', at: '#/pipelines' },
    { name: 'pipeline', at: '#/pipeline/send-parcels' },
    { name: 'schedules', at: '#/schedules' },
    { name: 'events', at: '#/events' },
    { name: 'vault', at: '#/vault' },
    { name: 'config', at: '#/config' },
    { name: 'doctor', at: '#/doctor' },
  ];
}

/** A script for `evaluate` that resolves after a frame has been drawn: in a task after two frames. */
export const drawn =
  'new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))';

/** Waits until the screen shows its content: no part of it is loading, and what depends on its size is drawn. */
export async function shown(page: Page): Promise<void> {
  await page.getByRole('main').waitFor();
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
  // Parts that depend on a size are drawn in effects, which Preact runs in a task after a frame. So this waits for a task after two frames.
  await page.evaluate(drawn);
}
