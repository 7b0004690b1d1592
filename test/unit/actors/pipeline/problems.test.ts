// What loading says about wrong pipelines: the exact message and place of each problem.
import { describe, expect, it } from 'vitest';
import { checkPipelines } from './checked.ts';

const plugins = {
  inspector: ['handle', 'scan'],
  reporter: ['handle'],
  silent: ['poll'],
};

function problemsOf(raw: unknown): string[] {
  return checkPipelines(raw, plugins).problems.map(line => line.replace('pipelines', ''));
}
const pipeline = (...steps: unknown[]) => [{ name: 'p', steps }];
const test = (condition: unknown) => pipeline({ uses: 'inspector', if: condition });
const withs = (text: unknown) => pipeline({ uses: 'inspector', with: { a: text } });

const wrong: [string, unknown, string | string[]][] = [
  ['no list', {}, ': is an empty map; it must be a list of pipelines'],
  [
    'no map',
    ['x'],
    '[0]: is a single value; it must be a pipeline (name, steps; optional: description, input_schema, on, on_hook, execution_mode, timeout_secs, if, deadline, on_failure, finally, phase_timeout)',
  ],
  [
    'an empty pipeline',
    [{}],
    [
      '[0].name: is missing; it must be a name of letters, digits, "_", "-" and ".", which begins with a letter or digit and has at most 128 characters',
      '[0].steps: is missing; it must be a list of at least one step',
    ],
  ],
  [
    'a bad name',
    [{ name: 'a/b', steps: [{ uses: 'inspector' }] }],
    '[0].name: is "a/b"; it must be a name of letters, digits, "_", "-" and ".", which begins with a letter or digit and has at most 128 characters',
  ],
  [
    'a misspelt key',
    [{ name: 'p', step: [] }],
    [
      '[0].step: is not a known key; did you mean "steps"?',
      '[0].steps: is an empty list; it must be a list of at least one step',
    ],
  ],
  [
    'an unknown key',
    [{ name: 'p', colour: 1, steps: [{ uses: 'inspector' }] }],
    '[0].colour: is not a known key; known keys: name, description, input_schema, on, on_hook, execution_mode, timeout_secs, if, steps, deadline, on_failure, finally, phase_timeout',
  ],
  [
    'on and on_hook',
    [{ name: 'p', on: 'x', on_hook: 'job.failed', steps: [{ uses: 'inspector' }] }],
    '[0].on_hook: a pipeline has "on" or "on_hook", not both',
  ],
  [
    'a bad hook',
    [{ name: 'p', on_hook: 'job.fail', steps: [{ uses: 'inspector' }] }],
    '[0].on_hook: is "job.fail"; it must be one of job.completed, job.failed, job.timed_out, job.cancelled, pipeline.completed, pipeline.failed, pipeline.timed_out, pipeline.cancelled; did you mean "job.failed"?',
  ],
  [
    'a bad trigger',
    [{ name: 'p', on: 3, steps: [{ uses: 'inspector' }] }],
    '[0].on: is 3; it must be the type of an event; put it in quotes',
  ],
  [
    'a bad mode',
    [{ name: 'p', execution_mode: 'synchronus', steps: [{ uses: 'inspector' }] }],
    '[0].execution_mode: is "synchronus"; it must be one of synchronous, asynchronous, sync, async; did you mean "synchronous"?',
  ],
  [
    'a bad time',
    [{ name: 'p', timeout_secs: 0.5, steps: [{ uses: 'inspector' }] }],
    '[0].timeout_secs: is 0.5; it must be a whole number from 1 to 86400',
  ],
  ['no steps', pipeline(), '[0].steps: is an empty list; it must be a list of at least one step'],
  [
    'a step of text',
    pipeline('inspector'),
    '[0].steps[0]: is a single value; it must be a step (one of uses, call, split, steps; optional: id, if, on_error, join, collect, foreach, fail_fast, with, retry, timeout, baggage)',
  ],
  [
    'a step of nothing',
    pipeline({ id: 'a' }),
    '[0].steps[0]: has none of "uses", "call", "split", "steps"; it must have exactly one',
  ],
  [
    'a step of two kinds',
    pipeline({ uses: 'inspector', call: 'p' }),
    '[0].steps[0]: has "uses" and "call"; it must have exactly one of "uses", "call", "split", "steps"',
  ],
  [
    'a misspelt step key',
    pipeline({ usees: 'inspector' }),
    '[0].steps[0].usees: is not a known key; did you mean "uses"?',
  ],
  [
    'an unknown step key',
    pipeline({ uses: 'inspector', retries: 1 }),
    '[0].steps[0].retries: is not a known key; known keys: id, if, on_error, join, collect, uses, call, split, steps, foreach, fail_fast, with, retry, timeout, baggage',
  ],
  [
    'an unknown plugin',
    pipeline({ uses: 'inspectr' }),
    '[0].steps[0].uses: unknown plugin "inspectr"; did you mean "inspector"?',
  ],
  [
    'a far plugin',
    pipeline({ uses: 'xyz' }),
    '[0].steps[0].uses: unknown plugin "xyz"; known plugins: inspector, reporter, silent',
  ],
  [
    'an inherited property',
    pipeline({ uses: 'constructor' }),
    '[0].steps[0].uses: unknown plugin "constructor"; known plugins: inspector, reporter, silent',
  ],
  [
    'an unknown command',
    pipeline({ uses: 'inspector.scam' }),
    '[0].steps[0].uses: plugin "inspector" has no command "scam"; did you mean "scan"?',
  ],
  [
    'no handle',
    pipeline({ uses: 'silent' }),
    '[0].steps[0].uses: plugin "silent" has no command "handle"; known commands: poll',
  ],
  [
    'a bad uses',
    pipeline({ uses: 3 }),
    '[0].steps[0].uses: is 3; it must be a plugin, or plugin.command; put it in quotes',
  ],
  ['an unknown pipeline', pipeline({ call: 'q' }), '[0].steps[0].call: unknown pipeline "q"; did you mean "p"?'],
  [
    'join first',
    pipeline({ uses: 'inspector', join: 'all' }),
    '[0].steps[0].join: the first step has nothing before it to join',
  ],
  [
    'join first in a branch',
    pipeline({ split: { a: [{ uses: 'inspector', join: 'all' }] } }),
    '[0].steps[0].split.a[0].join: the first step has nothing before it to join',
  ],
  [
    'join of one branch',
    pipeline({ split: [{ uses: 'inspector', join: 'all' }] }),
    '[0].steps[0].split[0].join: the first step has nothing before it to join',
  ],
  [
    'a bad join',
    pipeline({ uses: 'inspector' }, { uses: 'reporter', join: 'any' }),
    '[0].steps[1].join: is "any"; it must be "all"',
  ],
  ['collect alone', pipeline({ uses: 'inspector', collect: 'counts' }), '[0].steps[0].collect: needs "join" as well'],
  [
    'a bad collect',
    pipeline({ uses: 'inspector' }, { uses: 'reporter', join: 'all', collect: 'none' }),
    '[0].steps[1].collect: is "none"; it must be one of results, counts',
  ],
  [
    'a bad on_error',
    pipeline({ uses: 'inspector', on_error: 'continu' }),
    '[0].steps[0].on_error: is "continu"; it must be one of continue, fail; did you mean "continue"?',
  ],
  [
    'foreach of steps',
    pipeline({ steps: [{ uses: 'inspector' }], foreach: 'payload.a' }),
    '[0].steps[0].foreach: "foreach" belongs to a step with "uses" or "call", not to one with "steps"',
  ],
  [
    'two ids',
    pipeline({ id: 'a', uses: 'inspector' }, { id: 'a', uses: 'inspector' }),
    '[0].steps[1].id: "a" is already the id of pipelines[0].steps[0]',
  ],
  [
    'two ids, nested',
    pipeline({ split: { x: [{ id: 'a', uses: 'inspector' }] } }, { id: 'a', uses: 'inspector' }),
    '[0].steps[1].id: "a" is already the id of pipelines[0].steps[0].split.x[0]',
  ],
  [
    'a bad id',
    pipeline({ id: 1, uses: 'inspector' }),
    '[0].steps[0].id: is 1; it must be an id of letters, digits, "_", "-" and ".", which begins with a letter or "_" and has at most 128 characters',
  ],
  [
    'a bad foreach',
    pipeline({ uses: 'inspector', foreach: '{payload.a}' }),
    '[0].steps[0].foreach: "{payload.a}": write the path without braces',
  ],
  [
    'a path of brackets',
    pipeline({ uses: 'inspector', foreach: 'payload.a[0]' }),
    '[0].steps[0].foreach: "payload.a[0]": write list indexes with dots, as in payload.items.0',
  ],
  [
    'a misspelt root',
    pipeline({ uses: 'inspector', foreach: 'paylod.a' }),
    '[0].steps[0].foreach: "paylod.a": a path begins with "payload." or "context."; did you mean "payload"?',
  ],
  [
    'a root out of place',
    pipeline({ uses: 'inspector', foreach: 'config.a' }),
    '[0].steps[0].foreach: "config.a": a path here begins with "payload." or "context."',
  ],
  [
    'an empty path key',
    pipeline({ uses: 'inspector', foreach: 'payload..a' }),
    '[0].steps[0].foreach: "payload..a": a path has a name after every dot',
  ],
  [
    'no path',
    pipeline({ uses: 'inspector', foreach: [1] }),
    '[0].steps[0].foreach: is a list; it must be a path such as payload.items',
  ],
  [
    'with of text',
    pipeline({ uses: 'inspector', with: 'x' }),
    '[0].steps[0].with: is a single value; it must be a map of names to values',
  ],
  [
    'an open brace',
    withs('a {payload.b'),
    '[0].steps[0].with.a: "a {payload.b": a "{" without its "}"; write "{{" for a literal brace',
  ],
  [
    'a closing brace',
    withs('a } b'),
    '[0].steps[0].with.a: "a } b": a "}" without its "{"; write "}}" for a literal brace',
  ],
  [
    'a nested template',
    withs([{ b: '{env.x}' }]),
    '[0].steps[0].with.a[0].b: "env.x": a path begins with "payload." or "context."',
  ],
  [
    'baggage of text',
    pipeline({ uses: 'inspector', baggage: 'x' }),
    '[0].steps[0].baggage: is a single value; it must be a map of names to paths',
  ],
  [
    'baggage inside baggage',
    pipeline({ uses: 'inspector', baggage: { a: 'payload.a', 'a.b': 'payload.b' } }),
    '[0].steps[0].baggage["a.b"]: "a.b" would be inside "a", which is a value itself',
  ],
  [
    'reserved baggage',
    pipeline({ uses: 'inspector', baggage: { 'depth.x': 'payload.a' } }),
    '[0].steps[0].baggage["depth.x"]: "depth" in the context is set by the service; choose another name',
  ],
  [
    'baggage in place of an occurrence',
    pipeline({ uses: 'inspector', baggage: { schedule: 'payload.a' } }),
    '[0].steps[0].baggage.schedule: "schedule" in the context is set by the service; choose another name',
  ],
  ['a split of text', pipeline({ split: 'x' }), '[0].steps[0].split: is "x"; it must be a map or a list of branches'],
  [
    'an empty split',
    pipeline({ split: {} }),
    '[0].steps[0].split: is an empty map; it must be a map of at least one branch',
  ],
  [
    'an empty branch',
    pipeline({ split: { a: [] } }),
    '[0].steps[0].split.a: is an empty list; it must be a list of at least one step',
  ],
  [
    'two branches of a name',
    pipeline({
      split: [
        { name: 'a', steps: [{ uses: 'inspector' }] },
        { name: 'a', steps: [{ uses: 'inspector' }] },
      ],
    }),
    '[0].steps[0].split[1].name: "a" is already the name of a branch of this split',
  ],
  [
    'a condition of text',
    test('x'),
    '[0].steps[0].if: is a single value; it must be a condition (one of path with op, all, any, not; optional: value)',
  ],
  [
    'an unknown operator',
    test({ path: 'payload.a', op: 'gtt', value: 1 }),
    '[0].steps[0].if.op: is "gtt"; it must be one of exists, eq, neq, in, gt, gte, lt, lte, contains, startswith, endswith, regex; did you mean "gt"?',
  ],
  [
    'a far operator',
    test({ path: 'payload.a', op: '==', value: 1 }),
    '[0].steps[0].if.op: is "=="; it must be one of exists, eq, neq, in, gt, gte, lt, lte, contains, startswith, endswith, regex',
  ],
  ['no operator', test({ path: 'payload.a' }), '[0].steps[0].if.path: needs "op" as well'],
  ['no value', test({ path: 'payload.a', op: 'eq' }), '[0].steps[0].if: "eq" needs a "value"'],
  [
    'a misspelt condition key',
    test({ pth: 'payload.a', op: 'exists' }),
    '[0].steps[0].if.pth: is not a known key; did you mean "path"?',
  ],
  [
    'an empty all',
    test({ all: [] }),
    '[0].steps[0].if.all: is an empty list; it must be a list of at least one condition',
  ],
  [
    'all and any',
    test({ all: [{ path: 'payload.a', op: 'exists' }], any: [] }),
    [
      '[0].steps[0].if: has "all" and "any"; it must have exactly one of "path", "all", "any", "not"',
      '[0].steps[0].if.any: is an empty list; it must be a list of at least one condition',
    ],
  ],
  [
    'in without a list',
    test({ path: 'payload.a', op: 'in', value: 'x' }),
    '[0].steps[0].if.value: "in" takes a list of values',
  ],
  [
    'gt of a list',
    test({ not: { path: 'payload.a', op: 'gt', value: [1] } }),
    '[0].steps[0].if.not.value: "gt" takes a number or text',
  ],
  [
    'a bad pattern',
    test({ path: 'payload.a', op: 'regex', value: '(?=a)' }),
    '[0].steps[0].if.value: is not a pattern in RE2 syntax: invalid or unsupported Perl syntax: "(?="',
  ],
  [
    'a huge pattern',
    test({ path: 'payload.a', op: 'regex', value: 'a'.repeat(1001) }),
    '[0].steps[0].if.value: is not a pattern in RE2 syntax: longer than 1000 characters',
  ],
  [
    'config of no plugin',
    [{ name: 'p', if: { path: 'config.a', op: 'exists' }, steps: [{ uses: 'inspector' }] }],
    '[0].if.path: "config.a": a path here begins with "payload." or "context."',
  ],
  [
    'an operator beside all',
    test({ all: [{ path: 'payload.a', op: 'exists' }], op: 'eq' }),
    '[0].steps[0].if.op: needs "path" as well',
  ],
  [
    'a misspelt key whose value is wrong, too',
    pipeline({ uses: 'inspector', forech: 'payload[0]' }),
    [
      '[0].steps[0].forech: is not a known key; did you mean "foreach"?',
      '[0].steps[0].foreach: "payload[0]": write list indexes with dots, as in payload.items.0',
    ],
  ],
  [
    'a named branch without steps',
    pipeline({ split: [{ name: 'a', uses: 'inspector' }] }),
    [
      '[0].steps[0].split[0].steps: is missing; it must be a list of at least one step',
      '[0].steps[0].split[0].uses: is not a known key; known keys: name, steps',
    ],
  ],
  [
    'a branch of nothing',
    pipeline({ split: { a: null } }),
    '[0].steps[0].split.a: is empty; it must be a step, or a list of at least one step',
  ],
  [
    'a wrong value deep inside branches',
    pipeline({ split: { a: [{ split: [{ name: 'b', steps: [{ steps: [{ uses: '' }] }] }] }] } }),
    '[0].steps[0].split.a[0].split[0].steps[0].steps[0].uses: is an empty string; it must be a plugin, or plugin.command',
  ],
  [
    'a call of itself',
    pipeline({ call: 'p' }),
    '[0].steps: is part of a cycle of calls: p → p; remove one of these calls',
  ],
  [
    'a circle',
    [
      { name: 'a', steps: [{ call: 'b' }] },
      { name: 'b', steps: [{ split: [{ call: 'c' }] }] },
      { name: 'c', steps: [{ steps: [{ call: 'b' }] }] },
    ],
    '[1].steps: is part of a cycle of calls: b → c → b; remove one of these calls',
  ],
];

describe('the load', () => {
  it.each(wrong)('says what is wrong with %s', (_, raw, said) => {
    expect(problemsOf(raw)).toEqual([said].flat());
  });
});
