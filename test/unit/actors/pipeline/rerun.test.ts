// Reruns `from: failed`: which jobs they reuse, and which they run again.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { unusedDefinitionsMax } from '../../../../actors/pipeline/definition/definition-versions.ts';
import { reusedOf } from '../../../../actors/pipeline/records/reuse.ts';
import { bodyPart } from '../../../../runtime/host/wire/outcome.ts';
import { type Json, pack } from '../../../../runtime/packing.ts';
import { cyclesOf } from '../../../support/deep.ts';
import { fc } from '../../../support/seed.ts';
import { plugins } from './cast.ts';
import { type Job, resultOf, Stage } from './stage.ts';

/**
 * The origin of a job: its name, and the names of all jobs before it. Jobs of the same name, in whichever run, run the same step on the
 * same results.
 */
type Trace = { readonly id: string; readonly before: readonly string[] };
type Payload = { readonly [key: string]: Json };

/** The traces in a payload: one of a result, several of a join. */
function tracesIn(value: Json): Trace[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('t' in value) return [value['t'] as Trace];
  return Object.values(value).flatMap(tracesIn);
}

function traceOf(job: Job, payload: Payload): Trace {
  const parents = tracesIn(payload);
  const before = [...new Set(parents.flatMap(({ id, before: earlier }) => [id, ...earlier]))].sort();
  const { index = null, n = null } = payload;
  const text = JSON.stringify([job.group.stepId, index, n, parents.map(({ id }) => id).sort()]);
  return { id: createHash('sha256').update(text).digest('hex').slice(0, 12), before };
}

type Steps = readonly object[];
const never = { path: 'payload.never', op: 'exists', value: true };
const onError = fc.constantFrom('continue', 'continue', 'fail');
const withTrace = { t: '{payload.t}', n: '{payload.n}' };
const join = { uses: 'work', join: 'all' };

/** Sequences of steps that begin and end with one token. */
const sequences = fc.letrec<{ sequence: Steps; unit: Steps }>(tie => ({
  sequence: fc.array(tie('unit'), { minLength: 1, maxLength: 3 }).map(units => units.flat()),
  unit: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    onError.map(on_error => [{ uses: 'work', on_error }]),
    onError.map(on_error => [{ call: 'inner', on_error }]),
    fc
      .tuple(onError, onError)
      .map(([first, second]) => [
        { uses: 'work', foreach: 'payload.list', with: withTrace, on_error: first },
        { uses: 'work', on_error: second },
        join,
      ]),
    onError.map(on_error => [
      { call: 'inner', foreach: 'payload.list', with: { ...withTrace, list: '{payload.list}' }, on_error },
      join,
    ]),
    onError.map(on_error => [{ uses: 'telling' }, { uses: 'work', on_error }, join]),
    fc.array(tie('sequence'), { minLength: 1, maxLength: 2 }).map(split => [{ split }, join]),
    tie('sequence').map(steps => [{ steps }]),
  ),
})).sequence;

/** Each step with an id of its own. */
function numbered(steps: Steps, prefix: string): Steps {
  return steps.map((step, at) => {
    const id = `${prefix}${at}`;
    if ('split' in step)
      return { id, split: (step.split as Steps[]).map((branch, k) => numbered(branch, `${id}.${k}.`)) };
    return 'steps' in step ? { id, steps: numbered(step.steps as Steps, `${id}.`) } : { ...step, id };
  });
}

const inner = numbered(
  [
    { uses: 'work', foreach: 'payload.list', with: withTrace, on_error: 'continue' },
    { ...join, on_error: 'fail' },
  ],
  'i',
);
const call = { list: [0, 1], n: 0, t: { id: 'call', before: [] } };

/** A stage on which `sick` jobs fail; `ran` lists the jobs that it ran. */
function staged(steps: Steps, random: () => number) {
  const ran: { id: string; succeeded: boolean }[] = [];
  const state = { sick: (_: string): boolean => false };
  const work = (payload: Payload, job: Job) => {
    const t = traceOf(job, payload);
    const isSick = state.sick(t.id);
    ran.push({ id: t.id, succeeded: !isSick });
    return isSick ? { error: 'sick' } : { result: { list: [0, 1], n: 0, t } };
  };
  const telling = (payload: Payload, job: Job) => {
    const outcome = work(payload, job);
    const { result } = outcome;
    return result ? { ...outcome, events: [0, 1].map(n => ({ type: 'told', payload: { ...result, n } })) } : outcome;
  };
  const stage = new Stage({
    plugins: { work: work as never, telling: telling as never },
    pipelines: [
      { name: 'outer', steps: numbered(steps, 's') },
      { name: 'inner', steps: inner },
    ],
    random,
    isSpent: () => random() < 0.1,
    keepsRecords: true,
  });
  /** Runs the stage until the run has ended, with restarts now and then. Returns the jobs that ran. */
  const through = (id: string) => {
    ran.length = 0;
    while (stage.isBusy) {
      stage.work(1 + Math.floor(random() * stage.waiting.length));
      if (random() < 0.05) {
        stage.restart();
        stage.turn();
      }
    }
    return { run: stage.jobs.get(id)!, ran: [...ran] };
  };
  return { stage, state, through };
}

