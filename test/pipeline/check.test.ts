// What the load says about wrong pipelines: the exact message and place of each, and all of them at once.
import { describe, expect, it } from 'vitest';
import { checkPipelines } from '../../config/pipeline/check.ts';

const plugins = {
  inspector: { commands: ['handle', 'scan'] },
  reporter: { commands: ['handle'] },
  silent: { commands: ['poll'] },
};

function problemsOf(raw: unknown): string[] {
  return checkPipelines(raw, plugins).problems.map(
    ({ path, message, at }) => `${path.join('.')}${at === 'key' ? '!' : ''}: ${message}`,
  );
}
const pipeline = (...steps: unknown[]) => [{ name: 'p', steps }];
const test = (condition: unknown) => pipeline({ uses: 'inspector', if: condition });
const withs = (text: unknown) => pipeline({ uses: 'inspector', with: { a: text } });
const oneOf = 'a step has exactly one of "uses", "call", "split" or "steps"';
const stepKeys = 'id, if, on_error, join, collect, uses, call, split, steps, foreach, with, baggage';

const wrong: [string, unknown, string | string[]][] = [
  ['no list', {}, ': must be a list of pipelines, not a map'],
  ['no map', ['x'], '0: must be a pipeline: a map with "name" and "steps", not "x"'],
  ['an empty pipeline', [{}], ['0: a pipeline needs a "name"', '0: a pipeline needs "steps"']],
  [
    'a bad name',
    [{ name: 'a/b', steps: [{ uses: 'inspector' }] }],
    '0.name: "a/b" is no name: it begins with a letter or digit, goes on with letters, digits, "_", "-" and ".", and has at most 128 characters',
  ],
  ['a misspelt key', [{ name: 'p', step: [] }], '0.step!: a pipeline has no key "step"; did you mean "steps"?'],
  [
    'an unknown key',
    [{ name: 'p', colour: 1, steps: [{ uses: 'inspector' }] }],
    '0.colour!: a pipeline has no key "colour"; it can have name, description, input_schema, on, on_hook, execution_mode, timeout_secs, if, steps',
  ],
  [
    'on and on_hook',
    [{ name: 'p', on: 'x', on_hook: 'job.failed', steps: [{ uses: 'inspector' }] }],
    '0.on_hook: a pipeline has "on" or "on_hook", not both',
  ],
  [
    'a bad hook',
    [{ name: 'p', on_hook: 'job.fail', steps: [{ uses: 'inspector' }] }],
    '0.on_hook: must be "job.completed", "job.failed", "job.timed_out", "pipeline.completed", "pipeline.failed", "pipeline.timed_out" or "pipeline.cancelled", not "job.fail"; did you mean "job.failed"?',
  ],
  [
    'a bad trigger',
    [{ name: 'p', on: 3, steps: [{ uses: 'inspector' }] }],
    '0.on: must be the type of an event, not 3',
  ],
  [
    'a bad mode',
    [{ name: 'p', execution_mode: 'synchronus', steps: [{ uses: 'inspector' }] }],
    '0.execution_mode: must be "synchronous" or "asynchronous", not "synchronus"; did you mean "synchronous"?',
  ],
  [
    'a bad time',
    [{ name: 'p', timeout_secs: 0.5, steps: [{ uses: 'inspector' }] }],
    '0.timeout_secs: must be a whole number of seconds from 1 to 86400, not 0.5',
  ],
  ['no steps', pipeline(), '0.steps: must be a list of at least one step, not an empty list'],
  [
    'a step of text',
    pipeline('inspector'),
    '0.steps.0: must be a step: a map with "uses", "call", "split" or "steps", not "inspector"',
  ],
  ['a step of nothing', pipeline({ id: 'a' }), `0.steps.0: ${oneOf}; this one has none`],
  [
    'a step of two kinds',
    pipeline({ uses: 'inspector', call: 'p' }),
    `0.steps.0: ${oneOf}; this one has uses and call`,
  ],
  [
    'a misspelt step key',
    pipeline({ usees: 'inspector' }),
    '0.steps.0.usees!: a step has no key "usees"; did you mean "uses"?',
  ],
  [
    'an unknown step key',
    pipeline({ uses: 'inspector', retries: 1 }),
    `0.steps.0.retries!: a step has no key "retries"; it can have ${stepKeys}`,
  ],
  [
    'an unknown plugin',
    pipeline({ uses: 'inspectr' }),
    '0.steps.0.uses: unknown plugin "inspectr"; did you mean "inspector"?',
  ],
  ['a far plugin', pipeline({ uses: 'xyz' }), '0.steps.0.uses: unknown plugin "xyz"'],
  ['an inherited property', pipeline({ uses: 'constructor' }), '0.steps.0.uses: unknown plugin "constructor"'],
  [
    'an unknown command',
    pipeline({ uses: 'inspector.scam' }),
    '0.steps.0.uses: plugin "inspector" has no command "scam"; did you mean "scan"?',
  ],
  ['no handle', pipeline({ uses: 'silent' }), '0.steps.0.uses: plugin "silent" has no command "handle"; it has poll'],
  ['a bad uses', pipeline({ uses: 3 }), '0.steps.0.uses: must be a plugin, or plugin.command, not 3'],
  ['an unknown pipeline', pipeline({ call: 'q' }), '0.steps.0.call: unknown pipeline "q"; did you mean "p"?'],
  [
    'join first',
    pipeline({ uses: 'inspector', join: 'all' }),
    '0.steps.0.join: the first step has nothing before it to join',
  ],
  [
    'join first in a branch',
    pipeline({ split: { a: [{ uses: 'inspector', join: 'all' }] } }),
    '0.steps.0.split.a.0.join: the first step has nothing before it to join',
  ],
  [
    'join of one branch',
    pipeline({ split: [{ uses: 'inspector', join: 'all' }] }),
    '0.steps.0.split.0.join: the first step has nothing before it to join',
  ],
  [
    'a bad join',
    pipeline({ uses: 'inspector' }, { uses: 'reporter', join: 'any' }),
    '0.steps.1.join: must be "all", not "any"',
  ],
  [
    'collect alone',
    pipeline({ uses: 'inspector', collect: 'counts' }),
    '0.steps.0.collect!: "collect" belongs to a step with "join: all"',
  ],
  [
    'a bad collect',
    pipeline({ uses: 'inspector' }, { uses: 'reporter', join: 'all', collect: 'none' }),
    '0.steps.1.collect: must be "results" or "counts", not "none"',
  ],
  [
    'a bad on_error',
    pipeline({ uses: 'inspector', on_error: 'continu' }),
    '0.steps.0.on_error: must be "continue" or "fail", not "continu"; did you mean "continue"?',
  ],
  [
    'foreach of steps',
    pipeline({ steps: [{ uses: 'inspector' }], foreach: 'payload.a' }),
    '0.steps.0.foreach!: "foreach" belongs to a step with "uses" or "call", not to one with "steps"',
  ],
  [
    'two ids',
    pipeline({ id: 'a', uses: 'inspector' }, { id: 'a', uses: 'inspector' }),
    '0.steps.1.id: the id "a" is taken by steps[0]',
  ],
  [
    'two ids, nested',
    pipeline({ split: { x: [{ id: 'a', uses: 'inspector' }] } }, { id: 'a', uses: 'inspector' }),
    '0.steps.1.id: the id "a" is taken by steps[0].split.x[0]',
  ],
  [
    'a bad id',
    pipeline({ id: 1, uses: 'inspector' }),
    '0.steps.0.id: 1 is no id: it begins with a letter or "_", goes on with letters, digits, "_", "-" and ".", and has at most 128 characters',
  ],
  [
    'a bad foreach',
    pipeline({ uses: 'inspector', foreach: '{payload.a}' }),
    '0.steps.0.foreach: "{payload.a}": write the path without braces',
  ],
  [
    'a path of brackets',
    pipeline({ uses: 'inspector', foreach: 'payload.a[0]' }),
    '0.steps.0.foreach: "payload.a[0]": write list places with dots, as in payload.items.0',
  ],
  [
    'a misspelt root',
    pipeline({ uses: 'inspector', foreach: 'paylod.a' }),
    '0.steps.0.foreach: "paylod.a": a path begins with "payload." or "context."; did you mean "payload"?',
  ],
  [
    'a root out of place',
    pipeline({ uses: 'inspector', foreach: 'config.a' }),
    '0.steps.0.foreach: "config.a": a path here begins with "payload." or "context."',
  ],
  [
    'an empty path key',
    pipeline({ uses: 'inspector', foreach: 'payload..a' }),
    '0.steps.0.foreach: "payload..a": a path has a name after every dot',
  ],
  [
    'no path',
    pipeline({ uses: 'inspector', foreach: [1] }),
    '0.steps.0.foreach: must be a path like payload.items, not a list',
  ],
  [
    'with of text',
    pipeline({ uses: 'inspector', with: 'x' }),
    '0.steps.0.with: must be a map of names to values, not "x"',
  ],
  [
    'an open brace',
    withs('a {payload.b'),
    '0.steps.0.with.a: "a {payload.b": a "{" without its "}"; write "{{" for the brace itself',
  ],
  [
    'a closing brace',
    withs('a } b'),
    '0.steps.0.with.a: "a } b": a "}" without its "{"; write "}}" for the brace itself',
  ],
  [
    'a nested template',
    withs([{ b: '{env.x}' }]),
    '0.steps.0.with.a.0.b: "env.x": a path begins with "payload." or "context."',
  ],
  [
    'baggage of text',
    pipeline({ uses: 'inspector', baggage: 'x' }),
    '0.steps.0.baggage: must be a map of names to paths, not "x"',
  ],
  [
    'baggage inside baggage',
    pipeline({ uses: 'inspector', baggage: { a: 'payload.a', 'a.b': 'payload.b' } }),
    '0.steps.0.baggage.a.b!: "a.b" would lie inside "a", which is a value',
  ],
  [
    'reserved baggage',
    pipeline({ uses: 'inspector', baggage: { 'depth.x': 'payload.a' } }),
    '0.steps.0.baggage.depth.x!: "depth" in the context is given by the service',
  ],
  ['a split of text', pipeline({ split: 'x' }), '0.steps.0.split: must be a map or a list of branches, not "x"'],
  ['an empty split', pipeline({ split: {} }), '0.steps.0.split: must have at least one branch'],
  [
    'an empty branch',
    pipeline({ split: { a: [] } }),
    '0.steps.0.split.a: must be a list of at least one step, not an empty list',
  ],
  [
    'two branches of a name',
    pipeline({
      split: [
        { name: 'a', steps: [{ uses: 'inspector' }] },
        { name: 'a', steps: [{ uses: 'inspector' }] },
      ],
    }),
    '0.steps.0.split.1.name: two branches are called "a"',
  ],
  [
    'a condition of text',
    test('x'),
    '0.steps.0.if: must be a condition: {path, op, value}, or all, any or not of conditions, not "x"',
  ],
  [
    'an unknown operator',
    test({ path: 'payload.a', op: 'gtt', value: 1 }),
    '0.steps.0.if.op: no operator "gtt"; did you mean "gt"?',
  ],
  [
    'a far operator',
    test({ path: 'payload.a', op: '==', value: 1 }),
    '0.steps.0.if.op: no operator "=="; there are exists, eq, neq, in, gt, gte, lt, lte, contains, startswith, endswith, regex',
  ],
  ['no operator', test({ path: 'payload.a' }), '0.steps.0.if: a condition needs an "op"'],
  ['no value', test({ path: 'payload.a', op: 'eq' }), '0.steps.0.if: "eq" needs a "value"'],
  [
    'a misspelt condition key',
    test({ pth: 'payload.a', op: 'exists' }),
    '0.steps.0.if.pth!: a condition has no key "pth"; did you mean "path"?',
  ],
  ['an empty all', test({ all: [] }), '0.steps.0.if.all: must be a list of at least one condition, not an empty list'],
  [
    'all and any',
    test({ all: [{ path: 'payload.a', op: 'exists' }], any: [] }),
    '0.steps.0.if: "all" stands alone: put "any" into a condition of its own',
  ],
  [
    'in without a list',
    test({ path: 'payload.a', op: 'in', value: 'x' }),
    '0.steps.0.if.value: "in" takes a list of values, not "x"',
  ],
  [
    'gt of a list',
    test({ not: { path: 'payload.a', op: 'gt', value: [1] } }),
    '0.steps.0.if.not.value: "gt" takes a number or text, not a list',
  ],
  [
    'a bad pattern',
    test({ path: 'payload.a', op: 'regex', value: '(?=a)' }),
    '0.steps.0.if.value: not a pattern in RE2 syntax: invalid or unsupported Perl syntax: "(?="',
  ],
  [
    'a huge pattern',
    test({ path: 'payload.a', op: 'regex', value: 'a'.repeat(1001) }),
    '0.steps.0.if.value: not a pattern in RE2 syntax: longer than 1000 characters',
  ],
  [
    'config of no plugin',
    [{ name: 'p', if: { path: 'config.a', op: 'exists' }, steps: [{ uses: 'inspector' }] }],
    '0.if.path: "config.a": a path here begins with "payload." or "context."',
  ],
  ['a call of itself', pipeline({ call: 'p' }), '0.steps: pipelines call each other in a circle: p → p'],
  [
    'a circle',
    [
      { name: 'a', steps: [{ call: 'b' }] },
      { name: 'b', steps: [{ split: [{ call: 'c' }] }] },
      { name: 'c', steps: [{ steps: [{ call: 'b' }] }] },
    ],
    '1.steps: pipelines call each other in a circle: b → c → b',
  ],
];

