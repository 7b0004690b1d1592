// A turn of the ledger that fails: nothing of it leaves, the actors restart, and every caller gets an answer.
import { expect, test } from 'vitest';
import { livingStat } from '../../../runtime/processes/identity.ts';
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
  const { body: first } = await gateway.call('POST', '/plugin/worker/handle', {}, { headers });
  await gateway.settled(String(first['job_id']));
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
  // The host went on with the job, and did not start it again.
  expect(gateway.journal().filter(({ what }) => what === 'start')).toHaveLength(2);
});

test('a turn that fails during the grace of a stop does not hold it up, and nothing is handed out after it', async () => {
  const steps = [{ uses: 'worker', foreach: 'payload.list', with: { gate: '{payload.item.gate}' } }];
  const gateway = await startGateway(
    {
      plugins: {
        worker,
        program: { code: '#!/bin/sh\n', entrypoint: 'run.sh', runtime: 'process', commands: { handle: {} } },
      },
      instances: { worker: { retry: { max_attempts: 2, backoff_base: '1ms' } } },
      pipelines: [{ name: 'gathering', on: 'gathering', steps }],
    },
    { grace: '60s' },
  );
  const list = [{ gate: 'first', text: 'x'.repeat(5000) }, { gate: 'last' }];
  await gateway.call('POST', '/pipeline/gathering?async=true', { payload: { list } });
  await gateway.noted('start', 2);
  gateway.open('first');
  await gateway.noted('end');
  await gateway.settled(gateway.journal().find(({ what }) => what === 'end')!.job);
  await gateway.kill9();
  tamper(gateway, (batch, reader) => {
    for (const { key } of reader.scan('arrivals', {})) batch.remove('arrivals', Buffer.from(key));
  });
  await gateway.start();
  await gateway.noted('start', 3);
  const failing = await gateway.submit('program/handle');
  await until('the program has ended', async () => (await gateway.job(failing)).last_error);
  const idle = gateway.log.find(({ msg, host }) => msg === 'the plugin host is up' && host === 'programs-1')!;
  const ended = gateway.term();
  await until('an idle host has been stopped', () => livingStat(Number(idle['pid'])) === null);
  gateway.open('last');
  expect(await ended).toEqual({ status: 0, signal: null });
  await until('the failure is logged', () => gateway.log.find(({ msg }) => msg === 'a turn failed'));
  expect(gateway.journal().filter(({ what }) => what === 'start')).toHaveLength(3);
});
