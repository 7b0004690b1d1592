// Evaluates a directory of profiles. The result is a table for people, or metrics.
import { readdirSync, readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Bundles } from '../../runtime/source-names.ts';
import type { Metric } from '../bench.ts';
import { projectRoot } from '../project.ts';
import type { Stretch } from '../usage.ts';
import { type Breakdown, breakDown } from './breakdown.ts';
import { pendingSuffix, profileSuffix, roleOrder } from './files.ts';
import { floors } from './floors.ts';

const functionsShown = 6;

type Thread = { readonly name: string; readonly breakdown: Breakdown };
export type Account = {
  /** The measured threads. A thread has the name of its file: `<role>-<process>-<thread>`. */
  readonly threads: readonly Thread[];
  /** The names of threads that wrote no profile, because their code blocked them. */
  readonly silent: readonly string[];
};

/**
 * Reads all profiles of a directory. Only samples within the stretches count; if there are no stretches, all samples
 * count.
 */
export function readAccount(directory: string, stretches: readonly Stretch[]): Account {
  const spans = stretches.map(({ before, after }) => ({ startUs: before.atUs, endUs: after.atUs }));
  const root = `${pathToFileURL(projectRoot).href}/`;
  const bundles = new Bundles();
  const names = (suffix: string) => {
    const found = readdirSync(directory).filter(name => name.endsWith(suffix));
    return found
      .map(name => name.slice(0, -suffix.length))
      .sort((a, b) => placeOf(a) - placeOf(b) || a.localeCompare(b));
  };
  const threads = names(profileSuffix).map(name => {
    const text = readFileSync(join(directory, name + profileSuffix), 'utf8');
    return { name, breakdown: breakDown(ofSources(JSON.parse(text), bundles, root), spans, root) };
  });
  // A thread without samples in a stretch belongs to a service that was not measured.
  return { threads: threads.filter(({ breakdown }) => breakdown.wholeUs > 0), silent: names(pendingSuffix) };
}

/** Maps functions from the bundles that the service runs to their source files. */
function ofSources(profile: Profiler.Profile, bundles: Bundles, root: string): Profiler.Profile {
  const nodes = profile.nodes.map(node => {
    const { url, lineNumber } = node.callFrame;
    const from = url.startsWith(`${root}dist/`) ? bundles.placeOf(url, lineNumber + 1) : null;
    if (from === null) return node;
    const place = from.source.startsWith('node_modules/') ? from.source : `dist/${from.source}`;
    return { ...node, callFrame: { ...node.callFrame, url: root + place, lineNumber: from.line } };
  });
  return { ...profile, nodes };
}

function placeOf(name: string): number {
  return roleOrder.indexOf(name.split('-')[0]!);
}

/** One metric for each thread and floor, in ms. */
export function accountMetrics({ threads }: Account): Metric[] {
  return threads.flatMap(({ name, breakdown: { floorsUs } }) =>
    floors.map(floor => ({ name: `${name}.${floor}`, value: floorsUs[floor] / 1000, unit: 'ms' })),
  );
}

/** A table with the percentage of each thread's time by floor, and the functions that take most of its time. */
export function accountTable({ threads, silent }: Account): string {
  const wide = Math.max(...threads.map(({ name }) => name.length));
  const head = ['thread'.padEnd(wide), 'ms'.padStart(8), ...floors.map(floor => floor.padStart(8))].join('');
  const rows = threads.map(({ name, breakdown: { floorsUs, wholeUs } }) => {
    const shares = floors.map(floor => shown((100 * floorsUs[floor]) / wholeUs).padStart(8));
    return [name.padEnd(wide), (wholeUs / 1000).toFixed(0).padStart(8), ...shares].join('');
  });
  const silence = silent.map(name => `${name.padEnd(wide)}  no profile: it was blocked by its code`);
  return [head, ...rows, ...silence, ...threads.flatMap(functionLines), ''].join('\n');
}

function functionLines({ name, breakdown: { functions, wholeUs } }: Thread): string[] {
  const busy = functions.filter(({ floor }) => floor !== 'idle').slice(0, functionsShown);
  const lines = busy.map(
    each => `  ${shown((100 * each.us) / wholeUs).padStart(5)}  ${each.floor.padEnd(8)} ${each.name}`,
  );
  return ['', `${name}, percent of its time:`, ...lines];
}

function shown(percent: number): string {
  return percent === 0 ? '·' : percent.toFixed(1);
}
