// Measures how fast a queue of one size is drained. The best of several rounds counts, so that a disturbance does not
// look like growth.
import { type Drained, drainQueue, type QueuePlan } from '../queue.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { ms, perSecond } from './growth.ts';

export async function measureDrains(service: Service, stage: Stage, plan: QueuePlan, rounds: number) {
  const drained: Drained[] = [];
  for (let round = 0; round < rounds; round++) drained.push(await drainQueue(service, stage, plan));
  const rate = (elapsedMs: number) => (plan.jobs * 1000) / elapsedMs;
  return {
    drained_per_s: perSecond(Math.max(...drained.map(({ elapsedMs }) => rate(elapsedMs)))),
    accepted_per_s: perSecond(Math.max(...drained.map(({ accepted }) => rate(accepted.elapsedMs)))),
    accept_p99: ms(Math.min(...drained.map(({ accepted }) => accepted.p99Us)) / 1000),
  };
}
