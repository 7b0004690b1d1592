// The link between two threads: which messages are withdrawn before they are sent, which may wait, and what a packet describes.
import { expect, test } from 'vitest';
import { openLink } from '../../../runtime/link.ts';
import { PacketUnpacker } from '../../../runtime/packing.ts';

test('a message whose asker is gone when the packet is sent stays behind, and its ask is answered here', async () => {
  const sent: unknown[] = [];
  const unpacker = new PacketUnpacker();
  const port = { postMessage: (bytes: Uint8Array) => sent.push(...unpacker.unpack(bytes)), on() {} };
  const link = openLink({ port: port as never, onMessage() {} });
  const [staying, leaving] = [{ isGone: false }, { isGone: false }];
  const answer = 'taken back';
  void link.ask('vault', { n: 1 }, { asker: staying, answer });
  const gone = link.ask('vault', { n: 2 }, { asker: leaving, answer });
  link.tell('vault', { n: 3 });
  leaving.isGone = true;
  link.flush();
  expect(await gone).toBe(answer);
  expect(sent).toMatchObject([
    ['vault', { n: 1 }],
    ['vault', { n: 3 }],
  ]);
  // Messages that have been sent cannot be withdrawn.
  staying.isGone = true;
  link.tell('vault', { n: 4 });
  link.flush();
  expect(sent).toHaveLength(3);
});

test('a message that may wait travels with the next packet, or alone when its time is over', async () => {
  const unpacker = new PacketUnpacker();
  const packets: unknown[][] = [];
  let arrived = (): void => {};
  const port = {
    postMessage(bytes: Uint8Array) {
      packets.push(unpacker.unpack(bytes));
      arrived();
    },
    on() {},
  };
  const link = openLink({ port: port as never, onMessage() {} });
  link.tellSoon('hub', { n: 1 });
  link.flushDue();
  expect(packets).toEqual([]);
  link.tell('edge', { n: 2 });
  link.flushDue();
  expect(packets).toEqual([
    [
      ['hub', { n: 1 }],
      ['edge', { n: 2 }],
    ],
  ]);
  const alone = new Promise<void>(resolve => {
    arrived = resolve;
  });
  link.tellSoon('hub', { n: 3 });
  link.flushDue();
  await alone;
  expect(packets[1]).toEqual([['hub', { n: 3 }]]);
});

test('a shape of objects is described once, and again after a packet that could not be packed', () => {
  const unpacker = new PacketUnpacker();
  const lengths: number[] = [];
  const got: unknown[] = [];
  const port = {
    postMessage(bytes: Uint8Array) {
      lengths.push(bytes.length);
      got.push(...unpacker.unpack<[string, unknown]>(bytes).map(([, message]) => message));
    },
    on() {},
  };
  const link = openLink({ port: port as never, onMessage() {} });
  const send = (message: object): void => {
    link.tell('job', message);
    link.flush();
  };
  const messages = [1, 2, 3, 4].map(n => ({ firstField: n, secondField: { thirdField: n } }));
  send(messages[0]!);
  send(messages[1]!);
  expect(lengths[1]).toBeLessThan(lengths[0]! / 2);
  expect(() => send({ unknownField: 2n ** 80n })).toThrow();
  send(messages[2]!);
  send(messages[3]!);
  expect(lengths.slice(2)).toEqual(lengths.slice(0, 2));
  expect(got).toEqual(messages);
});
