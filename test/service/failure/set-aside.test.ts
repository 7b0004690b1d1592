// Records that cannot be used are skipped and listed, until a new record is written in their place.
import { expect, it } from 'vitest';
import { SetAside } from '../../../runtime/store/set-aside.ts';

const key = Buffer.of(1, 2);
const listed = [{ table: 'retries', key: '0102', error: 'cut' }];

function cut(): never {
  throw new Error('cut');
}

it('passes over what cannot be decoded, tells of it once, and takes the record that was written in its place', () => {
  const told: unknown[] = [];
  const setAside = new SetAside(record => told.push(record));
  for (let time = 0; time < 2; time++) expect(setAside.read('retries', key, cut)).toBe(undefined);
  expect([setAside.size, setAside.listed, told]).toEqual([1, listed, listed]);
  expect(setAside.read('runs', key, () => 'other')).toBe('other');
  expect(setAside.size).toBe(1);
  expect(setAside.read('retries', key, () => 'new')).toBe('new');
  expect([setAside.size, setAside.listed]).toEqual([0, []]);
});

it('passes over what was to blame for a failure, though it can be decoded', () => {
  const setAside = new SetAside();
  setAside.add('runs', key, new Error('its arrivals do not add up'));
  expect(setAside.read('runs', key, () => 'run')).toBe(undefined);
  expect(setAside.size).toBe(1);
});
