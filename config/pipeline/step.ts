// Reads the steps of a pipeline. The schema checks their shape; references, ids, joins, paths and templates are checked here.
import { isObject } from '../../runtime/json-value.ts';
import { readDuration } from '../check/duration.ts';
import { formatPath, type ReportAt } from '../check/problem.ts';
import { hint } from '../check/suggestion.ts';
import type { NodePath } from '../source/tree.ts';
import { readCondition } from './condition.ts';
import type { Join, Path, Step } from './definition.ts';
import { type PathRoot, quote, readPath } from './path.ts';
import { readLimits } from './step-limits.ts';
import { readTemplates } from './template.ts';

/** The data that the readers of one pipeline's steps share: the names that steps may use, and the function that reports problems. */
export type StepContext = {
  /** The commands of each plugin instance. */
  readonly plugins: ReadonlyMap<string, readonly string[]>;
  /** The commands that are not `retry_safe`, as `plugin.command`. */
  readonly onlyOnce: ReadonlySet<string>;
  readonly pipelines: readonly string[];
  /** Why a known plugin cannot be used, for example because it is disabled; null: the plugin is unknown. */
  readonly whyUnusable: (plugin: string) => string | null;
  readonly reportAt: ReportAt;
  /**
   * The path of each step that sets an id, by this id. In a phase, the position of a step without an id also counts as
   * an id.
   */
  readonly ids: Map<string, NodePath>;
};

const kinds = ['uses', 'call', 'split', 'steps'] as const;
/** Names that baggage cannot use, because the service itself sets them in the context of requests (`schedule` only in the runs of a schedule). */
const reservedBaggage = ['pipeline', 'step_id', 'depth', 'schedule'];
const dataRoots: readonly PathRoot[] = ['payload', 'context'];
const stepRoots: readonly PathRoot[] = ['payload', 'context', 'config'];

type OnError = Step['onError'];
type StepSource = { readonly [key: string]: unknown };

/**
 * Reads a list of steps, and leaves out steps that cannot be used. A step without an id gets `number` and its position as id;
 * `number` is the position of the list, such as `2.1.`. `onError` applies to steps that do not set `on_error`.
 */
export function readSteps(list: unknown, around: StepContext, at: NodePath, number: string, onError: OnError): Step[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((step, i) => readStep(step, around, [...at, i], `${number}${i + 1}`, onError, i === 0) ?? []);
}

function readStep(
  value: unknown,
  around: StepContext,
  at: NodePath,
  number: string,
  inherited: OnError,
  isFirst: boolean,
): Step | null {
  if (!isObject(value)) return null;
  const { reportAt } = around;
  const kind = kinds.find(key => value[key] !== undefined);
  if (isFirst && value['join'] !== undefined) reportAt([...at, 'join'], 'the first step has nothing before it to join');
  // In a phase, the position of a step without an id, such as `finally.1`, could also be the id of another step. It is therefore read as an id, so
  // that `readId` reports a clash. In the main part a position begins with a digit, as no id does.
  const id = value['id'] ?? (/^[a-z]/.test(number) ? number : undefined);
  const common = {
    id: readId(id, around, at) ?? number,
    if: readCondition(value['if'], kind === 'uses' ? stepRoots : dataRoots, [...at, 'if'], reportAt),
    onError: (value['on_error'] ?? inherited) as OnError,
    join: joinOf(value),
  };
  switch (kind) {
    case 'uses': {
      const used = readUses(value['uses'], around, [...at, 'uses']);
      if (!used) return null;
      return { ...common, ...readWork(value, at, reportAt), kind, ...used, ...readLimits(value, used, around, at) };
    }
    case 'call': {
      refuseKeys(value, ['retry'], 'belongs to a step with "uses"', kind, at, reportAt);
      const pipeline = readCall(value['call'], around, [...at, 'call']);
      if (pipeline === null) return null;
      const timeoutMs = readDuration(value['timeout'], [...at, 'timeout'], reportAt);
      const work = readWork(value, at, reportAt);
      return { ...common, ...work, kind, pipeline, ...(timeoutMs !== undefined && { timeoutMs }) };
    }
    case 'split':
      refuseWork(value, kind, at, reportAt);
      return { ...common, kind, branches: readSplit(value['split'], around, [...at, kind], number, common.onError) };
    case 'steps':
      refuseWork(value, kind, at, reportAt);
      return { ...common, kind, steps: readSteps(value['steps'], around, [...at, kind], `${number}.`, common.onError) };
    default:
      return null;
  }
}

/** Reads `foreach`, `fail_fast`, `with` and `baggage`, which only steps with `uses` or `call` have. */
function readWork(value: StepSource, at: NodePath, reportAt: ReportAt) {
  const failFast = value['fail_fast'];
  if (failFast !== undefined && value['foreach'] === undefined)
    reportAt([...at, 'fail_fast'], '"fail_fast" belongs to a step with "foreach"', 'key');
  return {
    foreach: readPath(value['foreach'], dataRoots, [...at, 'foreach'], reportAt),
    with: isObject(value['with']) ? readTemplates(value['with'], [...at, 'with'], reportAt) : null,
    baggage: isObject(value['baggage']) ? readBaggage(value['baggage'], [...at, 'baggage'], reportAt) : [],
    ...(failFast === false && { failFast: false as const }),
  };
}

