// Closing the gates: from then on jobs queue up and none runs.
import { until } from './pause.ts';
import type { Service } from './service.ts';
import { type Stage, workers } from './stage.ts';

/** `threads`: of the service's plugin host. They may have been closed and opened before. */
export async function closeGates(service: Service, stage: Stage, threads = workers): Promise<void> {
  const caller = service.caller();
  stage.renewGates();
  for (let held = 1; held <= threads; held++) {
    await caller.submit('/plugin/gate/hold', {});
    await until(() => (stage.heldCount() >= held ? true : undefined), {
      everyMs: 5,
      withinMs: 10_000,
      what: `gate ${held} held`,
    });
  }
}
