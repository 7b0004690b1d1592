// Runs steps in a thread of the bare gateway's host. A step only reads the current time.
import { nowUs } from '../moment.ts';
import type { Begun, Steps } from './protocol.ts';

export function runSteps(steps: Steps): Begun {
  return steps.map(id => [id, nowUs()] as const);
}
