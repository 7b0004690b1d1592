// Closes the gates: starts jobs that block all plugin threads. Until the gates are opened, further jobs are queued, and none runs.
import type { Caller } from './caller.ts';
import { until } from './pause.ts';
import type { Service } from './service.ts';
import { type Stage, workers } from './stage.ts';

/** Threads, programs and persistent processes each need gates of their own. */
export type Gate = 'gate' | 'program-gate' | 'persistent-gate';

/**
 * Closes the gates, which may have been closed and opened before. `threads`: how many jobs can run at once. First waits until the service is
 * idle, because jobs in a host behind a gate would be returned, and would count as queued.
 */
export async function closeGates(
  service: Service,
  stage: Stage,
  threads = workers,
  gate: Gate = 'gate',
): Promise<void> {
  const caller = service.caller();
  await idle(caller);
  stage.renewGates();
  for (let held = 1; held <= threads; held++) {
    await caller.submit(`/plugin/${gate}/hold`, {});
    await until(() => (stage.heldCount() >= held ? true : undefined), {
      everyMs: 5,
      withinMs: 10_000,
      what: `gate ${held} held`,
    });
  }
}

/** Resolves when nothing is queued and nothing runs. */
export async function idle(caller: Caller): Promise<void> {
  await until(async () => ((await caller.unsettled()) === 0 ? true : undefined), {
    everyMs: 5,
    withinMs: 120_000,
    what: 'an idle service',
  });
}
