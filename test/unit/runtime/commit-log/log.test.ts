// The commit log on a disk that may keep any part of the last write: what was durable is read again, and damage is distinguished from a torn end.
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, test } from 'vitest';
import { crc32c } from '../../../../runtime/commit-log/checksum.ts';
import { assertNewest, LogDamaged, readLog } from '../../../../runtime/commit-log/log-reader.ts';
import { type LogPosition, LogWriter } from '../../../../runtime/commit-log/log-writer.ts';
import { roomOf, sectorBytes } from '../../../../runtime/commit-log/part.ts';
import { firstSegmentBytes, listSegments, segmentPath } from '../../../../runtime/commit-log/segments.ts';
import { decodeTurn, encodedBytes, encodeTurn } from '../../../../runtime/commit-log/turn-codec.ts';
import { WriteBatch } from '../../../../runtime/store/batch.ts';
import { cyclesOf } from '../../../support/deep.ts';
import { fc } from '../../../support/seed.ts';

const scratch = mkdtempSync(join(tmpdir(), 'headgate-log-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let places = 0;

const epoch = 3;
const start = { segment: 1, offset: 0, lsn: 0, epoch, number: 1 };

function newDirectory(): string {
  return mkdtempSync(join(scratch, `${places++}-`));
}

function openWriter(directory: string, segmentBytesMax = firstSegmentBytes): LogWriter {
  return new LogWriter({ directory, segment: 1, segmentBytesMax, epoch, last: 0, unused: [] });
}

function batchOf(value: Uint8Array, key = 'key'): WriteBatch<string> {
  const batch = new WriteBatch<string>();
  batch.put('names', Buffer.from(key), value);
  return batch;
}

/** A turn whose encoded batch has this length. */
function turnOf(bytes: number, fill: number): WriteBatch<string> {
  const least = encodedBytes(batchOf(new Uint8Array(0)));
  return batchOf(Buffer.alloc(bytes - least, fill));
}

function valuesIn(directory: string, from = start, until?: number): string[] {
  const turns = readLog(listSegments(directory), from, until);
  return Array.from(turns, ({ bytes }) => Buffer.from(decodeTurn(bytes).values[0]!).toString('latin1').slice(0, 3));
}

/** The position after each turn. */
function write(directory: string, turns: readonly WriteBatch<string>[]): LogPosition[] {
  const log = openWriter(directory);
  const after = turns.map(turn => {
    log.append(turn, 1, 1);
    return log.position;
  });
  log.close();
  return after;
}

test.each([
  ['', 0],
  ['123456789', 0xe3069283],
  ['a', 0xc1d04330],
  ['The quick brown fox jumps over the lazy dog', 0x22620404],
])('the checksum of %j is the CRC-32C that others compute', (text, sum) => {
  expect(crc32c(Buffer.from(text))).toBe(sum);
  const shifted = Buffer.alloc(text.length + 1);
  shifted.write(text, 1);
  expect(crc32c(shifted.subarray(1))).toBe(sum);
});

const write1 = fc.record({
  table: fc.constantFrom('names', 'jobs', 'x'),
  key: fc.uint8Array({ minLength: 1, maxLength: 30 }),
  value: fc.option(fc.uint8Array({ maxLength: 60 }), { nil: undefined }),
});

it('reads the writes of a turn as they were made', () => {
  fc.assert(
    fc.property(fc.array(write1, { minLength: 1, maxLength: 30 }), writes => {
      const batch = new WriteBatch<string>();
      for (const { table, key, value } of writes) {
        if (value) batch.put(table, key, value);
        else batch.remove(table, key);
      }
      const bytes = Buffer.alloc(encodedBytes(batch));
      encodeTurn(batch, bytes, 0);
      const plain = ({ tables, keys, values }: WriteBatch<string>) => ({
        tables,
        keys: keys.map(key => Buffer.from(key)),
        values: values.map(value => value && Buffer.from(value)),
      });
      expect(plain(decodeTurn(bytes))).toEqual(plain(batch));
      for (let cut = 1; cut < 4; cut++) expect(() => decodeTurn(bytes.subarray(0, -cut))).toThrow(RangeError);
    }),
    { numRuns: cyclesOf({ deep: 300, quick: 50 }) },
  );
});

describe('a torn end', () => {
  const sizes = [1, 440, 448, 449, 1_500, 5_000];

  test.each(sizes)('of a turn of %i bytes is cut off at each sector; the turns before it stay', size => {
    const least = encodedBytes(batchOf(new Uint8Array(0)));
    const directory = newDirectory();
    const log = openWriter(directory);
    log.append(batchOf(Buffer.from('one')), 1, 1);
    log.append(batchOf(Buffer.from('two')), 1, 1);
    const { offset } = log.position;
    const path = segmentPath(directory, 1);
    const before = readFileSync(path);
    log.append(turnOf(Math.max(size, least + 3), 0x33), 1, 1);
    const { offset: end } = log.position;
    log.close();
    const after = readFileSync(path);
    for (let kept = offset; kept <= end; kept += sectorBytes) {
      writeFileSync(path, Buffer.concat([after.subarray(0, kept), before.subarray(kept)]));
      expect(valuesIn(directory)).toEqual(kept === end ? ['one', 'two', '333'] : ['one', 'two']);
    }
    for (let kept = end - sectorBytes; kept > offset; kept -= sectorBytes) {
      writeFileSync(path, Buffer.concat([before.subarray(0, kept), after.subarray(kept)]));
      expect(valuesIn(directory)).toEqual(['one', 'two']);
    }
  });

  it('may lie in the next segment: its later parts are no damage', () => {
    const directory = newDirectory();
    const log = openWriter(directory);
    log.append(batchOf(Buffer.from('one')), 1, 1);
    const path = segmentPath(directory, 1);
    const before = readFileSync(path);
    log.append(turnOf(3 * 2 ** 20, 0x32), 1, 1);
    expect(log.position.segment).toBeGreaterThan(2);
    log.close();
    expect(valuesIn(directory)).toEqual(['one', '222']);
    writeFileSync(path, before);
    expect(valuesIn(directory)).toEqual(['one']);
  });

  it('is overwritten by the next turn in its place, and no mixture of both is read', () => {
    const bytes = fc.integer({ min: 40, max: 9_000 });
    const sectors = fc.array(fc.boolean(), { minLength: 24, maxLength: 24 });
    fc.assert(
      fc.property(bytes, bytes, sectors, sectors, (torn, next, keptFirst, keptNext) => {
        const [directory, other] = [newDirectory(), newDirectory()];
        const [{ offset }] = write(directory, [batchOf(Buffer.from('one')), turnOf(torn, 0x32)]) as [LogPosition];
        write(other, [batchOf(Buffer.from('one')), turnOf(next, 0x33)]);
        const path = segmentPath(directory, 1);
        const image = Buffer.alloc(firstSegmentBytes);
        const keep = (from: Buffer, kept: readonly boolean[]): void => {
          from.copy(image, 0, 0, offset);
          for (const [n, isKept] of kept.entries()) {
            const at = offset + n * sectorBytes;
            if (isKept) from.copy(image, at, at, at + sectorBytes);
          }
        };
        keep(readFileSync(path), keptFirst);
        const isWhole = (kept: readonly boolean[], size: number) =>
          kept.slice(0, roomOf(size) / sectorBytes).every(Boolean);
        writeFileSync(path, image);
        expect(valuesIn(directory)).toEqual(isWhole(keptFirst, torn) ? ['one', '222'] : ['one']);
        keep(readFileSync(segmentPath(other, 1)), keptNext);
        writeFileSync(path, image);
        const found = valuesIn(directory);
        if (isWhole(keptNext, next)) expect(found).toEqual(['one', '333']);
        else expect([['one'], ['one', '222']]).toContainEqual(found);
      }),
      { numRuns: cyclesOf({ deep: 200, quick: 30 }) },
    );
  });
});

describe('damage', () => {
  const directory = newDirectory();
  const positions = write(
    directory,
    ['one', 'two', 'thr'].map(text => batchOf(Buffer.from(text.repeat(400)))),
  );
  const whole = readFileSync(segmentPath(directory, 1));

  function flipped(bit: number): string {
    const copy = newDirectory();
    for (const name of readdirSync(directory)) copyFileSync(join(directory, name), join(copy, name));
    const bytes = Buffer.from(whole);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    writeFileSync(segmentPath(copy, 1), bytes);
    return copy;
  }

  it('before the last turn is refused with its position, whichever bit it changed, and the way out is named', () => {
    const [, second] = positions;
    const from = positions[0]!.offset;
    // The bits of the turn's header and of the turn itself; padding up to the next sector does not count.
    const bits = (64 + encodedBytes(batchOf(Buffer.from('two'.repeat(400))))) * 8;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: bits - 1 }), bit => {
        const copy = flipped(from * 8 + bit);
        const message = `damaged at byte ${from} of ${segmentPath(copy, 1)}: turn 2 cannot be read, but turn 3 after it can; restore a backup, or give up everything after turn 1 with "headgate state repair --until 1"`;
        expect(() => valuesIn(copy)).toThrow(message);
        expect(() => valuesIn(copy)).toThrow(LogDamaged);
        expect(valuesIn(copy, start, 1)).toEqual(['one']);
        rmSync(copy, { recursive: true });
      }),
      { numRuns: cyclesOf({ deep: 400, quick: 40 }) },
    );
    expect(second!.offset).toBeGreaterThan(from);
  });

  it('of the last turn cannot be told from a torn end', () => {
    const copy = flipped((positions[1]!.offset + 100) * 8);
    expect(valuesIn(copy)).toEqual(['one', 'two']);
  });

  it('of a segment in the midst is found by the turns of the next one', () => {
    const long = newDirectory();
    write(long, [turnOf(1_200_000, 0x31), turnOf(1_200_000, 0x32), turnOf(500_000, 0x33)]);
    expect(valuesIn(long)).toEqual(['111', '222', '333']);
    rmSync(segmentPath(long, 2));
    expect(() => valuesIn(long)).toThrow('turn 1 cannot be read, but turn 2 after it can');
  });

  it('is a missing first segment, and a checkpoint that is not the newest one', () => {
    expect(() => valuesIn(directory, { ...start, segment: 7 })).toThrow('segment 7 of the commit log, with which the');
    const segments = listSegments(directory);
    expect(() => assertNewest(segments, { ...start, number: 0 })).toThrow('the file of the checkpoint is an old copy');
    assertNewest(segments, start);
  });

  it('is a turn of another holder that wrote at the same time', () => {
    expect(valuesIn(directory, { ...start, epoch: epoch + 1 })).toEqual([]);
    expect(() => valuesIn(directory, { ...start, epoch: epoch - 1 })).toThrow(LogDamaged);
  });
});

