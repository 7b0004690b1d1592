// Blocks, attempts and records of times that cannot be decoded while a cancel, an action, a time limit, a schedule, an event stream or a waiting caller needs
// them: the service starts, and goes on.
import { expect, it } from 'vitest';
import { type ActionPlan, noSelection } from '../../../actors/job/records/action.ts';
import { attemptKey } from '../../../actors/job/records/attempts.ts';
import { JobOrigins } from '../../../actors/job/views/job-origins.ts';
import { firedRanges } from '../../../actors/schedule/records/fired.ts';
import type { ScheduleDefinition } from '../../../config/config.ts';
import { blockOf, formatId, type JobId, jobId, parseId } from '../../../runtime/ids.ts';
import { ListBuilder } from '../../../runtime/packed-list.ts';
import { pack } from '../../../runtime/packing.ts';
import { Ledger } from './ledger.ts';

const piped = [{ name: 'piped', on: 'piped', deadline: '1m', steps: [{ uses: 'step' }] }];
const minutely: ScheduleDefinition = {
  id: 'minutely',
  target: { plugin: 'echo', command: 'handle' },
  recurrence: { kind: 'every', everyMs: 60_000 },
  ...{ payload: {}, jitterMs: 0, ifRunning: 'skip', catchUp: 'skip', catchUpWithinMs: 60_000 },
  ...{ pauseAfterFailures: 0, skipsWhenPaused: false, enabled: true },
};

function damage(ledger: Ledger, id: JobId): void {
  ledger.change(batch => batch.put('blocks', blockOf(id), Buffer.of(0x93)));
}

/** The id in the reply to a call. */
function idOf(ledger: Ledger, ask: number): JobId {
  const { id, ids } = ledger.replyTo(ask) as { readonly id?: JobId; readonly ids?: JobId };
  return (id ?? ids)!;
}

/** Starts a run, and hands the job of its step to a host. */
function startedRun(ledger: Ledger): JobId {
  const asked = ledger.startRun('piped', {});
  ledger.run();
  return idOf(ledger, asked);
}

/** Accepts two runs as a batch. They begin in a later turn. */
function acceptTwoRuns(ledger: Ledger): JobId {
  const payloads = new ListBuilder(2);
  for (const _ of [1, 2]) payloads.add(pack({}));
  ledger.lifecycle.loop.deliver('pipeline', {
    kind: 'start_runs',
    replyTo: { ask: -1 },
    pipeline: 'piped',
    payloads: payloads.list(),
    submittedBy: 'test',
  });
  ledger.runTurn();
  return idOf(ledger, -1).subarray(0, 16) as JobId;
}

/** Starts an action that is to cancel two jobs, and has not taken its first step. */
async function startedAction(ledger: Ledger): Promise<JobId> {
  const plan: ActionPlan = {
    operation: 'cancel',
    ...{ selection: noSelection, limit: null, matched: 2, by: 'test', searchedUs: null, perSecond: null, reason: null },
    moment: { atUs: ledger.nowUs, block: new Uint8Array(12), commitUs: ledger.nowUs },
  };
  ledger.lifecycle.loop.deliver('job', { kind: 'start_action', replyTo: { ask: -1 }, plan, payload: pack({}) });
  await ledger.rest();
  return idOf(ledger, -1);
}

/** Makes the schedule's next occurrence due, and fires it. */
async function fireNext(ledger: Ledger): Promise<void> {
  ledger.nowUs += 60_000_000;
  ledger.lifecycle.loop.deliver('schedule', { kind: 'alarm' });
  await ledger.rest();
}

/** Expects that the service goes on: a new job runs and succeeds. */
async function works(ledger: Ledger): Promise<void> {
  ledger.submit('echo');
  await ledger.rest();
  expect([ledger.fatal, ledger.hostsStopped]).toEqual([[], 0]);
  const task = ledger.of('echo').at(-1)!;
  ledger.answer(task);
  await ledger.rest();
  expect(ledger.job(task.id).status).toBe('succeeded');
}

it.each([false, true])(
  'starts with the block of a cancelled run that cannot be decoded (detached: %s)',
  async detached => {
    const ledger = new Ledger(piped, ['echo', 'step']);
    const run = startedRun(ledger);
    ledger.lifecycle.loop.deliver('job', {
      kind: 'cancel',
      replyTo: { ask: -1 },
      id: run,
      by: 'test',
      reason: null,
      detached,
    });
    await ledger.rest();
    damage(ledger, run);
    ledger.start();
    await works(ledger);
  },
);

