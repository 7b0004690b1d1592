// Breaks down a thread's time by floor and by function, from its CPU profile. Only time within the measured stretches
// counts.
import type { Profiler } from 'node:inspector';
import { type Floor, floorOf, floors } from './floors.ts';

/** A span of time, in µs of the system's monotonic clock, like the times in profiles. */
export type Span = { readonly startUs: number; readonly endUs: number };
export type FunctionTime = { readonly name: string; readonly floor: Floor; us: number };
export type Breakdown = {
  /** How much of the spans the profile covers, in µs. */
  readonly wholeUs: number;
  readonly floorsUs: { readonly [floor in Floor]: number };
  /** The functions with their own time, without the functions that they call; the largest time comes first. */
  readonly functions: readonly FunctionTime[];
};

/**
 * Breaks down a profile. Each sample counts for the time until the next one. If there are no spans, the whole profile
 * counts.
 */
export function breakDown(profile: Profiler.Profile, spans: readonly Span[], root: string): Breakdown {
  const within = spans.length > 0 ? spans : [{ startUs: profile.startTime, endUs: profile.endTime }];
  const floorOfNode = placeNodes(profile, root);
  const selfUs = new Map<number, number>();
  const { samples = [], timeDeltas = [] } = profile;
  let atUs = profile.startTime;
  for (let i = 0; i < samples.length; i++) {
    atUs += timeDeltas[i]!;
    const nextUs = i + 1 < samples.length ? atUs + timeDeltas[i + 1]! : profile.endTime;
    const us = sharedUs(atUs, nextUs, within);
    if (us > 0) selfUs.set(samples[i]!, (selfUs.get(samples[i]!) ?? 0) + us);
  }
  const floorsUs = Object.fromEntries(floors.map(floor => [floor, 0])) as { [floor in Floor]: number };
  const functions = new Map<string, FunctionTime>();
  for (const { id, callFrame } of profile.nodes) {
    const us = selfUs.get(id) ?? 0;
    const floor = floorOfNode.get(id)!;
    floorsUs[floor] += us;
    const name = nameOf(callFrame, root);
    const known = functions.get(`${floor} ${name}`) ?? { name, floor, us: 0 };
    known.us += us;
    functions.set(`${floor} ${name}`, known);
  }
  return {
    wholeUs: Object.values(floorsUs).reduce((sum, us) => sum + us, 0),
    floorsUs,
    functions: [...functions.values()].filter(({ us }) => us > 0).sort((a, b) => b.us - a.us),
  };
}

/** The floor of each node, by the node's id. In a profile, parents come before their children. */
function placeNodes({ nodes }: Profiler.Profile, root: string): Map<number, Floor> {
  const callers = new Map<number, Floor>();
  const placed = new Map<number, Floor>();
  for (const { id, callFrame, children = [] } of nodes) {
    const floor = floorOf(callFrame, callers.get(id) ?? 'native', root);
    placed.set(id, floor);
    for (const child of children) callers.set(child, floor);
  }
  return placed;
}

function sharedUs(startUs: number, endUs: number, spans: readonly Span[]): number {
  let us = 0;
  for (const span of spans) us += Math.max(0, Math.min(endUs, span.endUs) - Math.max(startUs, span.startUs));
  return us;
}

function nameOf({ functionName, url, lineNumber }: Profiler.ProfileNode['callFrame'], root: string): string {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const path = url.startsWith(root) ? url.slice(root.length).replace(/^dist\//, '') : url;
  return `${name} ${path}:${lineNumber + 1}`;
}
