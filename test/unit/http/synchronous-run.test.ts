// The answer to a synchronous pipeline call whose run has ended, but cannot be read.
import { expect, test } from 'vitest';
import { runAndWait } from '../../../http/routes/synchronous-run.ts';
import { parseId } from '../../../runtime/ids.ts';
import type { OnJobEnd } from '../../../service/job-waiters.ts';

const text = '0198c0de-0000-7000-8000-000000000000';

/** A call whose run ends at once, while the reads thread is busy. `status`: that of the run; null if it was pruned. */
function callOf(status: 'succeeded' | null): Parameters<typeof runAndWait>[0] {
  const engine = {
    async startRun(_: object, end: OnJobEnd) {
      end('settled');
      return { kind: 'accepted', id: parseId(text)! };
    },
    smallTree: () => undefined,
    job: () => (status === null ? undefined : { status }),
    reads: { answer: async () => ({ kind: 'refused', refusal: 'too_many_reads', detail: 'too many' }) },
  };
  return {
    engine,
    onGone: () => {},
    headerList: () => '',
    callerNow: () => ({}),
    submitted: null,
  } as unknown as Parameters<typeof runAndWait>[0];
}

test('a run that cannot be read now is answered with its id and final status', async () => {
  const answer = await runAndWait(callOf('succeeded'), {} as never, 1_000, null);
  expect(answer).toMatchObject({ status: 202 });
  expect(JSON.stringify(answer)).toMatch(/succeeded.*The run has settled, but cannot be shown right now/);
});

test('a run that was pruned meanwhile is unknown, and not running', async () => {
  const answer = await runAndWait(callOf(null), {} as never, 1_000, null);
  expect(answer).toMatchObject({ kind: 'problem', code: 'unknown_job', detail: `there is no job "${text}"` });
});
