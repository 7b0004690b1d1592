// Records that stay decoded from one reading of their table to the next.
import { expect, test } from 'vitest';
import { WriteBatch } from '../../../runtime/store/batch.ts';
import { KeptRecords } from '../../../runtime/store/kept-records.ts';
import { openMemoryIndex } from '../../support/memory-store.ts';

type Written = { readonly key: string; readonly value: string };

function openTable(max: number) {
  const store = openMemoryIndex();
  const records = new KeptRecords('totals', max, (key, value): Written | null =>
    value.length === 0 ? null : { key: String(key), value: String(value) },
  );
  return {
    read: () => records.read(store),
    /** An undefined value removes the record. */
    write(values: { readonly [key: string]: string | undefined }) {
      const batch = new WriteBatch<'totals'>();
      for (const [key, value] of Object.entries(values)) {
        if (value === undefined) batch.remove('totals', Buffer.from(key));
        else batch.put('totals', Buffer.from(key), Buffer.from(value));
      }
      store.commit(batch);
    },
  };
}

test('a record stays the same object until its bytes change', () => {
  const { read, write } = openTable(10);
  write({ a: '1', b: '2' });
  const [a, b] = read();
  write({ b: '3' });
  const again = read();
  expect(again).toEqual([
    { key: 'a', value: '1' },
    { key: 'b', value: '3' },
  ]);
  expect(again[0]).toBe(a);
  expect(again[1]).not.toBe(b);
});

test('records that come and go are noticed, also if their number stays the same', () => {
  const { read, write } = openTable(10);
  write({ a: '1', b: '2' });
  read();
  write({ c: '3' });
  expect(read().map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  write({ a: undefined, d: '4' });
  expect(read().map(({ key }) => key)).toEqual(['b', 'c', 'd']);
});

test('a record that cannot be used is left out until it can', () => {
  const { read, write } = openTable(10);
  write({ a: '', b: '2' });
  expect(read().map(({ key }) => key)).toEqual(['b']);
  write({ a: '1', b: '' });
  expect(read().map(({ key }) => key)).toEqual(['a']);
});

test('a table with too many records is read, but not kept', () => {
  const { read, write } = openTable(1);
  write({ a: '1', b: '2' });
  const before = read();
  expect(read()).toEqual(before);
  expect(read()[0]).not.toBe(before[0]);
});
