// A turn of the ledger that fails: nothing of it left, the actors are made anew, and everybody hears how it went on.
import { expect, test } from 'vitest';
import { startGateway } from './gateway.ts';
import { worker } from './sources.ts';
import { tamper } from './tamper.ts';
import { until } from './until.ts';

test('a call that waits for a run is answered by its end, though a turn has failed meanwhile', async () => {
  const gateway = await startGateway({
    plugins: { worker },
    pipelines: [
      { name: 'held', on: 'held', execution_mode: 'synchronous', timeout_secs: 600, steps: [{ uses: 'worker' }] },
    ],
  });
  const headers = { 'Idempotency-Key': 'damaged' };
  await gateway.call('POST', '/plugin/worker/handle', {}, { headers });
  await gateway.term();
  tamper(gateway, (batch, reader) => {
    for (const { key } of reader.scan('idempotency', {})) batch.put('idempotency', Buffer.from(key), Buffer.of(0));
  });
  await gateway.start();
  const answer = gateway.call('POST', '/pipeline/held', { payload: { gate: 'all' } });
  await gateway.noted('start', 2);
  const { status, body } = await gateway.call('POST', '/plugin/worker/handle', {}, { headers });
  expect([status, body['code']]).toEqual([503, 'unavailable']);
  await until('the failure is logged', () => gateway.log.find(({ msg }) => msg === 'a turn failed'));
  gateway.open('all');
  expect(await answer).toMatchObject({ status: 200, body: { status: 'succeeded' } });
});
