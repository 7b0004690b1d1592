// Baggage is data that tokens carry along a run. Steps set it, and joins merge it.

import type { Path } from '../../../config/pipeline/definition.ts';
import { isObject } from '../../../runtime/json-value.ts';
import type { Json, JsonObject } from '../../../runtime/packing.ts';
import type { Data } from '../expressions/lookup.ts';
import { comparePaths } from '../records/arrivals.ts';
import type { MergedValues } from '../records/run.ts';

/** The maximum size of packed baggage, of which every group of jobs stores a copy. */
export const contextBytesMax = 2 ** 20;

/** The error of a run whose packed context is too large at this step. Null: the context is small enough. */
export function contextFault(stepId: string, context: Uint8Array): string | null {
  return context.length <= contextBytesMax ? null : baggageFault(stepId);
}

export function baggageFault(stepId: string): string {
  return `step "${stepId}": more than ${contextBytesMax / 2 ** 20} MiB of baggage`;
}

type MutableObject = { [key: string]: Json };

/** The context with the step's baggage added. Dotted names create nested maps; a path that is missing in the data is skipped. */
export function addBaggage(context: JsonObject, baggage: readonly (readonly [string, Path])[], data: Data): JsonObject {
  const next: MutableObject = { ...context };
  for (const [target, path] of baggage) {
    const value = data.value(path);
    if (value === undefined) continue;
    const keys = target.split('.');
    const last = keys.pop()!;
    let here = next;
    for (const key of keys) {
      const below = Object.hasOwn(here, key) ? here[key] : undefined;
      const copy: MutableObject = isObject(below) ? { ...below } : {};
      here[key] = copy;
      here = copy;
    }
    here[last] = value;
  }
  return next;
}

/**
 * Adds the context of a token that arrives at a join to `merged`. If several tokens have a value under the same keys, the token that comes
 * first in the order of paths wins. `maps`: the keys of the maps that dotted targets create (compile.ts). Any other map is one value.
 */
export function addContext(
  merged: MergedValues,
  context: JsonObject,
  path: readonly number[],
  maps: ReadonlySet<string>,
): void {
  const walk = (map: JsonObject, keys: readonly string[]): void => {
    for (const [key, value] of Object.entries(map)) {
      const here = [...keys, key];
      const name = JSON.stringify(here);
      if (isObject(value) && Object.keys(value).length > 0 && maps.has(name)) walk(value, here);
      else {
        const known = merged.get(name);
        if (known === undefined || comparePaths(path, known.path) < 0) merged.set(name, { keys: here, path, value });
      }
    }
  };
  walk(context, []);
}

/**
 * The context after a join: the context at the fork, and the values that tokens added under keys that the fork's context lacks. If several
 * tokens added a value under the same keys, the first token in the order of paths wins.
 */
export function mergeContext(fork: JsonObject, merged: MergedValues): JsonObject {
  const context: MutableObject = structuredClone(fork) as MutableObject;
  const ordered = [...merged.values()].sort(
    (a, b) => comparePaths(a.path, b.path) || (a.keys.join('.') < b.keys.join('.') ? -1 : 1),
  );
  for (const { keys, value } of ordered) setFirst(context, keys, value);
  return context;
}

function setFirst(into: MutableObject, keys: readonly string[], value: Json): void {
  let here = into;
  for (const key of keys.slice(0, -1)) {
    if (!Object.hasOwn(here, key)) here[key] = {};
    const below = here[key];
    if (!isObject(below)) return;
    here = below as MutableObject;
  }
  const last = keys.at(-1)!;
  if (!Object.hasOwn(here, last)) here[last] = value;
}
