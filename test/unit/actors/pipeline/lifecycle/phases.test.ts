// The phases of a run: what begins them, what payload they get, and that each begins once, even over restarts.
import { describe, expect, it } from 'vitest';
import { plugins } from '../cast.ts';
import { errorOf, payloadOf, resultOf, Stage, type StageOptions } from '../stage.ts';

const phases = {
  on_failure: [{ id: 'tell', uses: 'echo' }],
  finally: [{ id: 'clean', uses: 'sink' }],
};

/** One pipeline `p` with these steps and phases. */
function stageOf(steps: unknown[], more: object = phases, options: Partial<StageOptions> = {}): Stage {
  return new Stage({ plugins, pipelines: [{ name: 'p', steps, ...more }], keepsRecords: true, ...options });
}

function stepsOf(s: Stage): string[] {
  return [...s.jobs.values()].flatMap(({ group, status }) =>
    group.stepId === null ? [] : [`${group.phase ?? 'steps'} ${group.stepId} ${status}`],
  );
}

const odd = { id: 'odd', uses: 'odd', foreach: 'payload.list' };

describe('phases', () => {
  it('follow a run that failed: on_failure, and finally when that has ended', () => {
    const s = stageOf([odd]);
    const run = s.run('p', { list: [1, 2] });
    expect(stepsOf(s)).toEqual([
      'steps odd failed',
      'steps odd succeeded',
      'on_failure tell succeeded',
      'finally clean succeeded',
    ]);
    expect([run.status, s.leftovers(), s.store.count('run_deadlines')]).toEqual(['failed', 0, 0]);
    expect(payloadOf(s.of('sink')[0]!)).toEqual({
      run: { job_id: run.text, pipeline: 'p', payload: { list: [1, 2] } },
      status: 'failed',
      error: errorOf(run),
      failed: [{ job_id: s.of('odd')[0]!.text, step_id: 'odd', status: 'failed', error: 'odd' }],
      counts: { succeeded: 1, failed: 1, timed_out: 0, dead: 0, cancelled: 0 },
    });
    expect(payloadOf(s.of('echo')[0]!)).toEqual(payloadOf(s.of('sink')[0]!));
  });

  it('of a run that succeeded are finally alone, and its result is that of its steps', () => {
    const s = stageOf([odd]);
    const run = s.run('p', { list: [0, 2] });
    expect(stepsOf(s)).toEqual(['steps odd succeeded', 'steps odd succeeded', 'finally clean succeeded']);
    expect([run.status, resultOf(run), s.leftovers()]).toEqual(['succeeded', [0, 2], 0]);
    expect(payloadOf(s.of('sink')[0]!)).toMatchObject({ status: 'succeeded', error: null, failed: [] });
  });

  it('do not follow if no job has started', () => {
    const s = stageOf([{ uses: 'echo', if: { path: 'payload.wanted', op: 'exists' } }]);
    expect([s.run('p').status, stepsOf(s)]).toEqual(['succeeded', []]);
  });

  it('list the first hundred jobs that did not succeed', () => {
    const s = stageOf([{ ...odd, on_error: 'continue' }], { finally: phases.finally });
    s.run('p', { list: Array.from({ length: 150 }, () => 1) });
    const { failed, counts } = payloadOf(s.of('sink')[0]!) as { failed: object[]; counts: object };
    expect([failed.length, counts]).toMatchObject([100, { failed: 150 }]);
  });

  it('that fail leave status and result as they are; the error names them', () => {
    const broken = { finally: [{ id: 'clean', uses: 'fail' }], on_failure: [{ id: 'tell', uses: 'late' }] };
    const failed = stageOf([odd], broken).run('p', { list: [1] });
    expect(failed.status).toBe('failed');
    expect(errorOf(failed)).toMatch(
      /^step "odd": .*; on_failure: step "tell": late\.handle timed_out .*; finally: step "clean": fail\.handle failed/,
    );
    const fine = stageOf([odd], broken).run('p', { list: [2] });
    expect([fine.status, resultOf(fine), errorOf(fine)]).toEqual(['succeeded', [2], '']);
  });

  it('of a called run come before the token of its caller continues', () => {
    const pipelines = [
      {
        name: 'p',
        steps: [
          { id: 'calls', call: 'q', on_error: 'continue' },
          { id: 'after', uses: 'double', join: 'all' },
        ],
      },
      { name: 'q', steps: [{ id: 'breaks', uses: 'fail' }], ...phases },
    ];
    const s = new Stage({ plugins, pipelines, keepsRecords: true });
    expect(s.run('p').status).toBe('succeeded');
    expect(stepsOf(s)).toEqual([
      'steps calls failed',
      'steps breaks failed',
      'on_failure tell succeeded',
      'finally clean succeeded',
      'steps after succeeded',
    ]);
  });

  it('have the baggage and the number of hops of the run, and their own type of event', () => {
    const pipelines = [
      { name: 'p', steps: [{ id: 'calls', call: 'q', baggage: { who: 'payload.who' } }] },
      { name: 'q', steps: [{ uses: 'echo' }, { uses: 'echo' }], finally: [{ id: 'clean', uses: 'sink' }] },
    ];
    const s = new Stage({ plugins, pipelines, keepsRecords: true });
    s.run('p', { who: 'ann' });
    const { group } = s.of('sink')[0]!;
    expect([group.depth, group.event?.type, group.phase]).toEqual([1, 'pipeline.finally', 'finally']);
    expect(s.of('sink').map(({ group: { context } }) => context)).toEqual([s.of('echo')[0]!.group.context]);
  });

  it('keep the result of the steps, and the payload of the run, in parts if they are large', () => {
    const s = stageOf([odd], phases, { partedBytesMin: 60 });
    const list = Array.from({ length: 100 }, (_, item) => 2 * item);
    const run = s.run('p', { list });
    expect([run.status, resultOf(run)]).toEqual(['succeeded', list]);
    expect(payloadOf(s.of('sink')[0]!)).toMatchObject({ run: { payload: { list } } });
  });

  it('begin once, wherever the service is restarted', () => {
    const steps = [odd, { id: 'all', uses: 'sink', join: 'all' }];
    const more = {
      on_failure: [
        { id: 'tell', uses: 'echo', foreach: 'payload.run.payload.list' },
        { id: 'told', uses: 'sink', join: 'all' },
      ],
      finally: [
        { id: 'clean', uses: 'echo' },
        { id: 'cleaned', uses: 'sink' },
      ],
    };
    const calm = stageOf(steps, more, { loadedBytesMax: 0 });
    calm.run('p', { list: [1, 2, 3] });
    const wanted = stepsOf(calm).sort();
    expect(wanted.filter(step => step.startsWith('on_failure'))).toHaveLength(4);
    for (let kill = 0; kill < 12; kill++) {
      const s = stageOf(steps, more, { loadedBytesMax: 0 });
      const id = s.start('p', { list: [1, 2, 3] });
      for (let turn = 0; s.isBusy; turn++) {
        s.work(1);
        if (turn >= kill) s.restart();
        if (turn >= kill) s.turn();
      }
      expect([s.jobs.get(id)!.status, stepsOf(s).sort(), s.leftovers()]).toEqual(['failed', wanted, 0]);
    }
  });
});
