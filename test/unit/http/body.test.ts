// Bodies while they arrive: whole at the end, within their own limit and that of all together.
import { expect, test } from 'vitest';
import { BodyRoom, RequestBody } from '../../../http/body.ts';

const bytesMax = 16 * 2 ** 20;
const ignore = () => {};
const piece = (bytes: number) => Buffer.alloc(bytes, 1);

test('pieces come together, up to the limit and not a byte more', () => {
  const body = new RequestBody(10_000, new BodyRoom(bytesMax), ignore);
  expect(body.bytes().length).toBe(0);
  expect([body.append(Buffer.from('ab')), body.append(Buffer.from('c'))]).toEqual(['taken', 'taken']);
  expect(body.bytes().toString()).toBe('abc');
  expect(body.append(piece(9_998))).toBe('too_large');
  expect(body.append(piece(9_997))).toBe('taken');
  expect(body.bytes().length).toBe(10_000);
});

test('together they hold no more than their room: the oldest gives way to a newer one, whichever of them grows', () => {
  const room = new BodyRoom(bytesMax);
  const quarter = bytesMax / 4;
  const gone: number[] = [];
  const bodies = [0, 1, 2, 3, 4].map(n => new RequestBody(bytesMax, room, () => gone.push(n)));
  for (const body of bodies.slice(0, 4)) body.append(piece(quarter));
  expect(gone).toEqual([]);
  bodies[4]!.append(piece(1));
  expect(gone).toEqual([0]);
  bodies[2]!.release();
  bodies[2]!.release();
  bodies[4]!.append(piece(2 * quarter));
  expect(gone).toEqual([0, 1]);
  bodies[3]!.append(piece(quarter));
  expect(gone).toEqual([0, 1, 4]);
  expect(bodies.map(body => body.bytes().length)).toEqual([0, 0, 0, 2 * quarter, 0]);
});

test('one that is alone may be larger than the room', () => {
  const room = new BodyRoom(bytesMax);
  const gone: string[] = [];
  const body = new RequestBody(4 * bytesMax, room, () => gone.push('large'));
  expect(body.append(piece(bytesMax + 1))).toBe('taken');
  new RequestBody(1, room, () => gone.push('small')).append(piece(1));
  expect(gone).toEqual(['large']);
});

test('a part of a room has a limit of its own, and what it holds counts in the whole', () => {
  const whole = new BodyRoom(bytesMax);
  const part = new BodyRoom(bytesMax / 2, whole);
  const gone: string[] = [];
  const begin = (name: string, room: BodyRoom) => new RequestBody(bytesMax, room, () => gone.push(name));
  const single = begin('single', whole);
  const batch = begin('batch', part);
  single.append(piece(bytesMax / 2));
  batch.append(piece(bytesMax / 2));
  expect(gone).toEqual([]);
  const later = begin('later batch', part);
  later.append(piece(1));
  expect(gone).toEqual(['batch']);
  later.release();
  single.release();
  // Released bytes are free in both limits.
  begin('large', whole).append(piece(bytesMax));
  expect(gone).toEqual(['batch']);
});
