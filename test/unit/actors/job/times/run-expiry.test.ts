// The expiry of runs, in the turn in which jobs of them end.
import { expect, it } from 'vitest';
import { formatId, type JobId } from '../../../../../runtime/ids.ts';
import { packedEmpty } from '../../../../../runtime/packing.ts';
import { Ledger } from '../../../../service/failure/ledger.ts';

const expiresMs = 1000;

/** Starts a run of the pipeline that expires; its id. */
function start(ledger: Ledger, pipeline: string): string {
  ledger.lifecycle.loop.deliver('pipeline', {
    kind: 'start_run',
    replyTo: { ask: 0 },
    pipeline,
    payload: packedEmpty,
    submittedBy: 'test',
    watch: false,
    options: { expiresMs },
  });
  ledger.run();
  return formatId((ledger.replies.at(-1)!.value as unknown as { readonly id: JobId }).id);
}

it('lets a run go on whose first job ends in the turn in which it would expire', () => {
  const ledger = new Ledger([{ name: 'p', steps: [{ uses: 'echo' }, { uses: 'echo' }] }]);
  const id = start(ledger, 'p');
  ledger.nowUs += 2 * expiresMs * 1000;
  ledger.answer(ledger.tasks[0]!);
  ledger.run();
  expect([ledger.job(id).status, ledger.tasks.length]).toEqual(['running', 2]);
  ledger.answer(ledger.tasks[1]!);
  ledger.run();
  expect([ledger.job(id).status, ledger.faults()]).toEqual(['succeeded', []]);
});

it('lets a run go on whose first job was lost with the hosts, because it may have begun', async () => {
  const ledger = new Ledger([{ name: 'p', steps: [{ uses: 'echo' }] }]);
  const id = start(ledger, 'p');
  ledger.lifecycle.loop.deliver('job', { kind: 'stop', replyTo: { ask: 0 }, graceMs: 0 });
  await ledger.rest();
  ledger.nowUs += 2 * expiresMs * 1000;
  ledger.lifecycle.loop.deliver('job', { kind: 'wake' });
  ledger.run();
  expect([ledger.job(id).status, ledger.job(ledger.tasks[0]!.id).status]).toEqual(['running', 'queued']);
  ledger.start();
  ledger.answer(ledger.tasks[1]!);
  ledger.run();
  expect([ledger.job(id).status, ledger.faults()]).toEqual(['succeeded', []]);
});
