// The moments of actions: what they take is decided by the times of commits.
import { expect, it } from 'vitest';
import { CompletionWriter } from '../../../../actors/job/completion-writer.ts';
import { WriteBatch } from '../../../../runtime/store/batch.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';

it('gives no later commit the time of a moment, even if the clock goes back', () => {
  const completions = new CompletionWriter(openMemoryStore());
  const moment = completions.momentUs(2_000);
  expect(completions.commitUs(2_000)).toBe(moment);
  // This commit writes nothing to the journal.
  completions.close(new WriteBatch());
  expect(completions.commitUs(1_000)).toBeGreaterThan(moment);
});

it('keeps to the moments of actions that began before the start', () => {
  const completions = new CompletionWriter(openMemoryStore());
  completions.wasGiven(2_000);
  expect(completions.commitUs(1_000)).toBeGreaterThan(2_000);
});
