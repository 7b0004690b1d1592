// Baggage: data carried along a pipeline, set by steps and merged where chains come together.

import type { Path } from '../../config/pipeline/definition.ts';
import { isObject } from '../../runtime/json-value.ts';
import type { Json, JsonObject } from '../../runtime/packing.ts';
import type { Data } from './lookup.ts';
import { comparePaths } from './records/arrivals.ts';
import type { Leaf } from './records/run.ts';

/** A run's baggage may take so much, packed: it lies in every group of jobs. */
const contextBytesMax = 2 ** 20;

/** Why a run fails whose step would carry this context, packed; null: it may. */
export function contextFault(stepId: string, context: Uint8Array): string | null {
  if (context.length <= contextBytesMax) return null;
  return `step "${stepId}": more than ${contextBytesMax / 2 ** 20} MiB of baggage`;
}

type Open = { [key: string]: Json };

/** The context with the step's baggage laid over it; dotted targets nest. A path that is missing sets nothing. */
export function addBaggage(context: JsonObject, baggage: readonly (readonly [string, Path])[], data: Data): JsonObject {
  const next: Open = { ...context };
  for (const [target, path] of baggage) {
    const value = data(path);
    if (value === undefined) continue;
    const keys = target.split('.');
    const last = keys.pop()!;
    let here = next;
    for (const key of keys) {
      const below = Object.hasOwn(here, key) ? here[key] : undefined;
      const copy: Open = isObject(below) ? { ...below } : {};
      here[key] = copy;
      here = copy;
    }
    here[last] = value;
  }
  return next;
}

/** What the chains brought, by the text of its keys: of each, the one of the first chain. */
export type Leaves = Map<string, Leaf>;

/** Takes note of the context with which the chain of this path comes to a join. */
export function bringContext(leaves: Leaves, context: JsonObject, path: readonly number[]): void {
  const walk = (map: JsonObject, keys: readonly string[]): void => {
    for (const [key, value] of Object.entries(map)) {
      const here = [...keys, key];
      if (isObject(value) && Object.keys(value).length > 0) walk(value, here);
      else {
        const name = JSON.stringify(here);
        const known = leaves.get(name);
        if (known === undefined || comparePaths(path, known.path) < 0) leaves.set(name, { keys: here, path, value });
      }
    }
  };
  walk(context, []);
}

/** The context behind a join: the fork's, and what the chains brought where it had nothing; the first writer wins. */
export function mergeContext(fork: JsonObject, leaves: Leaves): JsonObject {
  const merged: Open = structuredClone(fork) as Open;
  const ordered = [...leaves.values()].sort(
    (a, b) => comparePaths(a.path, b.path) || (a.keys.join('.') < b.keys.join('.') ? -1 : 1),
  );
  for (const { keys, value } of ordered) setFirst(merged, keys, value);
  return merged;
}

function setFirst(into: Open, keys: readonly string[], value: Json): void {
  let here = into;
  for (const key of keys.slice(0, -1)) {
    if (!Object.hasOwn(here, key)) here[key] = {};
    const below = here[key];
    if (!isObject(below)) return;
    here = below as Open;
  }
  const last = keys.at(-1)!;
  if (!Object.hasOwn(here, last)) here[last] = value;
}
