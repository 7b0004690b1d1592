// Reads `schedules`, and the `schedules` of plugins.
import { parseCron } from '../../runtime/calendar/cron.ts';
import { nextInstant } from '../../runtime/calendar/instants.ts';
import { nextDue, type Recurrence, recurrenceText } from '../../runtime/calendar/recurrence.ts';
import { zoneNamed } from '../../runtime/calendar/zone.ts';
import type { SchemaCheck, SchemaCompiler } from '../../runtime/json-schema.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { reportDuplicates } from '../check/duplicate.ts';
import { readDuration } from '../check/duration.ts';
import { type Report, type ReportAt, reportIn } from '../check/problem.ts';
import { didYouMean, hint } from '../check/suggestion.ts';
import { catchUpRules, instanceNamed, overlapRules, type ScheduleDefinition } from '../config.ts';
import type { PipelineDefinition } from '../pipeline/definition.ts';
import { type Instances, reportUnusable } from '../plugin/instances.ts';
import { parseDuration } from '../quantity.ts';
import {
  entriesOf,
  flagOf,
  itemsOf,
  type NodePath,
  nodeAt,
  numberOf,
  plainValue,
  type SourceNode,
  textOf,
} from '../source/tree.ts';
import { readTime } from './api.ts';

const hour = 3_600_000;
export const everyMsMin = 1_000;
export const jitterMsMax = 24 * hour;
/** The jitter of a `cron` must be shorter than each of this many intervals between its occurrences, from `comparedSinceMs` on. */
const comparedMax = 100;
const comparedSinceMs = Date.UTC(2026, 0, 1);
/** The maximum number of results of `shortestBetween` that are kept for the next reload. */
const shortestMax = 10_000;
/** The kept results of `shortestBetween`, in ms, by the text of the recurrence. */
const shortest = new Map<string, number>();
const catchUpWithinDefaultMs = 24 * hour;
const named: { readonly [name: string]: number } = { hourly: hour, daily: 24 * hour, weekly: 7 * 24 * hour };

export type ScheduleContext = {
  readonly instances: Instances;
  readonly pipelines: readonly PipelineDefinition[];
  readonly compiler: SchemaCompiler;
  readonly report: Report;
  readonly warn: Report;
  readonly nowMs: number;
};

/** An entry of a list of schedules, with its place and with the functions that report its problems. */
type Entry = ScheduleContext & {
  readonly checks: Map<JsonObject, SchemaCheck | null>;
  readonly node: SourceNode;
  readonly path: NodePath;
  readonly reportAt: ReportAt;
  readonly refuse: (key: string, message: string, at?: 'key') => void;
};

export function readSchedules(root: SourceNode, context: ScheduleContext): readonly ScheduleDefinition[] {
  const reportAt = reportIn(root, context.report);
  reportDuplicates(root, ['schedules'], 'id', 'the id of a schedule', reportAt);
  const checks: Entry['checks'] = new Map();
  const entryAt = (node: SourceNode, path: NodePath): Entry => ({
    ...context,
    checks,
    node,
    path,
    reportAt,
    refuse: (key, message, at) => reportAt([...path, key], message, at),
  });
  const own = itemsOf(root, 'schedules').map((node, index) => {
    const entry = entryAt(node, ['schedules', index]);
    const pipeline = textOf(node, 'pipeline');
    const plugin = textOf(node, 'plugin') ?? '';
    const target = pipeline === undefined ? { plugin, command: textOf(node, 'command') ?? 'handle' } : { pipeline };
    if (pipeline !== undefined && nodeAt(node, 'command') !== undefined)
      entry.refuse('command', 'has no effect: a pipeline has no commands', 'key');
    return readSchedule(entry, textOf(node, 'id') ?? '', target);
  });
  const ofPlugins = entriesOf(root, 'plugins').flatMap(([plugin, { value }]) => {
    if (flagOf(value, 'enabled') === false) return [];
    return itemsOf(value, 'schedules').map((node, index) => {
      const entry = entryAt(node, ['plugins', plugin, 'schedules', index]);
      const target = { plugin, command: textOf(node, 'command') ?? 'poll' };
      const entryId = textOf(node, 'id') ?? 'default';
      return { ...readSchedule(entry, `${plugin}.${index}`, target), entryId };
    });
  });
  return [...own, ...ofPlugins];
}