describe('the load', () => {
  it.each(wrong)('says what is wrong with %s', (_, raw, said) => {
    expect(problemsOf(raw)).toEqual([said].flat());
  });

  it('says everything at once', () => {
    const raw = [
      { name: 'p', on: 1, steps: [{ uses: 'x' }, { call: 'y', if: { path: 'z', op: 'w', value: 1 } }] },
      { name: 'q', steps: [{ uses: 'inspector', join: 'all' }] },
    ];
    expect(checkPipelines(raw, plugins).problems.map(problem => problem.path.join('.'))).toEqual([
      '0.on',
      '0.steps.0.uses',
      '0.steps.1.if.path',
      '0.steps.1.if.op',
      '0.steps.1.call',
      '1.steps.0.join',
    ]);
  });

  it('takes a whole pipeline apart into plain data', () => {
    const { pipelines, problems } = checkPipelines(
      [
        {
          name: 'license-report',
          on: 'packages.found',
          execution_mode: 'sync',
          timeout_secs: 5,
          if: { path: 'payload.count', op: 'gt', value: 0 },
          steps: [
            {
              id: 'inspect',
              uses: 'inspector.scan',
              foreach: 'payload.packages',
              with: { root: '{payload.root}', text: 'a {{{context.x}}}', plain: { a: [1, null] } },
              baggage: { 'report.root': 'payload.root' },
              on_error: 'continue',
            },
            { uses: 'reporter', join: 'all', collect: 'counts', if: { not: { path: 'payload.a', op: 'exists' } } },
            {
              on_error: 'continue',
              split: { a: { uses: 'reporter' }, b: [{ steps: [{ uses: 'reporter', on_error: 'fail' }] }] },
            },
          ],
        },
      ],
      plugins,
    );
    expect(problems).toEqual([]);
    expect(structuredClone(pipelines)).toEqual(pipelines);
    expect(pipelines).toMatchObject([
      {
        name: 'license-report',
        on: 'packages.found',
        onHook: null,
        executionMode: 'synchronous',
        timeoutMs: 5000,
        if: { kind: 'test', path: { root: 'payload', keys: ['count'] }, op: 'gt', value: 0 },
        steps: [
          {
            id: 'inspect',
            kind: 'uses',
            instance: 'inspector',
            command: 'scan',
            foreach: { root: 'payload', keys: ['packages'] },
            with: [
              ['root', { kind: 'reference', path: { root: 'payload', keys: ['root'] } }],
              ['text', { kind: 'text', parts: ['a {', { root: 'context', keys: ['x'] }, '}'] }],
              ['plain', { kind: 'literal', value: { a: [1, null] } }],
            ],
            baggage: [['report.root', { root: 'payload', keys: ['root'] }]],
            onError: 'continue',
          },
          {
            id: '2',
            command: 'handle',
            onError: 'fail',
            join: { collect: 'counts' },
            if: { kind: 'not', of: { value: true } },
          },
          {
            id: '3',
            branches: [
              { name: 'a', steps: [{ id: '3.1.1', onError: 'continue' }] },
              { name: 'b', steps: [{ id: '3.2.1', steps: [{ id: '3.2.1.1', onError: 'fail' }] }] },
            ],
          },
        ],
      },
    ]);
  });

  it('takes no pipelines for none', () => {
    expect(checkPipelines(undefined, plugins)).toEqual({ pipelines: [], problems: [] });
  });
});
