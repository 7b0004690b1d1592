// Pipelines (docs/contract.md#pipelines): every construct once, run by the real service.
import { expect, test } from 'vitest';
import { outputSchema } from '../../../http/openapi/schemas.ts';
import { type Job, shareGateway } from './gateway.ts';
import { echo, step, worker } from './sources.ts';

/** What the plugin `step` answers with: the input that it was given. */
type Given = {
  readonly type: string;
  readonly payload: { [key: string]: unknown };
  readonly context: { [key: string]: unknown };
};

const uses = (id: string, more: object = {}) => ({ id, uses: 'step', ...more });
const hundred = Array.from({ length: 100 }, (_, i) => i);

const gateway = shareGateway({
  plugins: {
    step,
    worker,
    echo,
    picky: {
      code: 'export const handle = () => ({});',
      commands: { handle: { input_schema: { width: 'integer' } } },
    },
    commanded:
      'export const shout = ({ payload, context }) => ({ result: { loud: payload.text, by: context.step_id } });',
  },
  instances: { step: { config: { mode: 'fine' }, retry: { max_attempts: 2, backoff_base: '2ms' } } },
  pipelines: [
    { name: 'three', on: 'three.asked', execution_mode: 'sync', steps: [uses('a'), uses('b'), uses('c')] },
    {
      name: 'held',
      on: 'held',
      execution_mode: 'synchronous',
      timeout_secs: 1,
      steps: [{ id: 'hold', uses: 'worker' }],
    },
    { name: 'plain', on: 'plain', steps: [uses('only')] },
    {
      name: 'fan',
      on: 'fan',
      steps: [
        uses('list'),
        uses('each', { foreach: 'payload.list', with: { root: '{payload.root}' }, on_error: 'continue' }),
        uses('all', { join: 'all' }),
      ],
    },
    {
      name: 'counts_of_echo',
      on: 'counts_of_echo',
      steps: [{ id: 'each', uses: 'echo', foreach: 'payload.list' }, uses('all', { join: 'all', collect: 'counts' })],
    },
    {
      name: 'counts',
      on: 'counts',
      steps: [
        uses('each', { foreach: 'payload.list', on_error: 'continue' }),
        uses('all', { join: 'all', collect: 'counts' }),
      ],
    },
    {
      name: 'strict_fan',
      on: 'strict_fan',
      steps: [uses('each', { foreach: 'payload.list' }), uses('all', { join: 'all' })],
    },
    { name: 'open_fan', on: 'open_fan', steps: [uses('each', { foreach: 'payload.list' })] },
    {
      name: 'branches',
      on: 'branches',
      steps: [
        uses('before'),
        { split: { left: [uses('l1'), uses('l2')], right: [uses('r1')] } },
        uses('after', { join: 'all' }),
      ],
    },
    { name: 'unjoined', on: 'unjoined', steps: [{ split: [[uses('x')], [uses('y')]] }, uses('each_branch')] },
    { name: 'two_entries', on: 'two', execution_mode: 'synchronous', steps: [{ split: [[uses('x')], [uses('y')]] }] },
    {
      name: 'two_entries_passed_over',
      on: 'two_passed_over',
      execution_mode: 'synchronous',
      steps: [{ split: [[uses('x')], [uses('y')]], if: { path: 'payload.absent', op: 'exists', value: true } }],
    },
    { name: 'nested', on: 'nested', steps: [{ steps: [uses('n1'), { steps: [uses('n2')] }] }, uses('n3')] },
    {
      name: 'callee',
      on: 'callee',
      steps: [uses('inner', { with: { result: { from: 'callee', got: '{payload.value}' } } })],
    },
    { name: 'caller', on: 'caller', steps: [{ id: 'calling', call: 'callee' }, uses('outer')] },
    {
      name: 'conditional',
      on: 'conditional',
      steps: [
        uses('always'),
        uses('big', { if: { path: 'payload.payload.count', op: 'gt', value: 10 } }),
        uses('fine', {
          if: {
            all: [{ path: 'config.mode', op: 'eq', value: 'fine' }, { not: { path: 'payload.nothing', op: 'exists' } }],
          },
        }),
      ],
    },
    { name: 'never', on: 'never', if: { path: 'payload.go', op: 'eq', value: true }, steps: [uses('unreached')] },
    {
      name: 'templated',
      on: 'templated',
      steps: [
        uses('t', {
          with: { number: '{payload.a.b}', text: 'b is {payload.a.b}', braces: '{{x}}', nested: ['{payload.list}'] },
        }),
      ],
    },
    {
      name: 'laden',
      on: 'laden',
      steps: [
        uses('load', { baggage: { 'report.root': 'payload.root' } }),
        uses('carry', { with: { seen: '{context.report.root}' } }),
      ],
    },
    { name: 'checked', on: 'checked', steps: [{ id: 'p', uses: 'picky', with: { width: 'wide' } }] },
    { name: 'command', on: 'command', steps: [{ id: 'c', uses: 'commanded.shout', with: { text: 'hey' } }] },
    { name: 'emitting', on: 'emitting', steps: [uses('source'), uses('per_event')] },
  ],
});

