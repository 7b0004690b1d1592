// The JSON Schema of pipelines. It describes their shape; the other files of this directory check references, paths, templates and
// conditions.
import { Type } from '../../runtime/schema-type.ts';
import * as field from '../section/field.ts';
import { hooks, operators } from './definition.ts';

const reference = (name: string, description?: string) => ({
  $ref: `#/definitions/${name}`,
  ...(description && { description }),
});
const path = (description: string) => field.text('a path such as payload.items', description);

const steps = (description: string) =>
  Type.Array(reference('step'), { minItems: 1, expected: 'a list of at least one step', description });

const namedBranch = field.closedMap(
  {
    name: field.text('the name of the branch', 'The name of the branch.'),
    steps: steps('The steps of the branch; at least one.'),
  },
  'A branch with a name.',
  { required: ['name', 'steps'] },
);
const branchForms = [steps('A branch of several steps.'), reference('step')];
const split = Type.Union(
  [
    Type.Array(
      Type.Union([namedBranch, ...branchForms], {
        expected: 'a step, a list of at least one step, or a map of "name" and "steps"',
      }),
      { minItems: 1, expected: 'a list of at least one branch' },
    ),
    Type.Object(
      {},
      {
        additionalProperties: Type.Union(branchForms, { expected: 'a step, or a list of at least one step' }),
        minProperties: 1,
        expected: 'a map of at least one branch',
      },
    ),
  ],
  {
    expected: 'a map or a list of branches',
    description: 'Parallel branches, as a map by name or as a list.',
  },
);

const step = field.closedMap(
  {
    id: Type.String({
      pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,127}$',
      expected:
        'an id of letters, digits, "_", "-" and ".", which begins with a letter or "_" and has at most 128 characters',
      description: 'The name of the step in trees and measurements. Default: its position, such as `2.1.1`.',
    }),
    if: reference('condition', 'The condition of the step; if it is false, the step is skipped. Default: always true.'),
    on_error: field.oneOf(
      ['continue', 'fail'],
      'The effect of a failed job of the step: `fail` fails the run, `continue` ends only its token. Default: `fail`.',
    ),
    join: field.oneOf(
      ['all'],
      '`all` starts the step once, when everything before it has settled. Default: the step starts once per token that reaches it.',
    ),
    collect: field.oneOf(
      ['results', 'counts'],
      'The payload of a join: all `results`, or only `counts`. Default: `results`.',
    ),
    uses: field.text(
      'a plugin, or plugin.command',
      'The plugin that the step runs, or `plugin.command`. The default command is `handle`.',
    ),
    call: field.text('the name of a pipeline', 'Another pipeline to run; the token continues with its result.'),
    split: split,
    steps: steps('A sequence of steps.'),
    foreach: path(
      'The path of a list; the step starts once per element. Default: the step starts once. Example: `payload.packages`.',
    ),
    fail_fast: field.flag(
      'Whether a failed element fails the run at once. `false`: all elements end first, then the run fails, at the next join or at its end; only with `foreach`. Default: `true`.',
    ),
    with: field.freeMap(
      'Values that are merged into the payload, with references in braces. Default: none. Example: `{ name: "{payload.item}" }`.',
      'a map of names to values',
    ),
    retry: field.closedMap(
      {
        max_attempts: field.count(
          1,
          'The maximum number of attempts of a job; `1` switches retries off. Default: that of the plugin.',
          1000,
        ),
        backoff_base: field.duration(
          'The maximum delay before the second attempt, which doubles with each further attempt. At most `3650d`. Default: that of the plugin.',
        ),
        backoff_max: field.duration(
          'The maximum delay before any attempt, at most `3650d`. Default: that of the plugin.',
        ),
      },
      'How often and when a failed job of the step is retried; only with `uses`. Default: as the plugin is configured.',
    ),
    timeout: field.duration(
      'With `uses`: the deadline of one attempt. Default: that of the command. With `call`: how long the called run may take before it is cancelled. Default: without limit. Example: `20s`.',
    ),
    baggage: Type.Object(
      {},
      {
        additionalProperties: path('The path.'),
        expected: 'a map of names to paths',
        description:
          'Data that the token carries on: a name, and the path from which it is read. Default: `{}`. Example: `{ report.root: payload.root }`.',
      },
    ),
  },
  'A step: exactly one of `uses`, `call`, `split` and `steps`.',
  {
    expected: 'a step',
    oneOf: field.eitherOf(['uses', 'call', 'split', 'steps']),
    dependencies: { collect: ['join'] },
  },
);

