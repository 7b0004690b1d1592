// Finds pipelines that call themselves, directly or through others.
import { type PipelineDefinition, type Step, stepLists } from './definition.ts';

/** The pipelines that these steps, and the steps inside `steps` and `split`, call directly. */
function callsOf(steps: readonly Step[]): string[] {
  const found: string[] = [];
  for (const step of steps) {
    if (step.kind === 'call') found.push(step.pipeline);
    else if (step.kind === 'steps') found.push(...callsOf(step.steps));
    else if (step.kind === 'split') for (const branch of step.branches) found.push(...callsOf(branch.steps));
  }
  return found;
}

/**
 * Finds cycles of pipelines that call each other. A cycle is the list of their names, with the first name again at the end. If
 * pipelines form cycles, at least one cycle is found.
 */
export function findCycles(pipelines: readonly PipelineDefinition[]): string[][] {
  const calls = new Map(pipelines.map(pipeline => [pipeline.name, [...new Set(callsOf(stepLists(pipeline).flat()))]]));
  const cycles: string[][] = [];
  const done = new Set<string>();
  const visit = (name: string, chain: readonly string[]): void => {
    const begin = chain.indexOf(name);
    if (begin >= 0) {
      cycles.push([...chain.slice(begin), name]);
      return;
    }
    if (done.has(name)) return;
    for (const called of calls.get(name) ?? []) visit(called, [...chain, name]);
    done.add(name);
  };
  for (const { name } of pipelines) visit(name, []);
  return cycles;
}
