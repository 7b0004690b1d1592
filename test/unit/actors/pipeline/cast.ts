// The plugins that the tests of pipelines run, and the stage for one pipeline of these.
import type { Json } from '../../../../runtime/packing.ts';
import type { WriteBatch } from '../../../../runtime/store/batch.ts';
import { type Job, type Plugins, payloadOf, Stage } from './stage.ts';

export const plugins: Plugins = {
  echo: payload => ({ result: payload }),
  text: () => ({ result: 'words' }),
  double: (payload: { item: number }) => ({ result: payload.item * 2 }),
  emit: (payload: { events: never }) => ({ events: payload.events, result: 'emitted' }),
  odd: (payload: { item?: number }) =>
    (payload.item ?? 0) % 2 === 1 ? { error: 'odd' } : { result: payload.item ?? null },
  fail: () => ({ error: 'broken' }),
  late: () => ({ error: 'slow', status: 'timed_out' }),
  sink: payload => ({ result: payload }),
};

/** One pipeline `p`. */
export function stage(steps: unknown[], more: object = {}): Stage {
  return new Stage({ plugins, pipelines: [{ name: 'p', steps, ...more }] });
}
export function payloads(jobs: readonly Job[]): Json[] {
  return jobs.map(payloadOf);
}

/** Returns a function that tells how many bytes the largest commit since this call has written. */
export function largestCommit({ store }: Stage): () => number {
  let most = 0;
  const { commit } = store;
  Object.assign(store, {
    commit(batch: WriteBatch) {
      const bytes = batch.values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
      most = Math.max(most, bytes);
      commit(batch);
    },
  });
  return () => most;
}