const conditions = (description: string) =>
  Type.Array(reference('condition'), { minItems: 1, expected: 'a list of at least one condition', description });

const condition = field.closedMap(
  {
    path: path('The path of the tested value, in `payload`, `context` or `config`.'),
    op: field.oneOf(operators, 'The operator of the test.'),
    value: Type.Unknown({
      description: 'The value to compare with; required except for `exists`. Default: `true`.',
    }),
    all: conditions('Conditions that must all be true.'),
    any: conditions('Conditions of which one must be true.'),
    not: reference('condition', 'A condition that must be false.'),
  },
  'A condition of a pipeline or step: `{path, op, value}`, or one of `all: […]`, `any: […]` and `not: …`, which contain conditions.',
  {
    expected: 'a condition',
    oneOf: field.eitherOf(['path', 'all', 'any', 'not']),
    dependencies: { path: ['op'], op: ['path'], value: ['path'] },
  },
);

const pipeline = field.closedMap(
  {
    name: field.text(
      'a name of letters, digits, "_", "-" and ".", which begins with a letter or digit and has at most 128 characters',
      'The name of the pipeline, which callers use.',
      { pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$' },
    ),
    description: field.text(
      'a string that is not empty',
      'What the pipeline does, in one sentence, for people and agents. Default: none.',
      { pattern: '\\S' },
    ),
    input_schema: field.freeMap(
      'The schema of the payload of a call or delivery: a JSON Schema, or a map from field to type. A payload that violates it gets 400. Default: none, so any payload is accepted. Example: `{ people: array }`.',
      'a map: a JSON Schema, or fields with their types',
    ),
    on: field.text(
      'the type of an event',
      'The type of the events that start it. Default: none, so only calls start it.',
    ),
    on_hook: field.oneOf(hooks, 'The hook that starts it: the end of a job or run. Default: none.'),
    execution_mode: field.oneOf(
      ['synchronous', 'asynchronous', 'sync', 'async'],
      'Whether a call waits for the result. Default: `asynchronous`.',
    ),
    timeout_secs: field.count(1, 'How long a synchronous call waits, in seconds. Default: `30`.', 86_400),
    if: reference(
      'condition',
      'The condition of the pipeline; if it is false, an event starts no run, and a call gets a run that has succeeded without a job. Default: always true.',
    ),
    steps: steps('The steps; at least one.'),
    deadline: field.duration(
      'How long the steps of a run may take, from its `run_at`, else from its acceptance. Then they are stopped, and the run ends `timed_out`. Default: without limit. Example: `10m`.',
    ),
    on_failure: steps(
      'Steps that follow if the run has failed or passed its deadline, and a job of its steps has started. Default: none.',
    ),
    finally: steps(
      'Steps that follow whatever became of the run, also after a cancel, if a job of its steps has started. Default: none.',
    ),
    phase_timeout: field.duration(
      'How long `on_failure` may take, and then `finally`; only with one of them. Default: `5m`.',
    ),
  },
  'A pipeline.',
  { required: ['name', 'steps'], expected: 'a pipeline' },
);

export const pipelinesField = Type.Array(reference('pipeline'), {
  expected: 'a list of pipelines',
  description: 'The pipelines. Default: `[]`.',
});
/** The definitions to which the schemas of this file refer, by name. */
export const pipelineDefinitions = { pipeline, step, condition };
