// What loading says about wrong limits of steps, deadlines and phases.
import { describe, expect, it } from 'vitest';
import { checkPipelines } from './checked.ts';

const plugins = { inspector: ['handle', 'scan'], reporter: ['handle'] };

function problemsOf(raw: unknown): string[] {
  return checkPipelines(raw, plugins).problems.map(line => line.replace('pipelines', ''));
}
const pipeline = (...steps: unknown[]) => [{ name: 'p', steps }];

const wrong: [string, unknown, string][] = [
  [
    'retry of a call',
    [...pipeline({ call: 'q', retry: { max_attempts: 2 } }), { name: 'q', steps: [{ uses: 'inspector' }] }],
    '[0].steps[0].retry: "retry" belongs to a step with "uses", not to one with "call"',
  ],
  [
    'timeout of a split',
    pipeline({ split: { a: { uses: 'inspector' } }, timeout: '1s' }),
    '[0].steps[0].timeout: "timeout" belongs to a step with "uses" or "call", not to one with "split"',
  ],
  [
    'a timeout of nothing',
    pipeline({ uses: 'inspector', timeout: '0s' }),
    '[0].steps[0].timeout: is "0s"; it must be from 1ms to 24d',
  ],
  [
    'a bad retry',
    pipeline({ uses: 'inspector', retry: { attempts: 2 } }),
    '[0].steps[0].retry.attempts: is not a known key; known keys: max_attempts, backoff_base, backoff_max',
  ],
  [
    'fail_fast without foreach',
    pipeline({ uses: 'inspector', fail_fast: false }),
    '[0].steps[0].fail_fast: "fail_fast" belongs to a step with "foreach"',
  ],
  [
    'a deadline of nothing',
    [{ name: 'p', deadline: '0m', steps: [{ uses: 'inspector' }] }],
    '[0].deadline: is "0m"; it must be from 1ms to 3650d',
  ],
  [
    'a deadline of ages',
    [{ name: 'p', deadline: '3651d', steps: [{ uses: 'inspector' }] }],
    '[0].deadline: is "3651d"; it must be from 1ms to 3650d',
  ],
  [
    'phase_timeout alone',
    [{ name: 'p', phase_timeout: '1m', steps: [{ uses: 'inspector' }] }],
    '[0].phase_timeout: "phase_timeout" belongs to a pipeline with "on_failure" or "finally"',
  ],
  [
    'an empty phase',
    [{ name: 'p', finally: [], steps: [{ uses: 'inspector' }] }],
    '[0].finally: is an empty list; it must be a list of at least one step',
  ],
  [
    'an unknown plugin in a phase',
    [{ name: 'p', on_failure: [{ uses: 'inspectr' }], steps: [{ uses: 'inspector' }] }],
    '[0].on_failure[0].uses: unknown plugin "inspectr"; did you mean "inspector"?',
  ],
  [
    'join first in a phase',
    [{ name: 'p', finally: [{ uses: 'reporter', join: 'all' }], steps: [{ uses: 'inspector' }] }],
    '[0].finally[0].join: the first step has nothing before it to join',
  ],
  [
    'an id that a step and a phase share',
    [{ name: 'p', finally: [{ id: 'a', uses: 'reporter' }], steps: [{ id: 'a', uses: 'inspector' }] }],
    '[0].finally[0].id: "a" is already the id of pipelines[0].steps[0]',
  ],
  [
    'an id like the position of a step in a phase',
    [{ name: 'p', finally: [{ uses: 'reporter' }], steps: [{ id: 'finally.1', uses: 'inspector' }] }],
    '[0].finally[0].id: "finally.1" is already the id of pipelines[0].steps[0]',
  ],
  [
    'a cycle through a phase',
    [{ name: 'p', finally: [{ call: 'p' }], steps: [{ uses: 'inspector' }] }],
    '[0].steps: is part of a cycle of calls: p → p; remove one of these calls',
  ],
];

describe('the load', () => {
  it.each(wrong)('says what is wrong with %s', (_, raw, said) => {
    expect(problemsOf(raw)).toEqual([said]);
  });
});
