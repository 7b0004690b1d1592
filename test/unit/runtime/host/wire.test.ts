// Messages on the pipe between the ledger thread and a plugin host.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HostSender } from '../../../../runtime/host/process/host-sender.ts';
import { encodeMessage, keyBytes, type MessageKind, MessageReader } from '../../../../runtime/host/wire/message.ts';
import { emptyBody } from '../../../../runtime/host/wire/outcome.ts';
import {
  encodeOutcomes,
  outcomesMessage,
  readOutcomes,
  readReturned,
} from '../../../../runtime/host/wire/outcome-message.ts';

const frameId = (body: Buffer) => body.readDoubleLE(0);

/** A message with one outcome, whose task began at this time. */
function outcomeAt(startedUs: number): Buffer {
  const head = { task: 0, verdict: 'ok', permanent: false, startedUs, runUs: 1, body: emptyBody } as const;
  return Buffer.concat([Buffer.alloc(8), encodeOutcomes([head])]);
}

it('messages are read whole, however they arrive', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), fc.integer({ min: 1, max: 99 }), (bodies, step) => {
      const read: [MessageKind, Buffer][] = [];
      const reader = new MessageReader((kind, body) => read.push([kind, Buffer.from(body)]));
      const stream = Buffer.concat(bodies.flatMap(body => outcomesMessage(7, body)));
      for (let at = 0; at < stream.length; at += step) reader.push(stream.subarray(at, at + step));
      expect(read.map(([kind]) => kind)).toEqual(bodies.map(() => 'outcomes'));
      expect(read.map(([, body]) => [frameId(body), body.subarray(8)])).toEqual(
        bodies.map(body => [7, Buffer.from(body)]),
      );
    }),
  );
});

it.each([
  ['of a type that there is not', [0, 0, 0, 0, 99], /unknown message type 99/],
  ['of more bytes than a message may have', [255, 255, 255, 255, 1], /a message has 4294967295 bytes; the limit is/],
])('a message %s is refused', (_, bytes, why) => {
  const reader = new MessageReader(() => {});
  expect(() => reader.push(Buffer.from(bytes))).toThrow(why);
});

it('a message without the key of its host is refused, however it arrives', () => {
  const key = Buffer.alloc(keyBytes, 7);
  const message = encodeMessage('returned', Buffer.alloc(16));
  const whole = Buffer.concat([key, message]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: whole.length }), fc.integer({ min: 0, max: keyBytes - 1 }), (step, place) => {
      let told = 0;
      const reader = new MessageReader(() => told++, key);
      const push = (bytes: Buffer) => {
        for (let at = 0; at < bytes.length; at += step) reader.push(bytes.subarray(at, at + step));
      };
      push(Buffer.concat([whole, whole]));
      expect(told).toBe(2);
      const forged = Buffer.from(whole);
      forged[place]! ^= 1;
      expect(() => push(forged)).toThrow('a message has the wrong key');
      expect(told).toBe(2);
    }),
  );
});

it.each([
  ['an outcome that is cut', () => readOutcomes(Buffer.alloc(9), us => us)],
  ['an outcome of no kind', () => readOutcomes(Buffer.alloc(30, 255), us => us)],
  ['an outcome that began at no time', () => readOutcomes(outcomeAt(Number.NaN), us => us)],
  ['a return without a reason', () => readReturned(Buffer.from([...Buffer.alloc(16), 3]))],
  ['more tasks than there are', () => readReturned(Buffer.from([...Buffer.alloc(12), 255, 255, 255, 255]))],
])('%s is refused', (_, read) => {
  expect(read).toThrow(RangeError);
});

it('everything is written before the last word', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  const [[end], pipe] = await Promise.all([once(server, 'connection') as Promise<[Socket]>, connect(address.port)]);
  const key = Buffer.alloc(keyBytes, 7);
  const reports = new HostSender(pipe, key);
  const told: number[] = [];
  const reader = new MessageReader((_, body) => told.push(frameId(body)), key);
  end.on('data', chunk => reader.push(chunk));
  reports.written(1, Buffer.alloc(4 * 2 ** 20));
  reports.written(2, Buffer.alloc(22));
  reports.end(() => {});
  await once(end, 'end');
  expect(told).toEqual([1, 2]);
  server.close();
});
