// GET /topology: outputs from manifests, inputs from pipelines and webhooks, signals between them.
import { expect, test } from 'vitest';
import { shareGateway } from '../../service/gateway/gateway.ts';

const handle = 'export const handle = () => ({});';

function plugin(emits: readonly string[] = [], code = handle) {
  const emit = emits.map(event => ({ event, values: [] }));
  return { code, commands: { handle: { values: { emit } } } };
}

type Shown = {
  readonly captured_at: string;
  readonly plugins: readonly { name: string; active: boolean; inputs: object[]; outputs: object[] }[];
  readonly signals: readonly { name: string; producers: object[]; consumers: object[] }[];
};

/** Each test loads its own configuration. */
const gateway = shareGateway({ plugins: {} });

async function topology(): Promise<Shown> {
  const { status, body } = await gateway.call('GET', '/topology');
  expect(status).toBe(200);
  return body as unknown as Shown;
}

test('outputs are what manifests declare, inputs are the trigger or the upstream event of a step', async () => {
  await gateway.reload({
    plugins: { finder: plugin(['packages.found', 'packages.none']), inspector: plugin(), reporter: plugin() },
    pipelines: [
      {
        name: 'report',
        on: 'packages.found',
        steps: [{ uses: 'inspector' }, { uses: 'reporter' }],
      },
    ],
  });
  const { captured_at, plugins, signals } = await topology();
  expect(Date.parse(captured_at)).toBeGreaterThan(Date.now() - 60_000);
  const command = 'handle';
  expect(plugins).toEqual([
    {
      name: 'finder',
      active: true,
      inputs: [],
      outputs: [
        { signal: 'packages.found', command },
        { signal: 'packages.none', command },
      ],
    },
    { name: 'inspector', active: true, inputs: [{ signal: 'packages.found', command }], outputs: [] },
    { name: 'reporter', active: true, inputs: [{ signal: 'inspector.handle.result', command }], outputs: [] },
  ]);
  expect(signals).toEqual([
    {
      name: 'inspector.handle.result',
      producers: [{ plugin: 'inspector', command }],
      consumers: [{ plugin: 'reporter', command }],
    },
    {
      name: 'packages.found',
      producers: [{ plugin: 'finder', command }],
      consumers: [{ plugin: 'inspector', command }],
    },
    { name: 'packages.none', producers: [{ plugin: 'finder', command }], consumers: [] },
  ]);
});

test('follows splits, joins, conditions, calls and hooks', async () => {
  await gateway.reload({
    plugins: { a: plugin(['a.done']), b: plugin(), c: plugin(), d: plugin(), e: plugin() },
    pipelines: [
      {
        name: 'outer',
        on: 'go',
        steps: [
          { uses: 'a', if: { path: 'payload.x', op: 'exists', value: true } },
          { split: [{ uses: 'b' }, { uses: 'c' }] },
          { uses: 'd', join: 'all' },
          { call: 'inner' },
        ],
      },
      { name: 'inner', steps: [{ uses: 'e' }] },
      { name: 'alarm', on_hook: 'job.failed', steps: [{ uses: 'e' }] },
    ],
  });
  const { plugins } = await topology();
  const inputs = Object.fromEntries(
    plugins.map(({ name, inputs }) => [name, inputs.map(wire => (wire as { signal: string }).signal)]),
  );
  expect(inputs).toEqual({
    a: ['go'],
    b: ['a.done', 'go'],
    c: ['a.done', 'go'],
    d: ['pipeline.join'],
    e: ['api.trigger', 'd.handle.result', 'job.failed'],
  });
});

test('ends soon for a long chain of pipelines, each with several calls of the next', async () => {
  const names = Array.from({ length: 40 }, (_, n) => `p${n}`);
  const condition = { path: 'payload.x', op: 'exists', value: true };
  const pipelines = names.map((name, n) => {
    const next = names[n + 1];
    const steps =
      next === undefined ? [{ uses: 'a' }] : [{ call: next, if: condition }, { call: next }, { call: next }];
    return { name, steps };
  });
  await gateway.reload({ plugins: { a: plugin() }, pipelines });
  const signals = ['api.trigger', ...names.slice(1).map(name => `pipeline.${name}.result`)].sort();
  expect((await topology()).plugins[0]!.inputs).toEqual(signals.map(signal => ({ signal, command: 'handle' })));
});

test('needs plugin:catalog:ro, plugin:rw or *', async () => {
  const scopes = ['plugin:catalog:ro', 'plugin:rw', 'plugin:ro', 'jobs:rw', 'events:rw'];
  const tokens = scopes.map(scope => ({ name: scope, token: `token-${scope}`, scopes: [scope] }));
  await gateway.reload({ plugins: { a: plugin() }, api: { auth: { tokens } } });
  const statuses = scopes.map(
    async scope => (await gateway.call('GET', '/topology', undefined, { token: `token-${scope}` })).status,
  );
  expect(await Promise.all(statuses)).toEqual([200, 200, 403, 403, 403]);
  expect((await gateway.call('GET', '/topology', undefined, { token: null })).status).toBe(401);
});

test('a reload shows at once', async () => {
  await gateway.reload({ plugins: { a: plugin() } });
  await gateway.reload({ plugins: { a: plugin(), b: plugin(['b.done']) } });
  expect((await topology()).plugins.map(({ name }) => name)).toEqual(['a', 'b']);
});
