// Bodies while they arrive: whole at the end, within their own limit and that of all together.
import { expect, test } from 'vitest';
import { Body, BodyRoom, bodiesBytesMax } from '../../http/body.ts';

const piece = (bytes: number) => Buffer.alloc(bytes, 1);

test('pieces come together, up to the limit and not a byte more', () => {
  const body = new Body(10_000, new BodyRoom());
  expect(body.bytes().length).toBe(0);
  expect([body.append(Buffer.from('ab')), body.append(Buffer.from('c'))]).toEqual(['taken', 'taken']);
  expect(body.bytes().toString()).toBe('abc');
  expect(body.append(piece(9_998))).toBe('too_large');
  expect(body.append(piece(9_997))).toBe('taken');
  expect(body.bytes().length).toBe(10_000);
});

test('together they hold no more than their room, which comes back when they are released', () => {
  const room = new BodyRoom();
  const half = bodiesBytesMax / 2;
  const [first, second, third] = [1, 2, 3].map(() => new Body(bodiesBytesMax, room)) as [Body, Body, Body];
  expect([first.append(piece(half)), second.append(piece(half)), third.append(piece(1))]).toEqual([
    'taken',
    'taken',
    'no_room',
  ]);
  expect(second.append(piece(1))).toBe('no_room');
  third.release();
  second.release();
  second.release();
  expect(third.append(piece(half))).toBe('taken');
});

test('one that is alone may be larger than the room', () => {
  const room = new BodyRoom();
  const body = new Body(4 * bodiesBytesMax, room);
  expect(body.append(piece(bodiesBytesMax + 1))).toBe('taken');
  expect(new Body(1, room).append(piece(1))).toBe('no_room');
});