function without(all: readonly string[], some: readonly string[]): string[] {
  const left = [...all];
  for (const one of some) if (left.includes(one)) left.splice(left.indexOf(one), 1);
  return left.sort();
}

const succeededIn = (ran: readonly { id: string; succeeded: boolean }[]) =>
  ran.filter(({ succeeded }) => succeeded).map(({ id }) => id);

/** Numbers from a seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('a run from what had failed', () => {
  it('goes by the definition that it had, unless too many that are not configured any more were used later', () => {
    const pipelines = (text: string) => [{ name: 'p', steps: [{ uses: 'echo', with: { text } }] }];
    const s = new Stage({ plugins, pipelines: pipelines('old'), keepsRecords: true });
    const old = s.run('p').text;
    s.reconfigure({ pipelines: pipelines('new') });
    const [definition] = Array.from(s.store.scan('definitions', {}), ({ value }) => value);
    const use = (from: number, to: number) => {
      const batch = s.store.batch();
      for (let n = from; n < to; n++) {
        const hash = Buffer.alloc(16, `${n}`.padStart(16));
        batch.put('definitions', hash, definition!);
        batch.put('unused_definitions', hash, pack(s.nowUs + 2_000_000));
      }
      s.store.commit(batch);
      s.send({ kind: 'prune' });
    };
    use(1, unusedDefinitionsMax);
    const again = s.rerun(old);
    s.finish();
    expect(resultOf(s.jobs.get(again)!)).toEqual({ text: 'old' });
    use(1, unusedDefinitionsMax + 1);
    expect(s.store.count('unused_definitions')).toBe(unusedDefinitionsMax);
    expect(s.rerun(old)).toBe('not_kept');
    const detail = `the definition of the run ${old} is no longer stored: rerun the run from the start`;
    expect(s.replies.at(-1)).toMatchObject({ detail });
  });

  it('goes by the definition that it had, although the clock was set back before the definition became unused', () => {
    const pipelines = (text: string) => [{ name: 'p', steps: [{ uses: 'echo', with: { text } }] }];
    const s = new Stage({ plugins, pipelines: pipelines('old'), keepsRecords: true });
    const old = s.run('p').text;
    s.nowUs -= 3_600_000_000;
    s.reconfigure({ pipelines: pipelines('new') });
    s.send({ kind: 'prune' });
    const again = s.rerun(old);
    s.finish();
    expect(resultOf(s.jobs.get(again)!)).toEqual({ text: 'old' });
  });

  it('of one that never began is refused; such a run stores nothing but its counts', () => {
    const outer = { name: 'outer', steps: [{ uses: 'echo' }, { call: 'inner' }] };
    const s = new Stage({
      plugins,
      pipelines: [outer, { name: 'inner', steps: [{ uses: 'echo' }] }],
      keepsRecords: true,
    });
    const id = s.start('outer');
    s.reconfigure({ pipelines: [{ name: 'outer', steps: [{ uses: 'echo' }] }] });
    s.finish();
    const inner = s.of('pipeline').find(({ command }) => command === 'inner')!;
    const sizes = [s.jobs.get(id)!, inner].map(({ body }) => bodyPart(body!, 'counts')!.length);
    expect(sizes).toEqual([6 + 1 + 18, 6]);
    expect(s.rerun(inner.text)).toBe('not_kept');
    expect(s.replies.at(-1)).toMatchObject({ detail: expect.stringContaining('it never began') });
  });

  it('indexes the original runs of many reruns at once, although none of the reruns stays in memory', () => {
    let isSick = true;
    const s = new Stage({
      plugins: { good: () => ({ result: 1 }), bad: () => (isSick ? { error: 'sick' } : { result: 1 }) },
      pipelines: [{ name: 'p', steps: [{ uses: 'good' }, { uses: 'bad' }] }],
      loadedBytesMax: 0,
      keepsRecords: true,
    });
    const failed = Array.from({ length: 40 }, () => s.run('p'));
    isSick = false;
    const reruns = failed.map(({ id, payload, group: { context } }) => {
      const rerun = { of: id, from: 'failed', reason: null } as const;
      const source = { rerun, context, dedupeKey: null };
      const call = { pipeline: 'p', payload, watch: false, submittedBy: 'test', source };
      return { kind: 'start_run', replyTo: { ask: 0 }, ...call } as const;
    });
    s.send(...reruns);
    for (let turns = 0; turns < 40 && s.isBusy; turns++) s.work();
    expect([s.openRuns, s.of('good').length, s.of('bad').length]).toEqual([0, 40, 80]);
  });

  it.each<[name: string, steps: Steps, last?: object]>([
    ['a step', [{ id: 'charge', uses: 'charge' }]],
    ['a branch', [{ split: [[{ id: 'charge', uses: 'charge' }]] }]],
    ['a foreach', [{ id: 'charge', uses: 'charge', foreach: 'payload.of' }]],
    [
      'a sequence',
      [
        {
          steps: [
            { id: 'charge', uses: 'charge' },
            { uses: 'charge', join: 'all' },
          ],
        },
      ],
    ],
    ['a skipped step', [{ id: 'charge', uses: 'charge', if: never }]],
    ['skipped steps', [{ id: 'charge', if: never, steps: [{ uses: 'charge' }] }]],
    [
      'branches, of which one skips its step',
      [{ split: [[{ id: 'charge', uses: 'charge', if: never }], [{ uses: 'charge' }]] }],
      { join: 'all' },
    ],
    ['a step behind a skipped split', [{ id: 'charge', if: never, split: [[{ uses: 'charge' }]] }, { uses: 'charge' }]],
  ])(
    'lets an event enter %s as the original run did, though another has used its dedupe key a day later',
    (_, steps, last = {}) => {
      let isSick = true;
      const mailed: Json[] = [];
      const s = new Stage({
        plugins: {
          tell: () => ({ events: [{ type: 'told', payload: { of: [1] }, dedupe_key: 'k' }] }),
          charge: () => ({ result: {} }),
          mail: (payload: Json) => {
            mailed.push(payload);
            return isSick ? { error: 'sick' } : { result: {} };
          },
        },
        pipelines: [{ name: 'p', steps: [{ uses: 'tell' }, ...steps, { uses: 'mail', ...last }] }],
        keepsRecords: true,
      });
      const old = s.run('p');
      s.nowUs += 24 * 3_600_000_000;
      isSick = false;
      s.run('p');
      const charges = s.of('charge').length;
      const again = s.rerun(old.text);
      s.finish();
      expect([old.status, s.jobs.get(again)!.status]).toEqual(['failed', 'succeeded']);
      expect([s.of('charge').length, s.of('mail').length]).toEqual([charges, 3]);
      expect(mailed).toEqual(mailed.map(() => mailed[0]));
    },
  );

  it('runs what failed and what depends on it, and nothing else; its result is that of a run in which nothing fails', () => {
    fc.assert(
      fc.property(sequences, fc.integer({ min: 1 }), fc.integer({ min: 2, max: 9 }), (steps, seed, oneOf) => {
        const random = randomFrom(seed);
        const sound = staged(steps, random);
        const whole = sound.through(sound.stage.start('outer', call));

        const { stage, state, through } = staged(steps, random);
        const pick = () => {
          const salt = random();
          state.sick = id => createHash('sha256').update(`${salt}${id}`).digest()[0]! % oneOf === 0;
        };
        pick();
        const old = through(stage.start('outer', call));
        pick();
        const second = through(stage.rerun(old.run.text));
        state.sick = () => false;
        const mended = through(stage.rerun(old.run.text));
        const all = whole.ran.map(({ id }) => id);
        expect(mended.ran.map(({ id }) => id).sort()).toEqual(without(all, succeededIn(old.ran)));
        expect([mended.run.status, resultOf(mended.run)]).toEqual(['succeeded', resultOf(whole.run)]);

        // A rerun of `second`, which had failures of its own, and may have ended before it reused all jobs that it could.
        const third = through(stage.rerun(second.run.text));
        expect(resultOf(third.run)).toEqual(resultOf(whole.run));
        const again = third.ran.map(({ id }) => id);
        expect(without(again, without(all, succeededIn(second.ran)))).toEqual([]);

        // In a rerun of a run without failures, no job runs.
        const idle = through(stage.rerun(mended.run.text));
        expect([idle.ran, resultOf(idle.run)]).toEqual([[], resultOf(whole.run)]);
        stage.turn();
        expect(stage.leftovers() + stage.store.count('reuse_index') + stage.store.count('reuse_needs')).toBe(0);
        expect([...stage.store.keys('reused', reusedOf(idle.run.id))].length).toBeGreaterThan(0);
      }),
      { numRuns: cyclesOf({ deep: 40, quick: 8 }) },
    );
  });
});