const given = (job: Job | undefined) => job?.result?.result as Given;

/** The jobs of a run, without the run itself, by step. */
async function stepsOf(run: Job): Promise<{ [step: string]: Job[] }> {
  const steps: { [step: string]: Job[] } = {};
  const notes = gateway.journal() as unknown as readonly { job: string; step?: string }[];
  for (const job of await gateway.tree(run.job_id)) {
    const step = notes.find(note => note.job === job.job_id)?.step;
    if (step) steps[step] = [...(steps[step] ?? []), job];
  }
  return steps;
}

test('a synchronous run is answered with its result, its tree and how long it took', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/three', { payload: { a: 1 } });
  expect(status).toBe(200);
  expect(body).toMatchObject({ status: 'succeeded', duration_ms: expect.any(Number) });
  const tree = body['tree'] as Job[];
  expect(tree.map(job => job.plugin)).toEqual(['pipeline', 'step', 'step', 'step']);
  expect(tree.every(job => job.status === 'succeeded')).toBe(true);
  expect(await gateway.job(String(body['job_id']))).toMatchObject({ status: 'succeeded', command: 'three' });
});

test('the entry event has the type of the trigger, a handed-on result that of its command', async () => {
  const run = await gateway.ran('three', { a: 1 });
  const steps = await stepsOf(run);
  expect(given(steps['a']![0])).toMatchObject({
    type: 'three.asked',
    payload: { a: 1 },
    context: { pipeline: 'three', step_id: 'a' },
  });
  expect(given(steps['b']![0])).toMatchObject({ type: 'step.handle.result' });
});

test('with async=true a synchronous pipeline is answered at once', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/three?async=true');
  expect(status).toBe(202);
  expect(body).toEqual({ job_id: expect.any(String), status: 'queued', plugin: 'pipeline', command: 'three' });
});

test('a pipeline is asynchronous when nothing is said', async () => {
  expect((await gateway.call('POST', '/pipeline/plain', {})).status).toBe(202);
});

test('a synchronous run past its timeout is answered as running, and goes on', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/held', { payload: { gate: 'held' } });
  expect(status).toBe(202);
  expect(body).toMatchObject({ status: 'running', timeout_exceeded: true, message: expect.any(String) });
  gateway.open('held');
  expect(await gateway.settled(String(body['job_id']))).toMatchObject({ status: 'succeeded' });
});

test('a tree shows each job below the one that caused it', async () => {
  const run = await gateway.ran('three');
  const [root, a, b, c] = await gateway.tree(run.job_id);
  expect(root).toMatchObject({ plugin: 'pipeline', command: 'three', parent_job_id: null });
  expect([a, b, c].map(job => job!.parent_job_id)).toEqual([root!.job_id, a!.job_id, b!.job_id]);
});

