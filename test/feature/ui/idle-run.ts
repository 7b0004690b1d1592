// A run whose time has an idle part, for flows of its page.

import { idleSpans } from '../../../ui/screens/run/strip.ts';
import type { RunStep, RunTimeline } from '../../../ui/screens/run/timeline.ts';
import type { Gateway } from '../../service/gateway/gateway.ts';
import { until } from '../../service/gateway/until.ts';
import type { Page } from './browser.ts';

/** How long the first run lies idle between its first step and the others. */
const idleMsMin = 300;
/** The idle share of a run that is long enough to be seen on its time axis. */
const idleShareMin = 0.25;
const list = [{ wait: 90 }, { fail: 'no such host' }, { wait: 5 }, { fail: 'no route', wait: 60 }, {}];

/**
 * Runs the pipeline `parts`; resolves with its timeline, in as many buckets as the page has. Its steps are `first`, `each`, `all` and, at the
 * end, `tell`. The five jobs of `each` are of the plugin `later`. If the jobs took so long that the idle time hardly shows beside them, another
 * run lies idle as long as they took.
 */
export async function idleRun(gateway: Gateway): Promise<RunTimeline> {
  for (let idleMs = idleMsMin; ; ) {
    const timeline = await runWith(gateway, idleMs);
    const { steps, bucket_us: bucketUs, duration_us: wholeUs } = timeline;
    const idleUs = idleSpans(steps, bucketUs, wholeUs).reduce((sum, { fromUs, toUs }) => sum + toUs - fromUs, 0);
    if (idleUs >= idleShareMin * wholeUs) return timeline;
    idleMs = (wholeUs - idleUs) / 1_000;
  }
}

async function runWith(gateway: Gateway, idleMs: number): Promise<RunTimeline> {
  await gateway.call('POST', '/control/plugin/later/pause');
  const run = await gateway.run('parts', { result: { list } });
  await until('its second step waits', async () => (await gateway.tree(run)).some(({ plugin }) => plugin === 'later'));
  const waitsMs = Date.now();
  await until('the run was idle', () => Date.now() > waitsMs + idleMs);
  await gateway.call('POST', '/control/plugin/later/resume');
  await gateway.settled(run);
  return (await gateway.call('GET', `/job/${run}/timeline?buckets=500`)).body as unknown as RunTimeline;
}

export const stepOf = ({ steps }: RunTimeline, name: string): RunStep => steps.find(({ step }) => step === name)!;

/** The steps of a run on its time axis. */
export const stripsOf = (page: Page) => page.getByRole('group', { name: /^Steps on the time axis/ });
