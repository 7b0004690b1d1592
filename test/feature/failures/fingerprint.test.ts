// The fingerprint of a failure: what its pattern keeps of the first line of an error, and what it does not.
import { expect, test } from 'vitest';
import {
  differInNumbers,
  errorLine,
  fingerprintOf,
  fingerprintPattern,
  lineBytesMax,
  lineText,
  patternCharactersMax,
  patternOf,
  sampleOf,
} from '../../../actors/index/records/fingerprint.ts';
import { cyclesOf } from '../../support/deep.ts';
import { fc } from '../../support/seed.ts';

test.each([
  // Numbers
  ['timed out after 30000 ms', 'timed out after # ms'],
  ['timed out after 30s', 'timed out after #s'],
  ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED #'],
  ['took 1,000.5 of 2,000', 'took # of #'],
  ['at 12:30:55.123Z', 'at #Z'],
  ['status 503.', 'status #.'],
  ['exit status -1', 'exit status -#'],
  ['file:///srv/app/index.js:12:5', 'file:///srv/app/index.js:#'],
  ['user42 has v1.2.3', 'user# has v#'],
  ['version 1.2beta', 'version #beta'],
  ['ٱ 42 日本語7', 'ٱ # 日本語#'],
  // Ids
  ['no job 0198c0de-0000-7000-8000-0123456789ab here', 'no job # here'],
  ['no job 0198C0DE-AAAA-7BBB-8CCC-DDDDDDDDDDDD', 'no job #'],
  ['commit 9f86d081 is missing', 'commit # is missing'],
  ['bad pointer 0x7ffe0001a0b0', 'bad pointer #'],
  ['charge pi_3MtwBwLkdIwHu7ix28a3tqPa failed', 'charge pi_# failed'],
  ['ulid 01ARZ3NDEKTSV4RRFFQ69G5FAV', 'ulid #'],
  ['key Z5jdHi6B', 'key #'],
  ['a facade of deadbeef', 'a facade of deadbeef'],
  ['ECONNREFUSED and internationalization', 'ECONNREFUSED and internationalization'],
  // Quoted texts
  ["no user 'Ada Lovelace' here", "no user '…' here"],
  ['no user "Ada" in `a\\b`', 'no user "…" in `…`'],
  ['“Ada” ‘and’ «Grace»', '“…” ‘…’ «…»'],
  ["can't read 'it' or ''", "can't read '…' or '…'"],
  ["'it's his', he said", "'…', he said"],
  ['{"code":"E1","id":7}', '{"…":"…","…":#}'],
  ['an open " quote 3', 'an open " quote #'],
  ["the users' list", "the users' list"],
  // Blanks
  ['  a \t\t b\u00a0\u2028c\u0000 ', 'a b c'],
  ['', ''],
  ['   ', ''],
])('%j has the pattern %j', (line, pattern) => {
  expect(patternOf(line)).toBe(pattern);
});

test.each([
  ['\n\n  first line 1\nsecond line', { pattern: 'first line #', sample: 'first line 1' }],
  ['first\r\nsecond', { pattern: 'first', sample: 'first' }],
  [' \n ', { pattern: '', sample: '' }],
  ['é'.repeat(300), { pattern: 'é'.repeat(200), sample: 'é'.repeat(200) }],
  [`${'a'.repeat(199)}😀`, { pattern: 'a'.repeat(199), sample: 'a'.repeat(199) }],
])('the first line of an error counts: %j', (error, text) => {
  const line = lineText(errorLine(Buffer.from(error)));
  expect({ pattern: patternOf(line), sample: sampleOf(line) }).toEqual(text);
});

test('an attempt without an error has an empty pattern', () => {
  expect(patternOf(lineText(errorLine(undefined)))).toBe('');
});

test('plugin, command and pattern make the fingerprint', () => {
  const one = fingerprintOf('mailer', 'send', 'no #');
  expect(one).toMatch(new RegExp(fingerprintPattern));
  expect(fingerprintOf('mailer', 'send', 'no #')).toBe(one);
  const others = [
    fingerprintOf('mailer', 'sendno', ' #'),
    fingerprintOf('m', 'send', 'no #'),
    fingerprintOf('mailer', 'send', 'no'),
  ];
  expect(new Set([one, ...others]).size).toBe(4);
});