test('a fan-out runs one job per element, and its join sees all results in the order of the elements', async () => {
  const list = hundred.map(i => ({ wait: i % 7, result: { i } }));
  const run = await gateway.ran('fan', { result: { root: '/r', list } });
  const { each, all } = await stepsOf(run);
  expect(run.status).toBe('succeeded');
  expect(each).toHaveLength(100);
  expect(all).toHaveLength(1);
  const { payload } = given(all![0]);
  expect(payload).toMatchObject({ succeeded: 100, failed: 0 });
  expect((payload['results'] as { i: number }[]).map(({ i }) => i)).toEqual(hundred);
});

test('a fan-out of ten thousand has ten thousand children, each once', { timeout: 360_000 }, async () => {
  const list = Array.from({ length: 10_000 }, (_, i) => i);
  const run = await gateway.settled(await gateway.run('counts_of_echo', { list }), 300_000);
  expect(run).toMatchObject({ status: 'succeeded' });
  expect(given(run).payload).toEqual({ succeeded: 10_000, failed: 0 });
  const children = (await gateway.tree(run.job_id)).filter(({ plugin }) => plugin === 'echo');
  const indexes = children.map(job => (job.result!.result as { index: number }).index);
  expect(indexes.sort((a, b) => a - b)).toEqual(list);
});

test('a job of a fan-out gets its item, its index and what with names, not the list', async () => {
  const run = await gateway.ran('fan', { result: { root: '/r', list: [{ a: 1 }] } });
  const { each } = await stepsOf(run);
  expect(given(each![0]).payload).toEqual({ item: { a: 1 }, index: 0, root: '/r' });
});

test('a fan-out over an empty list goes on to its join', async () => {
  const run = await gateway.ran('counts', { list: [] });
  const { all } = await stepsOf(run);
  expect(run.status).toBe('succeeded');
  expect(given(all![0]).payload).toMatchObject({ succeeded: 0, failed: 0 });
});

test('a fan-out over something that is not a list fails the run, naming the path', async () => {
  expect(await gateway.ran('counts', {})).toMatchObject({
    status: 'failed',
    last_error: expect.stringContaining('payload.list'),
  });
  expect(await gateway.ran('counts', { list: 'x' })).toMatchObject({
    status: 'failed',
    last_error: expect.stringContaining('payload.list'),
  });
});

test('with on_error: continue a join counts what failed', async () => {
  const run = await gateway.ran('counts', { list: [{ fail: 'broken' }, {}, { fail: 'broken' }, {}, {}] });
  const { all } = await stepsOf(run);
  expect(run.status).toBe('succeeded');
  expect(given(all![0]).payload).toEqual({ succeeded: 3, failed: 2 });
});

test('without it a failed job fails the run: created jobs finish, the join does not run', async () => {
  const run = await gateway.ran('strict_fan', { list: [{ fail: 'broken' }, {}, {}] });
  const { each, all } = await stepsOf(run);
  expect(run).toMatchObject({ status: 'failed' });
  expect(each!.map(job => job.status).sort()).toEqual(['failed', 'succeeded', 'succeeded']);
  expect(all).toBeUndefined();
});

test('the result of a run whose last step ran several times is an array in order', async () => {
  const run = await gateway.ran('open_fan', {
    list: [{ wait: 20, result: 'a' }, { wait: 5, result: 'b' }, { result: 'c' }],
  });
  expect(run.result?.result).toEqual(['a', 'b', 'c']);
});

test.each([
  ['none', [], []],
  ['one', [{ result: 'a' }], ['a']],
])('where the definition ends in a fan-out the result is a list, of %s too', async (_, list, result) => {
  expect((await gateway.ran('open_fan', { list })).result?.result).toEqual(result);
});

test('the branches of a split all run, and a join waits for them', async () => {
  const run = await gateway.ran('branches', { result: { x: 1 } });
  const steps = await stepsOf(run);
  expect(Object.keys(steps).sort()).toEqual(['after', 'before', 'l1', 'l2', 'r1']);
  expect(given(steps['after']![0]).payload).toMatchObject({ succeeded: 2, failed: 0 });
});

test('after a split without join the next step starts once per branch', async () => {
  const steps = await stepsOf(await gateway.ran('unjoined'));
  expect(steps['each_branch']).toHaveLength(2);
});

