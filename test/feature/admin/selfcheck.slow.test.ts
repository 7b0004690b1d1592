// GET /system/selfcheck: a sound store passes, also under load, and the selfcheck reports each invariant that is broken.

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ActionPlan, noProgress, putAction } from '../../../actors/job/records/action.ts';
import { AttemptWriter, attemptKey, latestAttempt, pageBytesMax } from '../../../actors/job/records/attempts.ts';
import { BlockBuilder, decodeBlock, groupOf } from '../../../actors/job/records/block.ts';
import { putMark } from '../../../actors/job/records/cancel.ts';
import type { JobGroup } from '../../../actors/job/records/job.ts';
import { keyText, OpenBlock } from '../../../actors/job/records/open.ts';
import { rerunKey, writeRerun } from '../../../actors/job/records/reruns.ts';
import { putRescheduled } from '../../../actors/job/records/rescheduled.ts';
import { encodeRetry } from '../../../actors/job/records/retry.ts';
import { putTimer } from '../../../actors/job/records/timer.ts';
import { encodeRanges } from '../../../actors/job/records/tree.ts';
import { type FindIdle, selfcheck } from '../../../actors/job/views/selfcheck.ts';
import {
  reusedKey,
  topAddress,
  writeDropped,
  writeIndexed,
  writeLostJob,
  writeNeed,
} from '../../../actors/pipeline/records/reuse.ts';
import { runDeadlineKey } from '../../../actors/pipeline/records/run-deadline.ts';
import { putFired } from '../../../actors/schedule/records/fired.ts';
import { putSchedule, type ScheduleRecord } from '../../../actors/schedule/records/schedule.ts';
import { blockOf, formatId, type JobId, parseId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import { encodeParted } from '../../../runtime/parted.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { openReaderBeside } from '../../../runtime/store/ledger-store.ts';
import type { Batch, Reader, Table } from '../../../runtime/store/store.ts';
import { type Gateway, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { echo, failing, step, worker } from '../../service/gateway/sources.ts';
import { tamper } from '../../service/gateway/tamper.ts';
import { inSlices } from '../../support/slices.ts';

const settings = {
  plugins: { echo, failing, step, worker },
  instances: { failing: { retry: { max_attempts: 3, backoff_base: '1ms', backoff_max: '1ms' } } },
  pipelines: [
    {
      name: 'whole',
      on: 'whole',
      steps: [
        { uses: 'step', foreach: 'payload.items' },
        { uses: 'echo', join: 'all' },
      ],
    },
    { name: 'held', on: 'held', steps: [{ uses: 'worker' }] },
  ],
};

type Body = {
  status: string;
  invariants_checked: number;
  failures: { invariant: string; detail: string }[];
  detail: string;
};

async function check(gateway: Gateway): Promise<Body> {
  const { status, body } = await gateway.call('GET', '/system/selfcheck');
  expect(status).toBe(200);
  return body as Body;
}

/** Some jobs of every kind: settled, failed after attempts, of a run, with a key, delayed; and a run that is held at the gate. */
async function fill(gateway: Gateway) {
  const ok = await gateway.submit('echo/say', { n: 1 });
  const large = await gateway.submit('echo/say', { text: 'x'.repeat(pageBytesMax) });
  const dead = await gateway.submit('failing/handle');
  const run = await gateway.run('whole', { items: [1, 2, 3] });
  const held = await gateway.run('held', { gate: 'all' });
  await gateway.call('POST', '/plugin/echo/handle', {}, { headers: { 'Idempotency-Key': 'k' } });
  await gateway.call('POST', '/plugin/echo/handle', { tags: { tenant: 'acme' } });
  for (const id of [ok, large, dead, run]) await gateway.settled(id);
  const child = (await gateway.tree(run)).find(({ plugin }) => plugin === 'step')!.job_id;
  await gateway.noted('start', 5);
  const { body } = await gateway.call('POST', `/job/${dead}/rerun`, {});
  const again = String(body['job_id']);
  await gateway.settled(again);
  const times = { delay: '1d', expires: '1d', deadline: '1d' };
  const later = await gateway.call('POST', '/plugin/echo/say', times);
  const delayed = String(later.body['job_id']);
  const moved = await gateway.call('POST', '/plugin/echo/say', times);
  await gateway.call('POST', `/job/${moved.body['job_id']}/reschedule`, { delay: '2d' });
  const all = { ok, dead, run, held, child, again, delayed };
  return Object.fromEntries(Object.entries(all).map(([name, id]) => [name, parseId(id)!])) as Record<
    keyof typeof all,
    JobId
  >;
}
type Ids = Awaited<ReturnType<typeof fill>>;

test('it finds nothing while jobs come, fail, are retried and settle, nor after a kill', async () => {
  const gateway = await startGateway({ ...settings, state: { retention: { max_jobs: 300 } } });
  for (let round = 0; round < 4; round++) {
    const work = Array.from({ length: 60 }, (_, i) => {
      if (i % 3 === 0) return gateway.submit('failing/handle', { times: i % 4 });
      return i % 3 === 1 ? gateway.submit('echo/say', { i }) : gateway.run('whole', { items: [1, 2] });
    });
    const bodies = await Promise.all([check(gateway), check(gateway)]);
    for (const { failures } of bodies) expect(failures).toEqual([]);
    await Promise.all(work);
    if (round === 2) await gateway.restart();
    expect((await check(gateway)).failures).toEqual([]);
  }
});

test('retries that a kill met in a frame with others wait again, and are not taken for running', async () => {
  const gateway = await startGateway({ plugins: { worker }, instances: { worker: { parallelism: 1 } } });
  const submitted = Array.from({ length: 3 }, () => gateway.submit('worker/handle', { gate: 'all' }));
  const ids = (await Promise.all(submitted)).map(id => parseId(id)!);
  await gateway.kill9();
  tamper(gateway, (batch, reader) => {
    for (const { key, value } of reader.scan('open', {})) {
      const open = OpenBlock.decode(keyText(key), value);
      open.next = open.count;
      open.retrying = open.count;
      for (let index = 0; index < open.count; index++) open.noteFirst(index, null);
      batch.put('open', Buffer.from(key), open.encode());
    }
    for (const id of ids) batch.put('retries', id, encodeRetry({ attempt: 2, custody: 'sent', dueUs: 0 }));
  });
  rmSync(join(gateway.directory, 'journal'), { force: true });
  await gateway.start();
  await gateway.noted('start');
  expect((await check(gateway)).failures).toEqual([]);
  gateway.open('all');
  for (const id of ids) expect(await gateway.settled(formatId(id))).toMatchObject({ status: 'succeeded', attempt: 2 });
});

type Tampering = (batch: Batch, reader: Reader, ids: Ids) => void;
const nowhere = Buffer.from('0198c0de0000700080000000', 'hex');
const farUs = 4_000_000_000_000_000;
const anotherRun = Buffer.concat([nowhere, Buffer.alloc(4)]);

/** The plan of an action that cancels all jobs, at most `limit` of them. */
function plan(limit: number | null): ActionPlan {
  const any = { plugin: null, command: null, status: null, submittedBy: null, pipeline: null, jobId: null };
  const selection = { ...any, run: null, root: null, parent: null, error: null, query: null, fromUs: null, toUs: null };
  const moment = { atUs: 1, block: Buffer.alloc(12, 0xff), commitUs: 1 };
  const rest = { searchedUs: null, limit, perSecond: null, reason: null, by: 'api:test', matched: 9 };
  return { operation: 'cancel', selection: { ...selection, children: false }, moment, ...rest };
}

const recurrence = { kind: 'cron', cron: '* * * * *', timezone: 'UTC' } as const;
const firedRange = { recurrence, originMs: 0 };
const schedule: ScheduleRecord = {
  recurrence,
  createdMs: 0,
  originMs: 0,
  lastDueMs: 5,
  last: null,
  isRunning: false,
  failures: 0,
  pause: null,
  queue: [],
  offMs: Date.now(),
  removedMs: Date.now(),
  rangeMs: null,
  knownMs: 0,
  history: [],
};

/** Ways to break each invariant. Those of a group are broken in the same store, because they do not affect each other. */
const groups: readonly { readonly [invariant: string]: Tampering }[] = [
  {
    records_can_be_read: batch => batch.put('definitions', nowhere, Buffer.of(0x91)),
    open_jobs_have_blocks: batch =>
      batch.put('open', nowhere, new OpenBlock(keyText(nowhere), 'pipeline', 'x', 1).encode()),
    settled_jobs_have_logs: (batch, _, { ok }) => batch.remove('attempts', attemptKey(ok, 1)),
    children_have_parents: (batch, _, { run }) => batch.remove('blocks', blockOf(run)),
    descendants_are_counted: (batch, _, { held }) => batch.put('descendants', held, pack(0)),
    jobs_of_open_runs_are_kept: (batch, reader, { held }) => {
      const run = unpack<unknown[]>(reader.get('runs', held)!);
      batch.put('runs', held, pack(run.with(7, 77)));
    },
    delayed_reruns_have_sources: (batch, _, { ok }) =>
      writeRerun(batch, { of: ok, from: 'failed', reason: null }, anotherRun, Buffer.alloc(0)),
    arrivals_have_runs: batch => batch.put('arrivals', Buffer.concat([anotherRun, Buffer.alloc(12)]), anotherRun),
    counters_are_right: (batch, reader) => {
      const key = Buffer.from('echo\0handle');
      const counts = unpack<Record<string, number>>(reader.get('counters', key)!);
      batch.put('counters', key, pack({ ...counts, succeeded: 77 }));
    },
  },
  {
    open_runs_go_on: (batch, _, { held }) => batch.remove('runs', held),
    retries_are_open: (batch, _, { ok }) =>
      batch.put('retries', ok, encodeRetry({ attempt: 2, custody: 'waiting', dueUs: 0 })),
    final_states_are_last: (batch, reader, { ok }) => {
      const { attempt } = latestAttempt(reader, ok)!;
      const writer = new AttemptWriter();
      const { startedUs, completedUs, body } = attempt;
      writer.add(batch, ok, 2, { status: 'failed', final: attempt.final, startedUs, completedUs, body });
      writer.close(batch);
    },
    pauses_can_be_read: batch => batch.put('pauses', Buffer.from('whim\0echo\0'), pack([])),
    hold_ends_can_be_read: batch => batch.put('hold_ends', Buffer.alloc(9, 1), Buffer.alloc(0)),
    cancels_have_jobs: (batch, _, { dead }) =>
      putMark(batch, dead, { by: 'x', atUs: 1, reason: null, notStarted: { jobs: 0, elements: 0 } }),
    holds_have_jobs: batch => batch.put('holds', Buffer.from('whim\0echo\0say'), Buffer.of(1)),
    tree_has_blocks: (batch, _, { run }) => batch.put('tree', Buffer.concat([run, nowhere]), Buffer.alloc(8)),
    tagged_jobs_are_counted: batch => batch.put('tagged', nowhere, Buffer.alloc(4, 1)),
    tagged_jobs_are_listed: (batch, reader) => batch.remove('tagged', firstKey(reader, 'tagged')),
    trees_have_the_tags_of_their_root: (batch, reader, { child }) =>
      regroup(batch, reader, child, group => ({ ...group, options: { tags: '{"a":"b"}' } })),
    actions_are_open: batch => putAction(batch, anotherRun, { plan: plan(null), progress: noProgress }),
    actions_take_what_matched: batch => {
      const progress = { ...noProgress, cursor: anotherRun, done: 2 };
      putAction(batch, Buffer.concat([nowhere, Buffer.of(0, 0, 0, 1)]), { plan: plan(1), progress });
    },
    schedules_wait_in_order: batch =>
      putSchedule(batch, 'waiting', { ...schedule, queue: [3, 2].map(dueMs => ({ dueMs, job: null })) }),
    fired_occurrences_are_past: batch => {
      putSchedule(batch, 'past', schedule);
      putFired(batch, 'past', { ...firedRange, firstMs: 60_000, lastMs: 3_600_000, count: 60 });
    },
    fired_occurrences_fire_once: batch => {
      putSchedule(batch, 'twice', { ...schedule, lastDueMs: 3_600_000 });
      putFired(batch, 'twice', { ...firedRange, firstMs: 60_000, lastMs: 180_000, count: 3 });
      putFired(batch, 'twice', { ...firedRange, firstMs: 120_000, lastMs: 120_000, count: 1 });
    },
    schedules_continue_their_range: batch => putSchedule(batch, 'ranging', { ...schedule, rangeMs: 1_000 }),
    deadlines_have_runs: batch =>
      batch.put('run_deadlines', runDeadlineKey(anotherRun, [farUs, 'deadline']), Buffer.alloc(0)),
    fan_outs_have_runs: batch => batch.put('lists', Buffer.concat([anotherRun, Buffer.alloc(4)]), anotherRun),
    unsuccessful_jobs_are_listed: (batch, reader) => batch.remove('unsuccessful', firstKey(reader, 'unsuccessful')),
    attempts_are_in_journal: (batch, reader) => batch.remove('journal', firstKey(reader, 'journal')),
  },
  {
    retries_are_counted: (batch, reader, { held }) => {
      const key = blockOf(held);
      const open = OpenBlock.decode(keyText(key), reader.get('open', key)!);
      open.retrying = 1;
      batch.put('open', key, open.encode());
    },
    accepted_runs_are_whole: batch => batch.put('accepted_runs', nowhere, pack([1, Buffer.alloc(16)])),
    open_trees_are_counted: (batch, _, { held }) => batch.put('open_trees', held, pack(7)),
    reruns_refer_back: (batch, _, { ok, dead }) => batch.put('reruns', rerunKey(ok, dead), Buffer.alloc(0)),
    reruns_are_listed: (batch, _, { dead, again }) => batch.remove('reruns', rerunKey(dead, again)),
    reused_jobs_succeeded: (batch, _, { ok, held }) =>
      batch.put('reused', reusedKey(held, blockOf(ok)), encodeRanges([0, 1])),
    open_reruns_have_sources: (batch, reader, { held, run }) => {
      const stored = unpack<unknown[]>(reader.get('runs', held)!);
      batch.put('runs', held, pack([...stored.slice(0, 13), null, [run, held, topAddress, true, 0]]));
    },
    reusable_jobs_are_kept: (batch, _, { ok, held }) =>
      writeIndexed(batch, held, topAddress, 0, { key: blockOf(ok), index: 0, count: 1 }),
    needed_trees_are_named: (batch, _, { ok, held }) => writeNeed(batch, ok, held),
    lost_jobs_are_gone: (batch, _, { ok, run }) => writeLostJob(batch, run, ok),
    dropped_events_have_jobs: (batch, _, { dead }) => writeDropped(batch, dead, 0),
    // The time is recent: retention removes older definitions of which no run is kept.
    unused_definitions_are_unused: batch => batch.put('unused_definitions', nowhere, pack(Date.now() * 1000)),
    blocks_are_in_trees: (batch, _, { run, child }) => batch.remove('tree', Buffer.concat([run, blockOf(child)])),
    commands_have_blocks: batch => batch.put('by_command', Buffer.concat([Buffer.alloc(4), nowhere]), Buffer.of(1)),
    unsuccessful_jobs_are_so: (batch, _, { ok }) =>
      batch.put('unsuccessful', Buffer.concat([Buffer.alloc(4), Buffer.of(3), ok]), Buffer.of(1)),
    journal_has_attempts: (batch, reader) => {
      const key = firstKey(reader, 'journal');
      const later = Buffer.from(key);
      later[7]! ^= 1;
      batch.put('journal', later, reader.get('journal', key)!);
    },
  },
  {
    trees_of_settled_runs_are_closed: (batch, _, { child }) => {
      // The record is that of a pipeline, because a start does not repair it then.
      const open = new OpenBlock(keyText(blockOf(child)), 'pipeline', 'x', 3);
      open.next = 3;
      batch.put('open', blockOf(child), open.encode());
    },
    open_actions_go_on: batch => {
      const open = new OpenBlock(keyText(nowhere), 'headgate', 'cancel', 1);
      open.next = 1;
      batch.put('open', nowhere, open.encode());
    },
    blocks_are_listed_by_command: (batch, reader) => batch.remove('by_command', firstKey(reader, 'by_command')),
    attempts_have_bodies: (batch, reader) => batch.remove('bodies', firstKey(reader, 'bodies')),
    open_runs_are_counted: (batch, reader) => {
      const hash = firstKey(reader, 'run_counts');
      const [runs, records, , bytes] = unpack<number[]>(reader.get('run_counts', hash)!);
      batch.put('run_counts', hash, pack([runs, records, 77, bytes]));
    },
    delayed_jobs_have_timers: (batch, reader) => batch.remove('timers', firstKey(reader, 'timers')),
    timers_have_jobs: batch =>
      putTimer(batch, { atUs: farUs, kind: 'expires', isOwn: false, block: nowhere, first: 0, count: 1 }),
    rescheduled_jobs_exist: (batch, _, { ok }) => putRescheduled(batch, ok, farUs),
    delayed_jobs_are_counted: (batch, reader) => {
      const key = Buffer.from('echo\0say');
      const counts = unpack<Record<string, number>>(reader.get('counters', key)!);
      batch.put('counters', key, pack({ ...counts, delayed: 77 }));
    },
    bodies_have_attempts: batch => batch.put('bodies', Buffer.concat([nowhere, Buffer.alloc(6)]), nowhere),
    runs_have_deadlines: (batch, reader, { held }) => {
      const stored = unpack<unknown[]>(reader.get('runs', held)!);
      const late = [0, [], null, [[farUs, 'deadline']]];
      batch.put('runs', held, pack([...stored.slice(0, 13), null, null, null, late]));
    },
    runs_are_open: (batch, _, { held }) => batch.remove('open', blockOf(held)),
    values_have_their_parts: (batch, reader, { ok, run }) => {
      const parted = encodeParted([{ base: Buffer.concat([run, Buffer.alloc(8)]), at: [0, 0, 1] }]);
      regroup(batch, reader, ok, group => group, parted);
    },
  },
];

describe('Of a store with jobs of every kind', () => {
  const gateway = shareGateway(settings, { grace: '0s' });
  const data = () => join(gateway.directory, 'data');
  const sound = () => join(gateway.directory, 'sound');
  let ids: Ids;
  beforeAll(async () => {
    ids = await fill(gateway);
  });

  test('that is sound it finds no failures, and says how much was looked at', async () => {
    const { status, failures, invariants_checked: checked, detail } = await check(gateway);
    expect({ status, failures }).toEqual({ status: 'ok', failures: [] });
    expect(detail).toMatch(/blocks: all \d+.*counters: all.*running jobs: all 1/);
    const broken = new Set(groups.flatMap(group => Object.keys(group)));
    // The checks of running jobs and of the vault's audit trail are broken in other tests.
    expect(checked).toBe(broken.size + 2);
  });

  test('it tells of a running job that no worker has', async () => {
    const askIdle: FindIdle = async running => running;
    const reader = openReaderBeside(data());
    const run = <T>(work: Sliced<T>) => inSlices(work, () => reader.refresh());
    const { failures } = await selfcheck({ reader, askIdle, pause: async () => {}, run });
    expect(failures).toEqual([
      { invariant: 'running_jobs_have_workers', detail: expect.stringContaining('no worker') },
    ]);
    const unknown = await selfcheck({ reader, askIdle: async () => null, pause: async () => {}, run });
    expect(unknown).toMatchObject({ failures: [], detail: expect.stringContaining('their workers: not compared') });
    const few = await selfcheck({
      reader,
      askIdle: async () => new Uint8Array(0),
      pause: async () => {},
      run,
      checkedMax: 2,
    });
    expect(few).toMatchObject({
      failures: [],
      detail: expect.stringMatching(/the last \d+ of \d+ by key.*counters: not compared/),
    });
    reader.close();
  });

  describe('that is damaged', () => {
    beforeAll(async () => {
      await gateway.term();
      cpSync(data(), sound(), { recursive: true });
    });
    beforeEach(async () => {
      await gateway.kill9();
      rmSync(data(), { recursive: true });
      cpSync(sound(), data(), { recursive: true });
    });

    test.each(groups.map(group => [Object.keys(group).join(', '), group] as const))(
      'it tells of %s',
      async (_, group) => {
        tamper(gateway, (batch, reader) => {
          for (const one of Object.values(group)) one(batch, reader, ids);
        });
        await gateway.start();
        const { status, failures } = await check(gateway);
        expect(status).toBe('failed');
        expect(failures.map(({ invariant }) => invariant)).toEqual(expect.arrayContaining(Object.keys(group)));
      },
    );
  });
});

/** Writes the block of the job with other groups, and maybe with another payload. */
function regroup(
  batch: Batch,
  reader: Reader,
  id: JobId,
  change: (group: JobGroup) => JobGroup,
  payload?: Uint8Array,
): void {
  const key = blockOf(id);
  const block = decodeBlock(reader.get('blocks', key)!);
  const builder = new BlockBuilder(key, block.plugin, block.command, block.createdUs);
  for (let index = 0; index < block.count; index++)
    builder.add(payload ?? block.payload(index), change(groupOf(block, index).group), false);
  batch.put('blocks', key, builder.encode());
}

function firstKey(reader: Reader, table: Table): Buffer {
  for (const { key } of reader.scan(table, { limit: 1 })) return Buffer.from(key);
  throw new Error(`${table} is empty`);
}
