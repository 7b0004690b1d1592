// Batches, as callers send them: jobs of one command, or runs of one pipeline, in one request and one commit.
import { ListBuilder, type StoredList } from '../../../runtime/packed-list.ts';
import { pack } from '../../../runtime/packing.ts';
import type { Dice } from './dice.ts';
import { called } from './setup.ts';

/** The most payloads of a batch. */
export const batchMax = 9;

type Batch = {
  readonly plugin: string;
  /** Only for a batch of runs. */
  readonly pipeline?: string;
  readonly actor: 'job' | 'pipeline';
  readonly message: object;
};

/** A batch with one payload for each number, which the payload has as `n`. */
export function batchOf(dice: Dice, numbers: readonly number[]): Batch {
  const submittedBy = dice.pick(['x', 'y']);
  if (dice.chance(0.4)) {
    const plugin = dice.pick(called);
    const payloads = listOf(numbers.map(n => ({ n, k: n % 7 })));
    const event = { type: 'api.trigger', source: 'api' };
    const message = { kind: 'submit_batch', plugin, command: 'handle', payloads, event, submittedBy };
    return { plugin, actor: 'job', message };
  }
  const pipeline = dice.chance(0.03) ? 'nothing' : dice.pick(['p', 'p', 'q', 'r', 's']);
  const list = () => Array.from({ length: dice.below(3) }, () => dice.below(9));
  const payloads = listOf(numbers.map(n => ({ n, k: dice.below(8), list: list() })));
  return {
    plugin: 'pipeline',
    pipeline,
    actor: 'pipeline',
    message: { kind: 'start_runs', pipeline, payloads, submittedBy },
  };
}

function listOf(payloads: readonly object[]): StoredList {
  const list = new ListBuilder(0);
  for (const payload of payloads) list.add(pack(payload));
  return list.list();
}
