// Events about refused deliveries: the first refusal at once, the others of the same interval together.
import { expect, test } from 'vitest';
import type { Observations } from '../../../actors/hub/protocol.ts';
import { problem } from '../../../http/problem.ts';
import { DeliveryEvents, rejectedEventEveryMs } from '../../../http/webhooks/delivery-events.ts';

function listen() {
  const told: object[] = [];
  const timers: (() => void)[] = [];
  const deliveryEvents = new DeliveryEvents({
    publish: groups => told.push(...groups.map((group: Observations) => ('fields' in group ? group.fields : {}))),
    nowMs: () => 1_000,
    onRejected() {},
    later(act, ms) {
      expect(ms).toBe(rejectedEventEveryMs);
      timers.push(act);
    },
  });
  /** Ends the intervals of all waiting events. */
  const pass = () => {
    for (const act of timers.splice(0)) act();
  };
  return { deliveryEvents, told, timers, pass };
}

const forbidden = problem('forbidden', '');
const tooLarge = problem('body_too_large', '');

test('a flood of refusals is told once in a while, with how many there were, and none is lost', () => {
  const { deliveryEvents, told, timers, pass } = listen();
  for (let n = 0; n < 1_000; n++) deliveryEvents.rejected('a', forbidden);
  expect(told).toEqual([{ endpoint: 'a', status: 403, code: 'forbidden', count: 1 }]);
  pass();
  expect(told.at(-1)).toEqual({ endpoint: 'a', status: 403, code: 'forbidden', count: 999 });
  pass();
  expect([told.length, timers.length]).toEqual([2, 0]);
  deliveryEvents.rejected('a', forbidden);
  expect(told.at(-1)).toMatchObject({ count: 1 });
});

test('endpoints and codes are counted apart', () => {
  const { deliveryEvents, told, pass } = listen();
  for (const endpoint of ['a', 'b'])
    for (const refusal of [forbidden, tooLarge]) deliveryEvents.rejected(endpoint, refusal);
  expect(told.length).toBe(4);
  pass();
  expect(told.length).toBe(4);
});