function readSchedule(entry: Entry, id: string, target: ScheduleDefinition['target']): ScheduleDefinition {
  const { node } = entry;
  const payloadNode = nodeAt(node, 'payload');
  const payload = payloadNode?.kind === 'map' ? (plainValue(payloadNode) as JsonObject) : {};
  checkTarget(entry, target, payload);
  const recurrence = readRecurrence(entry);
  const tags = entriesOf(node, 'tags').map(([key, { value }]) => [key, textOf(value) ?? ''] as const);
  const ifRunning = textOf(node, 'if_running');
  return {
    id,
    target,
    recurrence,
    payload,
    ...(tags.length > 0 && { tags: Object.fromEntries(tags) }),
    jitterMs: readJitter(entry, recurrence),
    ifRunning: ifRunning === 'cancel' ? 'replace' : (overlapRules.find(rule => rule === ifRunning) ?? 'skip'),
    catchUp: catchUpRules.find(rule => rule === textOf(node, 'catch_up')) ?? 'run_once',
    catchUpWithinMs: parseDuration(textOf(node, 'catch_up_within')) ?? catchUpWithinDefaultMs,
    pauseAfterFailures: numberOf(node, 'pause_after_failures') ?? 0,
    skipsWhenPaused: flagOf(node, 'skip_when_paused') ?? false,
    enabled: flagOf(node, 'enabled') ?? true,
  };
}

/** Reports a target that does not exist, and a payload that the target would refuse. */
function checkTarget(entry: Entry, target: ScheduleDefinition['target'], payload: JsonObject): void {
  const { instances, pipelines, report, refuse, reportAt, path } = entry;
  let schema: JsonObject | null = null;
  if ('pipeline' in target) {
    const names = pipelines.map(({ name }) => name);
    const found = pipelines.find(({ name }) => name === target.pipeline);
    if (!found && target.pipeline !== '') {
      const shown = JSON.stringify(target.pipeline);
      refuse('pipeline', `there is no pipeline ${shown}${hint(target.pipeline, names, 'pipelines')}`);
    }
    schema = found?.inputSchema ?? null;
  } else {
    const { plugin, command } = target;
    if (plugin === '') return;
    const instance = instanceNamed(instances, plugin);
    if (instance === undefined) {
      const unknown = `there is no plugin ${JSON.stringify(plugin)}${hint(plugin, Object.keys(instances.plugins), 'plugins')}`;
      if (path[0] === 'schedules') refuse('plugin', reportUnusable(instances, plugin, report) ?? unknown);
      return;
    }
    const { commands } = instance.manifest;
    const found = commands.find(({ name }) => name === command);
    if (!found) {
      const names = commands.map(({ name }) => name);
      const message = `the plugin ${JSON.stringify(plugin)} has no command ${JSON.stringify(command)}${hint(command, names, 'commands')}`;
      refuse('command', message);
      return;
    }
    schema = found.inputSchema;
  }
  for (const { pointer, message } of (schema && checkOf(entry, schema)?.(payload)) ?? [])
    reportAt(
      [...path, 'payload', ...pointer.split('/').slice(1)],
      `${message}, as the input_schema of the target says`,
    );
}

/** The payload check of a schema, compiled once for all schedules. Null: the schema does not compile, which is reported elsewhere. */
function checkOf({ checks, compiler }: Entry, schema: JsonObject): SchemaCheck | null {
  let check = checks.get(schema);
  if (check === undefined) {
    const compiled = compiler(schema);
    check = compiled.ok ? value => compiled.checkAll(value) ?? compiled.check(value) : null;
    checks.set(schema, check);
  }
  return check;
}

/** A placeholder for an invalid recurrence. No schedule runs with it, because the configuration is refused. */
const never: Recurrence = { kind: 'at', atMs: 0 };