const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
const varying = {
  number: fc.oneof(
    fc.nat().map(String),
    fc.ipV4(),
    fc.tuple(fc.nat(), fc.nat(99)).map(([a, b]) => `${a}.${b}`),
  ),
  id: fc.oneof(
    fc.uuid(),
    fc.tuple(fc.nat(9), hex(20), fc.constantFrom('a', 'f')).map(parts => parts.join('')),
    fc.ulid(),
  ),
  quoted: fc.string({ maxLength: 40 }).map(text => `"${text.replaceAll(/["\n]/g, '')}"`),
};
const piece = fc.oneof(
  fc
    .constantFrom('connect', 'failed:', 'ECONNRESET', 'can’t', 'user', '(', '日本', 'a.b', '->')
    .map(text => [text, text] as const),
  ...Object.values(varying).map(values => fc.tuple(values, values)),
);

test('errors that differ only in numbers, ids and quoted texts have one pattern', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
      const [one, other] = [0, 1].map(side => pieces.map(pair => pair[side]).join(' '));
      expect(patternOf(one!)).toBe(patternOf(other!));
    }),
  );
});

test.each([
  ['no answer to request 7 after 30s', 'no answer to request 1234567 after 30s', true],
  ['12 of 100, then 5', '7 of 3, then 99', true],
  ['request 7', 'request 7', true],
  ['é 7 ê', 'é 18 ê', true],
  ['', '', true],
  // Perhaps one pattern, but not certainly.
  ['took 5ms', 'took 7ms', false],
  ['from 10.0.0.1', 'from 10.0.0.2', false],
  ['request\u00a07', 'request\u00a08', false],
  // Other patterns.
  ['request 7', 'request x', false],
  ['é 7', 'ê 7', false],
  ['à7', 'à8', false],
  ['request 7', 'request 7 again', false],
  ['request 7', 'request ', false],
  ['id 12345678-1', 'id 1234-1', false],
  ['1 ', '1. ', false],
  ['1', '1 ', false],
])('%j and %j differ only in numbers: %s', (a, b, differ) => {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  expect(differInNumbers(one, other)).toBe(differ);
  expect(differInNumbers(other, one)).toBe(differ);
});

test('lines that differ only in numbers have one pattern', () => {
  const text = fc.stringMatching(/^[0-9a-fàéê\u00a0 #'"`.,:;-]{0,12}$/u);
  const pieces = fc.oneof(
    text.map(same => [same, same] as const),
    fc.tuple(fc.nat().map(String), fc.nat().map(String)),
    fc.tuple(text, text),
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), fc.constantFrom('', ' '), (parts, between) => {
      const [a, b] = [0, 1].map(which => parts.map(part => part[which]).join(between)) as [string, string];
      if (differInNumbers(Buffer.from(a), Buffer.from(b))) expect(patternOf(b)).toBe(patternOf(a));
    }),
    { numRuns: cyclesOf({ deep: 2_000, quick: 400 }) },
  );
});

test('a pattern is short, on one line, and its own pattern', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 600 }), fc.string({ maxLength: 600 })), line => {
      const pattern = patternOf(line);
      expect(pattern.length).toBeLessThanOrEqual(patternCharactersMax);
      expect(pattern).not.toMatch(/[\n\r\t]| {2}|^ | $/);
      if (pattern.length < patternCharactersMax - 1) expect(patternOf(pattern)).toBe(pattern);
    }),
  );
});

test('a long line takes no longer than its length: a million characters of each kind', () => {
  const startMs = performance.now();
  for (const part of ["'a", '"', '`a ', ' ', "' ", '0', 'a1', '1.', '0-', '01234567-', "«'", '\n', '\ud83d'])
    patternOf(part.repeat(1_000_000 / part.length));
  // A search that is quadratic in the length would take minutes.
  expect(performance.now() - startMs).toBeLessThan(60_000);
});

test(`only the first ${lineBytesMax} bytes of a line are read`, () => {
  const spaces = ' '.repeat(lineBytesMax - 1);
  expect(patternOf(lineText(errorLine(Buffer.from(`a${spaces}b`))))).toBe('a');
  expect(patternOf(lineText(errorLine(Buffer.from(`a${spaces.slice(1)}b`))))).toBe('a b');
});