it('uses segments again, and takes nothing of what they had for turns', () => {
  const directory = newDirectory();
  const log = openWriter(directory);
  let from = { ...start };
  const seen: string[] = [];
  for (let n = 1; n <= 40; n++) {
    log.append(turnOf(200_000, 0x30 + (n % 10)), 1, 1);
    seen.push(String(n % 10).repeat(3));
    if (n % 8 !== 0) continue;
    expect(valuesIn(directory, from)).toEqual(seen.splice(0));
    from = { ...start, ...log.position, lsn: log.last };
    log.releaseBefore(log.position);
    expect(listSegments(directory).length).toBeLessThanOrEqual(2);
    expect(valuesIn(directory, from)).toEqual([]);
  }
  log.close();
  expect(listSegments(directory).at(-1)!.number).toBeGreaterThan(5);
});

it('takes a file that a crash has left with two names for one segment, and removes what it had not finished', () => {
  const directory = newDirectory();
  write(directory, [batchOf(Buffer.from('one'))]);
  linkSync(segmentPath(directory, 1), segmentPath(directory, 9));
  writeFileSync(join(directory, 'unfinished-10'), 'half');
  const unused = listSegments(directory);
  const log = new LogWriter({ directory, segment: 10, segmentBytesMax: firstSegmentBytes, epoch, last: 1, unused });
  for (let n = 0; n < 30; n++) log.append(turnOf(100_000, 0x30 + (n % 10)), 1, 1);
  log.close();
  const inodes = listSegments(directory).map(({ path }) => statSync(path).ino);
  expect(new Set(inodes).size).toBe(inodes.length);
  expect(valuesIn(directory, { ...start, segment: 10, lsn: 1 })).toHaveLength(30);
  expect(existsSync(join(directory, 'unfinished-10'))).toBe(false);
});

it('grows its segments from 1 MiB to their maximum', () => {
  const directory = newDirectory();
  const log = openWriter(directory, 4 * 2 ** 20);
  for (let n = 0; n < 40; n++) log.append(turnOf(300_000, 0x31), 1, 1);
  log.close();
  expect(listSegments(directory).map(({ bytes }) => bytes / 2 ** 20)).toEqual([1, 2, 4, 4, 4].slice(0, 5));
  expect(valuesIn(directory)).toHaveLength(40);
});
