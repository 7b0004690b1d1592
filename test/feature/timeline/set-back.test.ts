// The critical path of a run during which the clock was set back: a job may seem older than the job that led to it.
import { expect, test } from 'vitest';
import { CompletionWriter } from '../../../actors/job/completion-writer.ts';
import { BlockBuilder } from '../../../actors/job/records/block.ts';
import type { JobGroup } from '../../../actors/job/records/job.ts';
import { BlockCache } from '../../../actors/job/views/block-cache.ts';
import { criticalPath } from '../../../actors/job/views/critical-path.ts';
import { PathReader } from '../../../actors/job/views/path-reading.ts';
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import { type JobId, jobId, makeBlockKeys } from '../../../runtime/ids.ts';
import { packedEmpty } from '../../../runtime/packing.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import { openMemoryStore } from '../../support/memory-store.ts';

const hourUs = 3_600_000_000;
const beganUs = 1_750_000_000_000_000;
const keys = makeBlockKeys(() => 5);
const run = jobId(keys.next(beganUs / 1000), 0);

function groupOf(stepId: string, parent: JobId): JobGroup {
  const position = { run, node: 1, scope: 0, path: [], first: null };
  const none = { event: null, hooked: false, rerun: null, options: null } as const;
  const place = { parent, root: run, depth: 1, pipeline: 'p', stepId, run: position };
  return { ...none, ...place, submittedBy: 'api:test', context: packedEmpty };
}

test('has each job once', () => {
  const store = openMemoryStore();
  const completions = new CompletionWriter(store);
  const add = (stepId: string, parent: JobId, createdUs: number): JobId => {
    const block = new BlockBuilder(keys.next(Math.floor(createdUs / 1000)), 'echo', 'say', createdUs);
    const id = block.add(packedEmpty, groupOf(stepId, parent), false);
    const batch = store.batch();
    batch.put('blocks', block.key, block.encode());
    completions.accepted(batch, block);
    completions.close(batch);
    store.commit(batch);
    return id;
  };
  // The clock is set back between the two jobs, and both end in the same commit.
  const first = add('first', run, beganUs + 10);
  const second = add('second', first, beganUs + 20 - hourUs);
  const batch = store.batch();
  const owner = { plugin: 'echo', command: 'say', submittedBy: 'api:test', createdUs: beganUs, inStep: true };
  const endedUs = completions.commitUs(beganUs + 5);
  for (const id of [first, second]) {
    const attempt = { status: 'succeeded', final: true, startedUs: endedUs, completedUs: endedUs } as const;
    completions.attempt(batch, owner, id, 1, { ...attempt, body: encodeBody({}) });
  }
  completions.close(batch);
  store.commit(batch);

  const path = new PathReader(store, new BlockCache(store), run, beganUs);
  const found = whole(criticalPath({ fromUs: beganUs, endedUs }, path.job(second), job => path.before(job)));
  expect(found.isCut).toBe(false);
  expect(found.steps.map(({ name, jobs }) => [name.step, jobs])).toEqual([
    ['first', 1],
    ['second', 1],
  ]);
});

function whole<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
