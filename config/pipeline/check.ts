// Checks the `pipelines:` of the configuration and takes them apart: everything that is wrong, at once, with its place.
import { isObject } from '../../runtime/json-value.ts';
import { checkCondition } from './condition.ts';
import { findCycles } from './cycles.ts';
import { type Hook, hooks, type PipelineDefinition } from './definition.ts';
import { alternatives, describe, inside, type Place, type PlainMap, type Problem, report } from './problems.ts';
import { checkKeys, checkSteps, isGiven, type KnownPlugins } from './step.ts';
import { didYouMean } from './suggestion.ts';

const pipelineKeys = [
  'name',
  'description',
  'input_schema',
  'on',
  'on_hook',
  'execution_mode',
  'timeout_secs',
  'if',
  'steps',
];
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
const executionModes = ['synchronous', 'asynchronous', 'sync', 'async'];
const timeoutSecsDefault = 30;
const timeoutSecsMax = 86_400;

/**
 * The pipelines of the merged value of `pipelines:`; paths of problems begin below that key. With problems, the
 * pipelines are not to be used. Two of one name are for the merge to report, which knows both places.
 */
export function checkPipelines(
  raw: unknown,
  known: KnownPlugins,
): { pipelines: PipelineDefinition[]; problems: Problem[] } {
  const place: Place = { path: [], problems: [] };
  if (raw === undefined || raw === null) return { pipelines: [], problems: [] };
  if (!Array.isArray(raw)) {
    report(place, `must be a list of pipelines, not ${describe(raw)}`);
    return { pipelines: [], problems: place.problems };
  }
  const names = raw.flatMap(item => (isObject(item) && typeof item['name'] === 'string' ? [item['name']] : []));
  const checked = raw.map((item, i) => checkPipeline(item, known, names, inside(place, i)));
  const pipelines = checked.filter(pipeline => pipeline !== null);
  for (const cycle of findCycles(pipelines)) {
    const index = checked.findIndex(pipeline => pipeline?.name === cycle[0]);
    report(inside(place, index, 'steps'), `pipelines call each other in a circle: ${cycle.join(' → ')}`);
  }
  return { pipelines, problems: place.problems };
}

function checkPipeline(
  value: unknown,
  plugins: KnownPlugins,
  pipelines: readonly string[],
  place: Place,
): PipelineDefinition | null {
  if (!isObject(value)) {
    report(place, `must be a pipeline: a map with "name" and "steps", not ${describe(value)}`);
    return null;
  }
  const misspelt = checkKeys(value, pipelineKeys, 'a pipeline', place);
  const name = checkName(value, place, misspelt);
  const description = checkDescription(value['description'], inside(place, 'description'));
  if (isGiven(value['input_schema']) && !isObject(value['input_schema'])) {
    report(
      inside(place, 'input_schema'),
      `must be a map: a JSON Schema, or fields with their types, not ${describe(value['input_schema'])}`,
    );
  }
  const on = checkOn(value, place);
  const onHook = checkHook(value, place);
  const executionMode = checkExecutionMode(value['execution_mode'], inside(place, 'execution_mode'));
  const timeoutMs = checkTimeout(value['timeout_secs'], inside(place, 'timeout_secs'));
  const condition = isGiven(value['if'])
    ? checkCondition(value['if'], ['payload', 'context'], inside(place, 'if'))
    : null;
  if (!isGiven(value['steps'])) {
    if (!misspelt) report(place, 'a pipeline needs "steps"');
    return null;
  }
  const around = { plugins, pipelines, ids: new Map<string, string>() };
  const steps = checkSteps(value['steps'], around, inside(place, 'steps'), '', 'fail', 0);
  return name === null
    ? null
    : {
        name,
        ...(description !== null && { description }),
        on,
        onHook,
        executionMode,
        timeoutMs,
        if: condition,
        steps,
      };
}

function checkName(value: PlainMap, place: Place, misspelt: boolean): string | null {
  const { name } = value;
  if (!isGiven(name)) {
    if (!misspelt) report(place, 'a pipeline needs a "name"');
    return null;
  }
  if (typeof name === 'string' && namePattern.test(name)) return name;
  report(
    inside(place, 'name'),
    `${describe(name)} is no name: it begins with a letter or digit, goes on with letters, digits, "_", "-" and ".", and has at most 128 characters`,
  );
  return null;
}

function checkDescription(value: unknown, place: Place): string | null {
  if (!isGiven(value)) return null;
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  report(place, `must be a text, not ${describe(value)}`);
  return null;
}

function checkOn(value: PlainMap, place: Place): string | null {
  const { on } = value;
  if (!isGiven(on)) return null;
  if (isGiven(value['on_hook'])) report(inside(place, 'on_hook'), 'a pipeline has "on" or "on_hook", not both');
  if (typeof on === 'string' && on !== '') return on;
  report(inside(place, 'on'), `must be the type of an event, not ${describe(on)}`);
  return null;
}

function checkHook(value: PlainMap, place: Place): Hook | null {
  const hook = value['on_hook'];
  if (!isGiven(hook)) return null;
  if (typeof hook === 'string' && (hooks as readonly string[]).includes(hook)) return hook as Hook;
  const meant = typeof hook === 'string' ? didYouMean(hook, hooks) : '';
  report(inside(place, 'on_hook'), `must be ${alternatives(hooks)}, not ${describe(hook)}${meant}`);
  return null;
}

function checkExecutionMode(value: unknown, place: Place): PipelineDefinition['executionMode'] {
  if (!isGiven(value)) return 'asynchronous';
  if (value === 'synchronous' || value === 'sync') return 'synchronous';
  if (value === 'asynchronous' || value === 'async') return 'asynchronous';
  const meant = typeof value === 'string' ? didYouMean(value, executionModes) : '';
  report(place, `must be "synchronous" or "asynchronous", not ${describe(value)}${meant}`);
  return 'asynchronous';
}

function checkTimeout(value: unknown, place: Place): number {
  if (!isGiven(value)) return timeoutSecsDefault * 1000;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= timeoutSecsMax)
    return value * 1000;
  report(place, `must be a whole number of seconds from 1 to ${timeoutSecsMax}, not ${describe(value)}`);
  return timeoutSecsDefault * 1000;
}