it('stops a run at its time limit, though its block cannot be decoded', async () => {
  const ledger = new Ledger(piped, ['echo', 'step']);
  const run = startedRun(ledger);
  damage(ledger, run);
  ledger.nowUs += 61_000_000;
  ledger.lifecycle.loop.deliver('job', { kind: 'alarm' });
  await works(ledger);
  expect(Array.from(ledger.store.keys('cancels', {}), key => Buffer.from(key.subarray(1)))).toEqual([run]);
});

it('starts without an action whose block cannot be decoded', async () => {
  const ledger = new Ledger();
  damage(ledger, await startedAction(ledger));
  ledger.start();
  await works(ledger);
});

it('cancels the other jobs of an action if the block of one cannot be decoded', async () => {
  const ledger = new Ledger();
  await works(ledger);
  ledger.submit('echo');
  await ledger.rest();
  const [ended, running] = ledger.tasks.map(({ id }) => parseId(id)!);
  damage(ledger, ended!);
  const id = await startedAction(ledger);
  const ids = Buffer.concat([ended!, running!]);
  ledger.lifecycle.loop.deliver('job', {
    kind: 'action_step',
    replyTo: { ask: -2 },
    id,
    after: null,
    ids,
    isLast: true,
  });
  await ledger.rest();
  expect(ledger.replyTo(-2)).toMatchObject({ kind: 'action_step', isOver: true });
  expect(ledger.store.get('cancels', Buffer.concat([Buffer.of(0), running!]))).toBeDefined();
});

it.each(['block', 'attempt'])(
  'starts a schedule whose unfinished job has a damaged %s, and fires it again',
  async damaged => {
    const ledger = new Ledger([], ['echo'], [minutely]);
    await fireNext(ledger);
    const id = parseId(ledger.tasks[0]!.id)!;
    if (damaged === 'block') damage(ledger, id);
    else ledger.change(batch => batch.put('attempts', attemptKey(id, 1), Buffer.of(0xc1)));
    ledger.start();
    await works(ledger);
    await fireNext(ledger);
    expect(new Set(ledger.tasks.map(({ id }) => id)).size).toBe(3);
    expect(ledger.setAsideRecords).toContainEqual(expect.objectContaining({ table: `${damaged}s` }));
  },
);

it('shows observations of a job whose run has a damaged block, and of the run itself, without what cannot be read', () => {
  const ledger = new Ledger(piped, ['echo', 'step']);
  const run = startedRun(ledger);
  const step = ledger.of('step')[0]!.id;
  const origins = new JobOrigins();
  origins.open(ledger.store);
  damage(ledger, run);
  expect(origins.find(parseId(step)!)).toMatchObject({ root: formatId(run), runs: [formatId(run)] });
  expect([origins.find(run), origins.ended(run)]).toEqual([null, null]);
});

it.each(['block', 'attempt'])(
  'tells a caller that waits for a job with a damaged %s that the wait is over',
  async damaged => {
    const ledger = new Ledger();
    ledger.submit('echo');
    await ledger.rest();
    const id = parseId(ledger.tasks[0]!.id)!;
    if (damaged === 'block') damage(ledger, id);
    else ledger.change(batch => batch.put('attempts', attemptKey(id, 1), Buffer.of(0xc1)));
    ledger.lifecycle.loop.deliver('job', { kind: 'await_job', id });
    await ledger.rest();
    expect(ledger.logged).toEqual([]);
    expect(ledger.sent).toContainEqual({ kind: 'job_settled', id });
  },
);

it('answers the caller that cancels a job whose attempt cannot be decoded', async () => {
  const ledger = new Ledger();
  await works(ledger);
  const id = parseId(ledger.tasks[0]!.id)!;
  ledger.change(batch => batch.put('attempts', attemptKey(id, 1), Buffer.of(0xc1)));
  ledger.lifecycle.loop.deliver('job', { kind: 'cancel', replyTo: { ask: -1 }, id, by: 'test', reason: null });
  await works(ledger);
  expect(ledger.logged).toEqual([]);
  expect(ledger.replyTo(-1)).toEqual({ kind: 'cancel', status: null });
});