/** The keys that only steps with `uses` or `call` can have, except `retry`, which needs `uses`. */
const workKeys = ['foreach', 'fail_fast', 'with', 'baggage', 'timeout'];

function refuseWork(value: StepSource, kind: string, at: NodePath, reportAt: ReportAt): void {
  refuseKeys(value, workKeys, 'belongs to a step with "uses" or "call"', kind, at, reportAt);
  refuseKeys(value, ['retry'], 'belongs to a step with "uses"', kind, at, reportAt);
}

function refuseKeys(
  value: StepSource,
  keys: readonly string[],
  rule: string,
  kind: string,
  at: NodePath,
  reportAt: ReportAt,
): void {
  for (const key of keys) {
    if (value[key] !== undefined) reportAt([...at, key], `"${key}" ${rule}, not to one with "${kind}"`, 'key');
  }
}

function readId(id: unknown, { ids, reportAt }: StepContext, at: NodePath): string | null {
  if (typeof id !== 'string') return null;
  const first = ids.get(id);
  if (first !== undefined) reportAt([...at, 'id'], `${quote(id)} is already the id of ${formatPath(first)}`);
  else ids.set(id, at);
  return id;
}

function joinOf({ join, collect }: StepSource): Join | null {
  return join === undefined ? null : { collect: collect === 'counts' ? 'counts' : 'results' };
}

function readUses(
  value: unknown,
  { plugins, whyUnusable, reportAt }: StepContext,
  at: NodePath,
): { readonly instance: string; readonly command: string } | null {
  if (typeof value !== 'string' || value === '') return null;
  const [, instance = value, command = 'handle'] = /^([^.]*)\.(.*)$/s.exec(value) ?? [];
  const commands = plugins.get(instance);
  if (commands === undefined) {
    const unknown = `unknown plugin ${quote(instance)}${hint(instance, [...plugins.keys()], 'plugins')}`;
    reportAt(at, whyUnusable(instance) ?? unknown);
    return null;
  }
  if (commands.includes(command)) return { instance, command };
  reportAt(at, `plugin ${quote(instance)} has no command ${quote(command)}${hint(command, commands, 'commands')}`);
  return null;
}

function readCall(value: unknown, { pipelines, reportAt }: StepContext, at: NodePath): string | null {
  if (typeof value !== 'string' || value === '') return null;
  if (pipelines.includes(value)) return value;
  reportAt(at, `unknown pipeline ${quote(value)}${hint(value, pipelines, 'pipelines')}`);
  return null;
}

function readBaggage(map: StepSource, at: NodePath, reportAt: ReportAt): (readonly [string, Path])[] {
  const targets = Object.keys(map);
  return targets.flatMap(target => {
    const refuse = (message: string) => reportAt([...at, target], message, 'key');
    const keys = target.split('.');
    if (keys.some(key => key.trim() === '')) refuse(`${quote(target)} must have a name after every dot`);
    if (keys.includes('__proto__')) refuse('a key cannot be called "__proto__"');
    if (reservedBaggage.includes(keys[0]!))
      refuse(`"${keys[0]}" in the context is set by the service; choose another name`);
    const outer = targets.find(other => target.startsWith(`${other}.`));
    if (outer !== undefined) refuse(`${quote(target)} would be inside ${quote(outer)}, which is a value itself`);
    const path = readPath(map[target], dataRoots, [...at, target], reportAt);
    return path === null ? [] : [[target, path] as const];
  });
}

type Branch = { readonly name: string | null; readonly steps: readonly Step[] };

/**
 * Reads the branches of a split, which are a map by name or a list. A branch is a list of steps or one step; in a list of
 * branches it can also be `{name, steps}`.
 */
function readSplit(value: unknown, around: StepContext, at: NodePath, number: string, onError: OnError): Branch[] {
  const isList = Array.isArray(value);
  const branches: (readonly [string | number, unknown])[] = isList
    ? [...value.entries()]
    : Object.entries(isObject(value) ? value : {});
  const names = new Set<unknown>();
  return branches.map(([key, branch], i) => {
    const place = [...at, key];
    const [first, name] = [`${number}.${i + 1}.`, isList ? null : String(key)];
    if (Array.isArray(branch)) return { name, steps: readSteps(branch, around, place, first, onError) };
    if (!isList || !isObject(branch) || branch['name'] === undefined) {
      const step = readStep(branch, around, place, `${first}1`, onError, true);
      return { name, steps: step === null ? [] : [step] };
    }
    const own = branch['name'];
    if (names.has(own))
      around.reportAt([...place, 'name'], `${JSON.stringify(own)} is already the name of a branch of this split`);
    names.add(own);
    return { name: String(own), steps: readSteps(branch['steps'], around, [...place, 'steps'], first, onError) };
  });
}
