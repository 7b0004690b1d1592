// Orders that reach the schedule actor in its first turn, for example after a failed turn.
import { expect, test } from 'vitest';
import { startScheduleActor } from '../../../../actors/schedule/actor.ts';
import type { ScheduleMessage } from '../../../../actors/schedule/protocol.ts';
import { putSchedule, readSchedule, type ScheduleRecord } from '../../../../actors/schedule/records/schedule.ts';
import type { Config } from '../../../../config/config.ts';
import { SetAside } from '../../../../runtime/store/set-aside.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';
import { bareJobActor } from '../job/bare-job-actor.ts';
import { command, config, noPipeline, plugin } from '../job/simulator.ts';

const id = 'daily';
const nowMs = 1_700_000_000_000;
const recurrence = { kind: 'every', everyMs: 86_400_000 } as const;
const target = { plugin: 'echo', command: 'say' };
const definition = { id, enabled: true, jitterMs: 0, recurrence, target, payload: {}, ifRunning: 'skip' };
const record: ScheduleRecord = {
  recurrence,
  ...{ createdMs: nowMs, originMs: nowMs, lastDueMs: nowMs, last: null, isRunning: false, failures: 0, queue: [] },
  ...{ offMs: null, removedMs: null, rangeMs: null, knownMs: 0, history: [], pause: null },
};
const paused = { by: 'api:ops', reason: null, sinceMs: nowMs };
const plugins = config([plugin('echo', {}, [command('say')])]);
const replyTo = { ask: 1 };

/** Delivers the message to a new actor over a store with this record. Its reply, and the record after the turn. */
function firstTurn(stored: ScheduleRecord, message: ScheduleMessage) {
  const store = openMemoryStore();
  const batch = store.batch();
  putSchedule(batch, id, stored);
  store.commit(batch);
  const replies: unknown[] = [];
  const { loop, job } = bareJobActor(
    store,
    () => nowMs * 1_000,
    reply => void replies.push(reply),
    () => {},
    plugins,
  );
  const schedule = startScheduleActor({
    ...{ reader: store, setAside: new SetAside(), jobs: job, pipeline: noPipeline, startedMs: nowMs },
    config: { ...plugins, schedules: [definition] } as unknown as Config,
    alarm() {},
    self() {},
  });
  loop.setHandler({
    begin(turn) {
      schedule.begin();
      job.begin(turn);
    },
    receive: (_, delivered, turn) => schedule.receive(delivered, turn),
    end(turn) {
      schedule.fire(turn);
      while (job.dispatch(turn));
      schedule.close(turn);
      job.close(turn);
    },
  });
  loop.deliver('schedule', message);
  loop.turn();
  return { reply: replies[0], record: readSchedule(store, id)! };
}

test('a schedule is resumed', () => {
  const { reply, record: after } = firstTurn({ ...record, pause: paused }, { kind: 'resume_schedule', replyTo, id });
  expect([reply, after.pause]).toEqual([{ kind: 'schedule', pause: paused }, null]);
});

test('a schedule is paused', () => {
  const order = { kind: 'pause_schedule', replyTo, id, by: paused.by, reason: null } as const;
  const { reply, record: after } = firstTurn(record, order);
  expect([reply, after.pause]).toEqual([{ kind: 'schedule', pause: paused }, paused]);
});

test('a schedule is run by hand', () => {
  const { reply, record: after } = firstTurn(record, { kind: 'run_schedule', replyTo, id });
  expect(reply).toMatchObject({ kind: 'accepted' });
  expect(after.history).toMatchObject([{ kind: 'fired', dueMs: null }]);
});