it('fires a schedule whose record of fired occurrences is damaged, and begins another record', async () => {
  const ledger = new Ledger([], ['echo'], [minutely]);
  for (let fired = 1; fired <= 3; fired++) {
    if (fired === 2) {
      ledger.change((batch, reader) => {
        for (const { key } of reader.scan('fired', {})) batch.put('fired', Buffer.from(key), Buffer.of(0x93));
      });
    }
    await fireNext(ledger);
    expect(ledger.tasks).toHaveLength(fired);
    ledger.answer(ledger.tasks.at(-1)!);
    await ledger.rest();
  }
  expect([ledger.logged, ledger.fatal]).toEqual([[], []]);
  expect(ledger.setAsideRecords).toMatchObject([{ table: 'fired' }]);
  expect(Array.from(firedRanges(ledger.store, 'minutely'), ({ count }) => count)).toEqual([2]);
});

it('runs a rescheduled job whose new time cannot be decoded at its original time', async () => {
  const ledger = new Ledger();
  ledger.submit('echo', { options: { delayMs: 60_000 } });
  await ledger.rest();
  const [key] = ledger.store.keys('blocks', {});
  const id = jobId(Buffer.from(key!), 0);
  ledger.lifecycle.loop.deliver('job', { kind: 'reschedule', replyTo: { ask: -1 }, id, delayMs: 120_000 });
  await ledger.rest();
  ledger.change(batch => batch.put('rescheduled', id, Buffer.of(0x93)));
  ledger.start();
  ledger.nowUs += 61_000_000;
  ledger.lifecycle.loop.deliver('job', { kind: 'alarm' });
  await works(ledger);
  ledger.answer(ledger.tasks[0]!);
  await ledger.rest();
  expect(ledger.job(formatId(id)).status).toBe('succeeded');
  expect([ledger.logged, ledger.fatal]).toEqual([[], []]);
  expect(ledger.setAsideRecords).toMatchObject([{ table: 'rescheduled' }]);
});

it('starts no job of a called run with an unusable record after its caller was cancelled', async () => {
  const ledger = new Ledger([...piped, { name: 'outer', steps: [{ call: 'piped' }] }], ['echo', 'step']);
  const target = { kind: 'plugin', name: 'step', command: null } as const;
  const pause = { ...target, reason: null, by: 'test', untilUs: null, rejects: false };
  ledger.lifecycle.loop.deliver('job', { kind: 'pause', replyTo: { ask: -1 }, pause });
  const asked = ledger.startRun('outer', {});
  ledger.run();
  const outer = idOf(ledger, asked);
  const [, called] = Array.from(ledger.store.keys('runs', {}), key => Buffer.from(key));
  ledger.change(batch => batch.put('runs', called!, Buffer.of(0x93)));
  ledger.start();
  await ledger.rest();
  ledger.lifecycle.loop.deliver('job', { kind: 'cancel', replyTo: { ask: -2 }, id: outer, by: 'test', reason: null });
  ledger.run();
  ledger.lifecycle.loop.deliver('job', { kind: 'resume', replyTo: { ask: -3 }, target, by: 'test' });
  await works(ledger);
  expect(ledger.of('step')).toEqual([]);
  expect(ledger.setAsideRecords).toMatchObject([{ table: 'runs', key: called!.toString('hex') }]);
});

// Such runs could not end, because their ends could not be recorded.
it.each([false, true])('sets aside runs of a block whose open record cannot be decoded (begun: %s)', async isBegun => {
  const ledger = new Ledger(piped, ['echo', 'step']);
  const run = acceptTwoRuns(ledger);
  if (isBegun) ledger.run();
  expect(ledger.of('step')).toHaveLength(isBegun ? 2 : 0);
  ledger.change(batch => batch.put('open', blockOf(run), Buffer.of(0x93)));
  ledger.start();
  // The restart has interrupted the jobs of the steps. They are retried.
  ledger.nowUs += 30_000_000;
  ledger.lifecycle.loop.deliver('job', { kind: 'alarm' });
  await ledger.rest();
  for (const task of ledger.of('step').slice(2)) ledger.answer(task);
  await works(ledger);
  expect(ledger.logged).toEqual([]);
  const tables = ledger.setAsideRecords.map(({ table }) => table).sort();
  expect(tables).toEqual(isBegun ? ['open', 'runs', 'runs'] : ['accepted_runs', 'open']);
});
