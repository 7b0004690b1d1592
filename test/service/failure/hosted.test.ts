// Frames that hosts hold when a turn fails stay with the hosts, and stay counted.
import { expect, it } from 'vitest';
import { readCounts } from '../../../actors/job/records/counts.ts';
import { Ledger } from './ledger.ts';

/** Makes the record of an idempotency key undecodable: a call with this key then fails its turn. */
function damageKeys(ledger: Ledger): void {
  ledger.change((batch, reader) => {
    for (const { key } of reader.scan('idempotency', {})) batch.put('idempotency', Buffer.from(key), Buffer.of(0));
  });
}

it('counts the jobs as running that hosts have kept over a failed turn', async () => {
  const ledger = new Ledger();
  ledger.submit('echo');
  ledger.run();
  const [counted] = readCounts(ledger.store);
  expect(counted!.counts.running).toBe(1);
  ledger.submit('echo', { key: 'k' });
  await ledger.rest();
  damageKeys(ledger);
  ledger.submit('echo', { key: 'k' });
  await ledger.rest();
  expect(ledger.logged).toContain('a turn failed');
  expect(ledger.tasks).toHaveLength(2);
  expect(readCounts(ledger.store)[0]!.counts.running).toBe(2);
});

it('takes no frame for lost that left after the host had ended, though its end is handled again after a failed turn', async () => {
  const ledger = new Ledger();
  ledger.submit('echo', { key: 'k' });
  ledger.run();
  const [lost] = ledger.tasks;
  damageKeys(ledger);
  ledger.submit('echo');
  ledger.submit('echo', { key: 'k' });
  const sentUpTo = lost!.frame.frameId;
  ledger.lifecycle.loop.deliver('job', { kind: 'host_lost', slot: lost!.slot, reason: 'killed', sentUpTo });
  await ledger.rest();
  const [fresh] = ledger.tasks.filter(({ id }) => id !== lost!.id);
  ledger.answer(fresh!);
  await ledger.rest();
  expect(ledger.job(fresh!.id).status).toBe('succeeded');
  expect(ledger.tasks.filter(({ id }) => id === fresh!.id).map(({ attempt }) => attempt)).toEqual([1]);
});
