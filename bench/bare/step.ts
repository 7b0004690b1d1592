// The step that a thread of the bare gateway's host runs: it returns the current time.
import { nowUs } from '../moment.ts';
import type { Begun, Steps } from './protocol.ts';

export function runSteps(steps: Steps): Begun {
  return steps.map(id => [id, nowUs()] as const);
}
