// Runs one life of a world, from a seed. If something breaks, says what, and finds a smaller scenario that breaks too.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Broken } from './broken.ts';
import type { Scenario } from './faults.ts';
import { faultNames } from './faults.ts';
import type { Compared } from './model.ts';
import { World } from './world.ts';

/** The default number of turns in which faults strike. */
export const turnsDefault = 200;

export type Ran = {
  readonly scenario: Scenario;
  readonly turns: number;
  /** What broke, and where; null: nothing. */
  readonly problem: string | null;
  readonly compared: (Compared & { readonly acted: number }) | null;
  /** How often each fault struck. */
  readonly struck: ReadonlyMap<string, number>;
};

/** Runs a world. On disk, each world has a new directory in that of the scenario. */
export function run(scenario: Scenario): Ran {
  Broken.first = null;
  let world: World | null = null;
  try {
    world = new World(
      scenario.disk === null ? scenario : { ...scenario, disk: mkdtempSync(join(scenario.disk, 'world-')) },
    );
    const compared = world.run();
    return { scenario, turns: world.turns, problem: null, compared, struck: world.faults.struck };
  } catch (error) {
    const { message, stack = '' } = error as Error;
    const problem = error instanceof Broken ? message : stack;
    const turns = world?.turns ?? 0;
    return { scenario, turns, problem, compared: null, struck: world?.faults.struck ?? new Map() };
  } finally {
    world?.close();
  }
}

/** The smallest scenario found that still breaks: fewer faults, fewer turns. */
export function shrink(failed: Ran): Ran {
  let smallest = failed;
  const isSmaller = (scenario: Scenario): boolean => {
    const again = run(scenario);
    if (again.problem === null) return false;
    smallest = again;
    return true;
  };
  // Tries fewer turns with faults: first up to the turn in which it broke, then half as many, and so on.
  for (let turns = Math.min(failed.turns, failed.scenario.turns); turns >= 1; turns = Math.floor(turns / 2)) {
    if (!isSmaller({ ...smallest.scenario, turns })) break;
  }
  for (const name of faultNames) {
    const { without, ...rest } = smallest.scenario;
    if (!without.has(name)) isSmaller({ ...rest, without: new Set([...without, name]) });
  }
  return smallest;
}

/** The command that repeats the scenario. */
export function commandOf({ seed, turns, without, disk }: Scenario): string {
  const left = without.size > 0 ? ` --without ${[...without].join(',')}` : '';
  const on = disk === null ? '' : ` --disk ${disk}`;
  return `npm run simulate -- --seed ${seed} --turns ${turns}${left}${on}`;
}