// Entries are counted in the definition: the condition of the split, which may hold for this call or not, makes no difference.
test.each(['two_entries', 'two_entries_passed_over'])(
  'a synchronous call with several entry dispatches is refused; with async=true it runs: %s',
  async name => {
    const { status, body } = await gateway.call('POST', `/pipeline/${name}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'several_entry_dispatches', detail: expect.stringContaining('async=true') });
    expect(await gateway.ran(name)).toMatchObject({ status: 'succeeded' });
  },
);

test('steps in steps run one after another', async () => {
  const run = await gateway.ran('nested');
  const order = (await gateway.tree(run.job_id)).map(
    job => gateway.notesOf(job.job_id)[0] as unknown as { step?: string },
  );
  expect(order.map(note => note?.step)).toEqual([undefined, 'n1', 'n2', 'n3']);
});

test('a call runs another pipeline whole, and goes on with its result', async () => {
  const run = await gateway.ran('caller', { value: 7 });
  const { outer } = await stepsOf(run);
  expect(run.status).toBe('succeeded');
  expect(given(outer![0]).payload).toEqual({ from: 'callee', got: 7 });
  expect((await gateway.tree(run.job_id)).map(job => job.command)).toContain('callee');
});

test('a step whose condition is false is passed over', async () => {
  const few = await stepsOf(await gateway.ran('conditional', { count: 3 }));
  const many = await stepsOf(await gateway.ran('conditional', { count: 30 }));
  expect(Object.keys(few).sort()).toEqual(['always', 'fine']);
  expect(Object.keys(many).sort()).toEqual(['always', 'big', 'fine']);
});

test('a pipeline whose condition is false has succeeded without children', async () => {
  const run = await gateway.ran('never', { go: false });
  expect(run.status).toBe('succeeded');
  expect(run.result?.result ?? null).toBeNull();
  expect(await gateway.tree(run.job_id)).toHaveLength(1);
});

test('a template that is one reference keeps its type', async () => {
  const { t } = await stepsOf(await gateway.ran('templated', { a: { b: 5 }, list: [1] }));
  expect(given(t![0]).payload).toMatchObject({ number: 5, text: 'b is 5', braces: '{x}', nested: [[1]] });
});

test('a template whose path is missing fails the job, naming the path', async () => {
  const run = await gateway.ran('templated', { list: [1] });
  const jobs = await gateway.tree(run.job_id);
  expect(run.status).toBe('failed');
  expect(jobs[1]).toMatchObject({ status: 'failed' });
  expect((await gateway.job(jobs[1]!.job_id)).last_error).toContain('payload.a.b');
});

test('baggage nests, and travels on', async () => {
  const { carry } = await stepsOf(await gateway.ran('laden', { root: '/r' }));
  expect(given(carry![0])).toMatchObject({ context: { report: { root: '/r' } }, payload: { seen: '/r' } });
});

test('a payload that breaks the input schema fails the job of a pipeline for good', async () => {
  const run = await gateway.ran('checked');
  const [, job] = await gateway.tree(run.job_id);
  expect(run.status).toBe('failed');
  expect(await gateway.job(job!.job_id)).toMatchObject({
    status: 'failed',
    last_error: expect.stringContaining('width'),
  });
});

test('a step may use any command of a plugin', async () => {
  expect((await gateway.ran('command')).result?.result).toEqual({ loud: 'hey', by: 'c' });
});

test('a step starts once for each event of the step before', async () => {
  const emit = [1, 2, 3].map(n => ({ type: 'made', payload: { n } }));
  const { per_event } = await stepsOf(await gateway.ran('emitting', { emit }));
  expect(per_event!.map(job => given(job).payload['n'])).toEqual([1, 2, 3]);
});

test('a step that fails fails the run, with its error', async () => {
  const { status, body } = await gateway.call('POST', '/pipeline/three', { payload: { fail: 'no way' } });
  expect([status, body['status']]).toEqual([200, 'failed']);
  expect(Object.keys(outputSchema['properties'] as object)).toEqual(Object.keys(body['result'] as object));
  expect((await gateway.job(String(body['job_id']))).last_error).toContain('no way');
});
