// What a cancel answers if the ledger refuses it. What a job waits for is left out where the ledger does not answer in time, or cannot be asked.
import { expect, test } from 'vitest';
import { Hub } from '../../../actors/hub/hub.ts';
import { jobId } from '../../../runtime/ids.ts';
import { type EngineOptions, openEngine } from '../../../service/engine.ts';
import { makeConfig } from '../../unit/http/gateway.ts';

const id = jobId(Buffer.alloc(12, 1), 0);
const waits = { reason: 'plugin', detail: 'it is gone', sinceUs: 1 };

function engineThatAsks(ask: () => Promise<unknown>) {
  const parts = { link: { ask }, hub: new Hub(), reader: {}, config: makeConfig, uiSessions: { endings: 0 } };
  return openEngine(parts as unknown as EngineOptions);
}

test('a cancel that the ledger refuses says why', async () => {
  const refused = { kind: 'refused', refusal: 'disk_full' };
  const engine = engineThatAsks(async () => refused);
  expect(await engine.cancel({ id, by: 'api:test', reason: null })).toEqual(refused);
});

test.each([
  ['an answer', async () => ({ kind: 'waits', waits }), waits],
  ['no reason', async () => ({ kind: 'waits', waits: null }), null],
  ['a refusal', async () => ({ kind: 'refused', refusal: 'unavailable' }), null],
  ['a ledger that has ended', () => Promise.reject(new Error('it ended')), null],
  ['silence', () => new Promise(() => {}), null],
])('%s', async (_, ask, expected) => {
  expect(await engineThatAsks(ask).waits(id)).toEqual(expected);
});
