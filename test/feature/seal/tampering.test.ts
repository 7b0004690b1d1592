// Properties: no changed lock is accepted, and the verified bytes are those that are used, whatever the disk does in between.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { encodeLock, type Lock, openLock } from '../../../config/seal/lock.ts';
import { diskFiles } from '../../../config/source/files.ts';
import { cyclesOf } from '../../support/deep.ts';
import { load, makeSealed, optionsOf } from './sealed.ts';

const key = Buffer.alloc(32, 7);
const hash = fc.stringMatching(/^[0-9a-f]{64}$/);
const file = fc.record({ path: fc.string({ minLength: 1 }), size: fc.nat(), sha256: hash });
const anyLock: fc.Arbitrary<Lock> = fc.record({
  number: fc.integer({ min: 1 }),
  strict: fc.boolean(),
  directory: fc.string(),
  files: fc.array(file, { maxLength: 5 }),
});

const fields = ['number', 'strict', 'directory', 'files'] as const;

test('a lock opens to what was locked, under its key alone', () => {
  fc.assert(
    fc.property(anyLock, lock => {
      expect(openLock(encodeLock(lock, key), key)).toEqual(lock);
      expect(openLock(encodeLock(lock, key), Buffer.alloc(32, 8))).toBeNull();
    }),
  );
});

test('no field of a lock can be another one under the same code', () => {
  fc.assert(
    fc.property(anyLock, anyLock, fc.constantFrom(...fields), (lock, other, field) => {
      const [head] = cut(encodeLock(lock, key));
      const [, body] = cut(encodeLock({ ...lock, [field]: other[field] }, key));
      const isSame = body === cut(encodeLock(lock, key))[1];
      expect(openLock(Buffer.from(head + body), key) === null).toBe(!isSame);
    }),
  );
});

test('no byte of a lock can be changed, added or left out', () => {
  const whole = encodeLock({ number: 3, strict: true, directory: '/x', files: [] }, key);
  const change = fc.tuple(fc.nat(whole.length), fc.nat(whole.length), fc.uint8Array({ maxLength: 4 }));
  fc.assert(
    fc.property(change, ([from, to, bytes]) => {
      const other = Buffer.concat([whole.subarray(0, from), bytes, whole.subarray(Math.max(from, to))]);
      expect(openLock(other, key) === null).toBe(!other.equals(whole));
    }),
    { numRuns: cyclesOf({ deep: 500, quick: 100 }) },
  );
});

test('a load refuses a lock that was changed anywhere, and never throws', () => {
  const sealed = makeSealed(true);
  const whole = readFileSync(sealed.lockFile);
  const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
  fc.assert(
    fc.property(change, ([place, byte]) => {
      const other = Buffer.from(whole);
      other[place] = byte;
      writeFileSync(sealed.lockFile, other);
      expect(load(sealed).ok).toBe(other.equals(whole));
    }),
    { numRuns: cyclesOf({ deep: 50, quick: 20 }) },
  );
});

test.each(['config.yaml', 'api.yaml', 'plugins/echo/manifest.yaml', 'plugins/echo/index.js', '.headgate.lock'])(
  'what was read of %s counts: a swap after it changes nothing, a swap before it is found',
  name => {
    for (const isAfter of [true, false]) {
      const sealed = makeSealed(true);
      const path = join(sealed.directory, name);
      const reads: string[] = [];
      const swap = () => writeFileSync(path, 'api: { max_body_size: 9KB }');
      const swapping =
        <T>(read: (path: string) => T) =>
        (file: string) => {
          reads.push(file);
          if (file === path && !isAfter) swap();
          const found = read(file);
          if (file === path && isAfter) swap();
          return found;
        };
      const disk = { ...diskFiles, read: swapping(diskFiles.read), digest: swapping(diskFiles.digest) };
      const result = loadConfig({ ...optionsOf(sealed), disk });
      expect(result.ok).toBe(isAfter);
      if (result.ok) expect(result.config.api.bodyBytesMax).toBe(1024);
      expect(reads.length).toBe(new Set(reads).size);
    }
  },
);

function cut(bytes: Buffer): [head: string, body: string] {
  const text = bytes.toString();
  const end = text.indexOf('\n') + 1;
  return [text.slice(0, end), text.slice(end)];
}
