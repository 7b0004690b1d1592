// The steps of a pipeline, checked and taken apart.
import { isObject } from '../../runtime/json-value.ts';
import { checkCondition } from './condition.ts';
import type { Join, Path, Step } from './definition.ts';
import { checkPath, type PathRoot } from './path.ts';
import { alternatives, describe, inside, type Place, type PlainMap, report } from './problems.ts';
import { didYouMean } from './suggestion.ts';
import { checkTemplates } from './template.ts';

/** Plugin instance -> the names of its commands: all that a pipeline can use. */
export type KnownPlugins = { readonly [instance: string]: { readonly commands: readonly string[] } };

/** What the steps of one pipeline are checked against. */
export type Surroundings = {
  readonly plugins: KnownPlugins;
  readonly pipelines: readonly string[];
  /** Step id -> where it was given first. */
  readonly ids: Map<string, string>;
};

const kinds = ['uses', 'call', 'split', 'steps'] as const;
const workKeys = ['foreach', 'with', 'baggage'] as const;
const stepKeys = ['id', 'if', 'on_error', 'join', 'collect', ...kinds, ...workKeys];
const depthMax = 32;
const idPattern = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;
/** Names that the service itself gives in a request's context. */
const reservedBaggage = ['pipeline', 'step_id', 'depth'];
const dataRoots: readonly PathRoot[] = ['payload', 'context'];
const stepRoots: readonly PathRoot[] = ['payload', 'context', 'config'];

type OnError = Step['onError'];

/** A sequence. `number` is its place, as `2.1.`: ids of steps that have none are made from it. */
export function checkSteps(
  value: unknown,
  around: Surroundings,
  place: Place,
  number: string,
  onError: OnError,
  depth: number,
): Step[] {
  if (!Array.isArray(value) || value.length === 0) {
    report(
      place,
      `must be a list of at least one step, not ${Array.isArray(value) ? 'an empty list' : describe(value)}`,
    );
    return [];
  }
  if (depth > depthMax) {
    report(place, `steps nested deeper than ${depthMax}`);
    return [];
  }
  const steps = value.map((step, i) => {
    const at = inside(place, i);
    if (i === 0 && isObject(step) && isGiven(step['join'])) {
      report(inside(at, 'join'), 'the first step has nothing before it to join');
    }
    return checkStep(step, around, at, `${number}${i + 1}`, onError, depth);
  });
  return steps.filter(step => step !== null);
}

