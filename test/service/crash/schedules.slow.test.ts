// kill -9 in the moment in which schedules fire: each occurrence has one job, none is lost and none has two.
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { decodeBlock, groupEnd } from '../../../actors/job/records/block.ts';
import { readSchedule } from '../../../actors/schedule/records/schedule.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { countOf } from '../../support/deep.ts';
import { Gateway } from '../gateway/gateway.ts';
import { tamper } from '../gateway/tamper.ts';
import { until } from '../gateway/until.ts';
import { seededRandom } from './random.ts';

const cycles = countOf({ deep: 200, quick: 3 });
const everyMs = 1_000;
const schedule = { every: '1s', if_running: 'allow', catch_up: 'run_all' };
const settings = {
  plugins: { quiet: 'export const handle = () => ({});\nexport const poll = () => ({});' },
  pipelines: [{ name: 'short', steps: [{ uses: 'quiet' }] }],
  schedules: [
    { id: 'event', plugin: 'quiet', ...schedule },
    { id: 'call', plugin: 'quiet', command: 'poll', ...schedule },
    { id: 'run', pipeline: 'short', ...schedule },
    { id: 'queue', plugin: 'quiet', ...schedule, if_running: 'queue' },
  ],
  service: { log_level: 'info' },
};
/** When the service is killed, in ms after an occurrence is due. */
const [earliestMs, latestMs] = [-3, 12];

test(`${cycles} kills at a firing lose no occurrence, and fire none twice`, { timeout: 1_800_000 }, async () => {
  const random = seededRandom();
  const gateway = new Gateway(settings);
  onTestFinished(() => gateway.discard());
  await gateway.start();
  let dueMs = 0;
  for (let cycle = 0; cycle < cycles; cycle++) {
    const { body } = await gateway.call('GET', '/schedule/event');
    dueMs = Date.parse((body['next'] as string[])[0]!);
    await pause(Math.max(0, dueMs - Date.now() + random.between(earliestMs, latestMs)));
    await gateway.restart();
  }
  for (const { id } of settings.schedules) {
    await until(`schedule ${id} makes up for what it missed`, async () => {
      const { body } = await gateway.call('GET', `/schedule/${id}`);
      return Date.parse(body['last_due_at'] as string) >= dueMs;
    });
  }
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok' });
  await gateway.term();
  tamper(gateway, (_, reader) => {
    const dues = duesIn(reader);
    for (const { id } of settings.schedules) {
      const record = readSchedule(reader, id)!;
      const occurrences = Math.round((record.lastDueMs - record.createdMs) / everyMs);
      expect(occurrences).toBeGreaterThanOrEqual(cycles);
      const all = Array.from({ length: occurrences }, (_, place) => record.createdMs + (place + 1) * everyMs);
      const fired = dues.get(id)!.toSorted((a, b) => a - b);
      const known = new Set(fired);
      expect([id, ...fired]).toEqual([id, ...all.filter(due => known.has(due))]);
      // On a slow machine the schedule with `if_running: queue` falls behind; its counts say how many occurrences found the queue full.
      expect([id, all.length - known.size]).toEqual([id, record.counts?.queue_full ?? 0]);
    }
  });
});

/** The due times of all jobs that schedules have started. */
function duesIn(reader: Reader): Map<string, number[]> {
  const dues = new Map<string, number[]>();
  for (const { value } of reader.scan('blocks', {})) {
    const block = decodeBlock(value);
    for (const [place, start] of block.starts.entries()) {
      const { parent, context } = block.group(place);
      if (parent !== null) continue;
      const { schedule } = unpack<{ readonly schedule: { readonly id: string; readonly due_at: string } }>(context);
      const due = Date.parse(schedule.due_at);
      const copies = groupEnd(block, place) - start;
      dues.set(schedule.id, [...(dues.get(schedule.id) ?? []), ...Array<number>(copies).fill(due)]);
    }
  }
  return dues;
}
