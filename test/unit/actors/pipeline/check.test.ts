// Reading the pipelines of a configuration: all problems are reported at once, and valid pipelines become plain data.
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

describe('the load', () => {
  it('says everything at once', () => {
    const raw = [
      { name: 'p', on: 1, steps: [{ uses: 'x' }, { call: 'y', if: { path: 'z', op: 'w', value: 1 } }] },
      { name: 'q', steps: [{ uses: 'inspector', join: 'all' }] },
    ];
    expect(problemsOf(raw).map(line => line.replace(/: .*/, ''))).toEqual([
      '[0].on',
      '[0].steps[1].if.op',
      '[0].steps[0].uses',
      '[0].steps[1].if.path',
      '[0].steps[1].call',
      '[1].steps[0].join',
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

  it('takes keys with nothing behind them for unset, but not the value of a condition', () => {
    const step = { uses: 'inspector', join: null, if: { path: 'payload.a', op: 'eq', value: null }, with: { a: null } };
    const { pipelines, problems } = checkPipelines([{ name: 'p', on: null, steps: [step] }], plugins);
    expect(problems).toEqual([]);
    expect(pipelines[0]!.steps).toMatchObject([
      { join: null, if: { op: 'eq', value: null }, with: [['a', { kind: 'literal', value: null }]] },
    ]);
  });

  it('reads steps nested as deep as a file can be', () => {
    const nest = (depth: number): unknown => (depth === 0 ? { uses: 'inspector' } : { split: { a: nest(depth - 1) } });
    expect(problemsOf(pipeline(nest(30)))).toEqual([]);
    const wrong = JSON.parse(JSON.stringify(pipeline(nest(30))).replace('inspector', ''));
    expect(problemsOf(wrong)).toEqual([expect.stringContaining('.split.a.uses: is an empty string')]);
  });

  it('takes no pipelines for none', () => {
    expect(checkPipelines(undefined, plugins)).toEqual({ pipelines: [], problems: [] });
  });
});