function checkStep(
  value: unknown,
  around: Surroundings,
  place: Place,
  number: string,
  inherited: OnError,
  depth: number,
): Step | null {
  if (!isObject(value)) {
    report(place, `must be a step: a map with ${alternatives(kinds)}, not ${describe(value)}`);
    return null;
  }
  const misspelt = checkKeys(value, stepKeys, 'a step', place);
  const kind = checkKind(value, place, misspelt);
  const onError = checkOnError(value['on_error'], inside(place, 'on_error')) ?? inherited;
  const common = {
    id: checkId(value['id'], around, inside(place, 'id')) ?? number,
    if: isGiven(value['if'])
      ? checkCondition(value['if'], kind === 'uses' ? stepRoots : dataRoots, inside(place, 'if'))
      : null,
    onError,
    join: checkJoin(value, place),
  };
  if (kind === 'uses' || kind === 'call') {
    const work = {
      ...common,
      foreach: isGiven(value['foreach']) ? checkPath(value['foreach'], dataRoots, inside(place, 'foreach')) : null,
      with: isGiven(value['with']) ? checkTemplates(value['with'], inside(place, 'with')) : null,
      baggage: isGiven(value['baggage']) ? checkBaggage(value['baggage'], inside(place, 'baggage')) : [],
    };
    if (kind === 'call') {
      const pipeline = checkCall(value['call'], around, inside(place, 'call'));
      return pipeline === null ? null : { ...work, kind, pipeline };
    }
    const used = checkUses(value['uses'], around, inside(place, 'uses'));
    return used === null ? null : { ...work, kind, ...used };
  }
  for (const key of workKeys) {
    if (kind !== null && isGiven(value[key])) {
      report(inside(place, key), `"${key}" belongs to a step with "uses" or "call", not to one with "${kind}"`, 'key');
    }
  }
  if (kind === 'steps') {
    const steps = checkSteps(value['steps'], around, inside(place, 'steps'), `${number}.`, onError, depth + 1);
    return { ...common, kind, steps };
  }
  if (kind === 'split') {
    const branches = checkSplit(value['split'], around, inside(place, 'split'), number, onError, depth);
    return { ...common, kind, branches };
  }
  return null;
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Reports unknown keys; answers whether there were any. */
export function checkKeys(value: PlainMap, known: readonly string[], what: string, place: Place): boolean {
  const unknown = Object.keys(value).filter(key => !known.includes(key));
  for (const key of unknown) {
    const meant = didYouMean(key, known);
    report(
      inside(place, key),
      `${what} has no key ${describe(key)}${meant || `; it can have ${known.join(', ')}`}`,
      'key',
    );
  }
  return unknown.length > 0;
}

function checkKind(value: PlainMap, place: Place, misspelt: boolean): (typeof kinds)[number] | null {
  const found = kinds.filter(kind => Object.hasOwn(value, kind));
  if (found.length === 1) return found[0]!;
  if (found.length > 1) {
    report(place, `a step has exactly one of ${alternatives(kinds)}; this one has ${found.join(' and ')}`);
  } else if (!misspelt) report(place, `a step has exactly one of ${alternatives(kinds)}; this one has none`);
  return null;
}

function checkId(value: unknown, around: Surroundings, place: Place): string | null {
  if (!isGiven(value)) return null;
  if (typeof value !== 'string' || !idPattern.test(value)) {
    report(
      place,
      `${describe(value)} is no id: it begins with a letter or "_", goes on with letters, digits, "_", "-" and ".", and has at most 128 characters`,
    );
    return null;
  }
  const first = around.ids.get(value);
  if (first !== undefined) report(place, `the id ${describe(value)} is taken by ${first}`);
  else around.ids.set(value, placeText(place));
  return value;
}

/** `steps[1].split.a[0]`: the step that the path of one of its keys leads to. */
function placeText(place: Place): string {
  return place.path
    .slice(1, -1)
    .map(key => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '');
}

function checkOnError(value: unknown, place: Place): OnError | null {
  if (!isGiven(value)) return null;
  if (value === 'continue' || value === 'fail') return value;
  const meant = typeof value === 'string' ? didYouMean(value, ['continue', 'fail']) : '';
  report(place, `must be "continue" or "fail", not ${describe(value)}${meant}`);
  return null;
}

function checkJoin(step: PlainMap, place: Place): Join | null {
  const { join, collect } = step;
  if (!isGiven(join)) {
    if (isGiven(collect)) report(inside(place, 'collect'), '"collect" belongs to a step with "join: all"', 'key');
    return null;
  }
  if (join !== 'all') report(inside(place, 'join'), `must be "all", not ${describe(join)}`);
  if (isGiven(collect) && collect !== 'results' && collect !== 'counts') {
    report(inside(place, 'collect'), `must be "results" or "counts", not ${describe(collect)}`);
  }
  return { collect: collect === 'counts' ? 'counts' : 'results' };
}

function checkUses(
  value: unknown,
  around: Surroundings,
  place: Place,
): { readonly instance: string; readonly command: string } | null {
  if (typeof value !== 'string' || value === '') {
    report(place, `must be a plugin, or plugin.command, not ${describe(value)}`);
    return null;
  }
  const dot = value.indexOf('.');
  const instance = dot < 0 ? value : value.slice(0, dot);
  const command = dot < 0 ? 'handle' : value.slice(dot + 1);
  if (!Object.hasOwn(around.plugins, instance)) {
    report(place, `unknown plugin ${describe(instance)}${didYouMean(instance, Object.keys(around.plugins))}`);
    return null;
  }
  const { commands } = around.plugins[instance]!;
  if (!commands.includes(command)) {
    const meant = didYouMean(command, commands);
    const others = commands.length === 0 ? '; it has no commands' : `; it has ${commands.join(', ')}`;
    report(place, `plugin ${describe(instance)} has no command ${describe(command)}${meant || others}`);
    return null;
  }
  return { instance, command };
}

function checkCall(value: unknown, around: Surroundings, place: Place): string | null {
  if (typeof value !== 'string' || value === '') {
    report(place, `must be the name of a pipeline, not ${describe(value)}`);
    return null;
  }
  if (!around.pipelines.includes(value)) {
    report(place, `unknown pipeline ${describe(value)}${didYouMean(value, around.pipelines)}`);
    return null;
  }
  return value;
}

function checkBaggage(value: unknown, place: Place): (readonly [string, Path])[] {
  if (!isObject(value)) {
    report(place, `must be a map of names to paths, not ${describe(value)}`);
    return [];
  }
  const targets = Object.keys(value);
  const entries: (readonly [string, Path])[] = [];
  for (const target of targets) {
    const at = inside(place, target);
    const keys = target.split('.');
    if (keys.some(key => key.trim() === '')) report(at, `${describe(target)} must have a name after every dot`, 'key');
    if (keys.includes('__proto__')) report(at, 'a key cannot be called "__proto__"', 'key');
    if (reservedBaggage.includes(keys[0]!)) report(at, `"${keys[0]}" in the context is given by the service`, 'key');
    const within = targets.find(other => target.startsWith(`${other}.`));
    if (within !== undefined)
      report(at, `${describe(target)} would lie inside ${describe(within)}, which is a value`, 'key');
    const path = checkPath(value[target], dataRoots, at);
    if (path !== null) entries.push([target, path]);
  }
  return entries;
}

type Branch = { readonly name: string | null; readonly steps: readonly Step[] };

/** Named (a map) or listed branches; a branch is a list of steps, one step, or `{name, steps}`. */
function checkSplit(
  value: unknown,
  around: Surroundings,
  place: Place,
  number: string,
  onError: OnError,
  depth: number,
): Branch[] {
  const listed = Array.isArray(value);
  if (!listed && !isObject(value)) {
    report(place, `must be a map or a list of branches, not ${describe(value)}`);
    return [];
  }
  const raw: [string | number, unknown][] = listed ? value.map((branch, i) => [i, branch]) : Object.entries(value);
  if (raw.length === 0) {
    report(place, 'must have at least one branch');
    return [];
  }
  const names = new Set<string>();
  return raw.map(([key, branch], i) => {
    const at = inside(place, key);
    const steps = (of: unknown, where: Place) =>
      checkSteps(of, around, where, `${number}.${i + 1}.`, onError, depth + 1);
    if (Array.isArray(branch)) return { name: listed ? null : String(key), steps: steps(branch, at) };
    if (listed && isObject(branch) && Object.hasOwn(branch, 'name')) {
      checkKeys(branch, ['name', 'steps'], 'a named branch', at);
      return {
        name: checkBranchName(branch['name'], names, inside(at, 'name')),
        steps: steps(branch['steps'], inside(at, 'steps')),
      };
    }
    const step = checkStep(branch, around, at, `${number}.${i + 1}.1`, onError, depth + 1);
    if (isObject(branch) && isGiven(branch['join']))
      report(inside(at, 'join'), 'the first step has nothing before it to join');
    return { name: listed ? null : String(key), steps: step === null ? [] : [step] };
  });
}

function checkBranchName(value: unknown, names: Set<string>, place: Place): string | null {
  if (typeof value !== 'string' || value === '') {
    report(place, `must be a name, not ${describe(value)}`);
    return null;
  }
  if (names.has(value)) report(place, `two branches are called ${describe(value)}`);
  names.add(value);
  return value;
}