function readRecurrence(entry: Entry): Recurrence {
  const { node, reportAt, path, refuse, warn, nowMs } = entry;
  const given = ['cron', 'every', 'at'].filter(key => nodeAt(node, key) !== undefined);
  if (given.length !== 1) {
    const what = given.length === 0 ? 'none of' : 'more than one of';
    reportAt(path, `has ${what} cron, every and at; it must have exactly one of them`);
    return never;
  }
  const timezone = textOf(node, 'timezone') ?? 'UTC';
  const zone = zoneNamed(timezone);
  if (!zone) {
    const known = Intl.supportedValuesOf('timeZone');
    const meant = didYouMean(timezone, known);
    refuse(
      'timezone',
      `there is no time zone ${JSON.stringify(timezone)}${meant === '' ? '; it must be the IANA name of one, such as Europe/Berlin' : meant}`,
    );
  }
  const cron = textOf(node, 'cron');
  if (cron !== undefined) {
    const pattern = parseCron(cron);
    if (typeof pattern === 'string') refuse('cron', pattern);
    else if (zone && nextInstant(pattern, zone, nowMs) === null) refuse('cron', 'never fires: no date matches it');
    return { kind: 'cron', cron: cron.trim(), timezone };
  }
  const at = nodeAt(node, 'at');
  if (at !== undefined) {
    const atMs = readTime(node, [...path, 'at'], reportAt) ?? 0;
    if (atMs < nowMs && flagOf(node, 'enabled') !== false) {
      const message = 'is in the past: the schedule does not fire again, and a new schedule never fires';
      warn({ place: at.place, path: [...path, 'at'], message });
    }
    return { kind: 'at', atMs };
  }
  const text = textOf(node, 'every') ?? '';
  const read = () => readDuration(text, [...path, 'every'], reportAt, { least: '1s' });
  const everyMs = Object.hasOwn(named, text) ? named[text] : read();
  return { kind: 'every', everyMs: everyMs ?? everyMsMin };
}

function readJitter({ node, refuse }: Entry, recurrence: Recurrence): number {
  const text = textOf(node, 'jitter');
  const jitterMs = parseDuration(text) ?? 0;
  if (jitterMs > jitterMsMax) refuse('jitter', `is ${text}; it may be at most 24h`);
  else if (recurrence.kind === 'every' && jitterMs >= recurrence.everyMs && jitterMs > 0)
    refuse('jitter', `is ${text}; it must be shorter than "every"`);
  else if (recurrence.kind === 'cron' && jitterMs > 0) {
    const shortestMs = keptShortest(recurrence);
    if (jitterMs >= shortestMs)
      refuse(
        'jitter',
        `is ${text}; it must be shorter than the time between two occurrences of "cron" (${shortestMs / 1000} s)`,
      );
  }
  return jitterMs;
}

/** The result of `shortestBetween`. It is kept for each recurrence, because computing it takes some milliseconds. */
function keptShortest(recurrence: Recurrence): number {
  const text = recurrenceText(recurrence);
  let shortestMs = shortest.get(text);
  if (shortestMs === undefined) {
    shortestMs = shortestBetween(recurrence);
    if (shortest.size >= shortestMax) shortest.clear();
    shortest.set(text, shortestMs);
  }
  return shortestMs;
}

/**
 * The shortest of the first `comparedMax` intervals between two successive occurrences after `comparedSinceMs`, in ms. Infinity: there are
 * fewer than two occurrences.
 */
function shortestBetween(recurrence: Recurrence): number {
  let shortestMs = Number.POSITIVE_INFINITY;
  let lastMs = nextDue(recurrence, comparedSinceMs, comparedSinceMs);
  for (let n = 0; n < comparedMax && lastMs !== null; n++) {
    const dueMs = nextDue(recurrence, lastMs, comparedSinceMs);
    if (dueMs !== null) shortestMs = Math.min(shortestMs, dueMs - lastMs);
    lastMs = dueMs;
  }
  return shortestMs;
}
