// Runs that are past their deadlines or have expired by the time of a start: none of their jobs starts, however many they are.
import { expect, it } from 'vitest';
import { formatId, type JobId } from '../../../runtime/ids.ts';
import { Ledger } from './ledger.ts';

const pipelines = [
  { name: 'bound', deadline: '1m', steps: [{ uses: 'echo' }] },
  { name: 'free', steps: [{ uses: 'echo' }] },
];
/** More runs than a turn can stop, and more than a turn can end. */
const count = 1_100;

/** A ledger after a start, an hour after it was given these runs. `started`: how many of their jobs had started before. */
function startedLate(pipeline: string, options: object = {}) {
  const ledger = new Ledger(pipelines);
  for (let n = 0; n < count; n++) ledger.startRun(pipeline, { n }, options);
  ledger.run();
  const { length: started } = ledger.tasks.splice(0);
  ledger.nowUs += 3_600_000_000;
  ledger.start();
  return { ledger, started };
}

/** How many runs have ended with this status. */
function ended(ledger: Ledger, status: string): number {
  const runs = ledger.replies.map(({ value }) => ledger.job(formatId((value as unknown as { readonly id: JobId }).id)));
  return runs.filter(run => run.status === status).length;
}

it('starts no job of runs that are past their deadlines, and stops all of these', () => {
  const { ledger } = startedLate('bound');
  expect(ledger.tasks).toEqual([]);
  expect(ended(ledger, 'timed_out')).toBe(count);
  ledger.submit('echo');
  ledger.run();
  expect(ledger.tasks).toHaveLength(1);
});

it('starts no job of runs that have expired, and ends all of these', () => {
  const { ledger, started } = startedLate('free', { expiresMs: 60_000 });
  expect(ledger.tasks).toEqual([]);
  expect(ended(ledger, 'cancelled')).toBe(count - started);
});
