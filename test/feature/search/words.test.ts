// Texts of a log and their words: the fast implementation finds the same as a naive one. A search splits each text once.
import { expect, it, onTestFinished, test, vi } from 'vitest';
import { textsOf } from '../../../actors/index/records/texts.ts';
import { matchesTexts, parseQuery, type SearchTerm, wordsOf } from '../../../actors/index/records/words.ts';
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import { type Json, pack } from '../../../runtime/packing.ts';
import { fc } from '../../support/seed.ts';

const long = 'x'.repeat(64);
const linearUsMax = 10_000_000;

const words: readonly (readonly [text: string, words: readonly string[]])[] = [
  ['', []],
  ['n', ['n']],
  ['0', ['0']],
  ['az09', ['az09']],
  ['Az', ['az']],
  ['a`', ['a']],
  ['a{', ['a']],
  ['/0', ['0']],
  ['9:', ['9']],
  ['@', []],
  ['a b', ['a', 'b']],
  ['-5', ['5']],
  ['1.5', ['1', '5']],
  ['1e+21', ['1e', '21']],
  [long, [long]],
  [`${long}x`, [long]],
  [`a${long}`, [`a${'x'.repeat(63)}`]],
  ['é', ['e']],
  ['Straße', ['strasse']],
  ['二人', ['二', '人']],
  ['½', ['1', '2']],
];

it.each(words)('the words of %j are %j', (text, expected) => {
  expect(wordsOf(text)).toEqual(expected);
});

test('a long run of combining marks takes no longer than its length', () => {
  // Sorting 500,000 marks takes minutes.
  expect(wordsOf(`a${'\u0301\u0323'.repeat(250_000)}b ${'\uff9e\uff9f'.repeat(1_000)}c`)).toEqual(['ab', 'c']);
});

test('a phrase is found where its words are adjacent, whatever its length', () => {
  const word = fc.constantFrom('a', 'b', 'ab', 'é');
  const term = fc.record({ word: fc.constantFrom('a', 'b', 'ab', 'e'), isPrefix: fc.boolean() });
  const matches = (term: SearchTerm, word: string) => (term.isPrefix ? word.startsWith(term.word) : word === term.word);
  fc.assert(
    fc.property(fc.array(word, { maxLength: 60 }), fc.array(term, { minLength: 1, maxLength: 12 }), (text, phrase) => {
      const folded = text.map(word => (word === 'é' ? 'e' : word));
      const isIn = folded.some((_, at) => phrase.every((term, i) => matches(term, folded[at + i] ?? '')));
      // A text with a character outside of ASCII is searched in another way.
      for (const beginning of ['', '→ ']) expect(matchesTexts([phrase], [beginning + text.join(' ')])).toBe(isIn);
    }),
    { examples: [[Array(60).fill('ab'), Array(12).fill({ word: 'a', isPrefix: true })]], numRuns: 2_000 },
  );
});

test.each([
  ['a ', 'a '],
  ['ab ', 'a* '],
  ['é ', 'e '],
])('a text that repeats %j is searched for a long phrase of %j in linear time', (word, term) => {
  const text = `x ${word.repeat(700_000)}c b`;
  const before = process.cpuUsage();
  expect(matchesTexts(parseQuery(`"${term.repeat(300)}c x"`), [text])).toBe(false);
  expect(matchesTexts(parseQuery(`"${term.repeat(300)}c b"`), [text])).toBe(true);
  // Comparing the phrase at each word takes more time of the processor; how long the process waits for a processor does not count.
  expect(process.cpuUsage(before).user).toBeLessThan(linearUsMax);
});

test('a repeated phrase of a query counts once', () => {
  expect(parseQuery('refused Réfused "refused" refus* "refused refus*" refused-refus*')).toEqual([
    [{ word: 'refused', isPrefix: false }],
    [{ word: 'refus', isPrefix: true }],
    [
      { word: 'refused', isPrefix: false },
      { word: 'refus', isPrefix: true },
    ],
  ]);
});

test('a text is split into words at most once, however many phrases are searched in it', () => {
  const names = Array.from({ length: 60 }, (_, i) => `n${i}`);
  const text = `→ ${names.join(' ')}`;
  const match = vi.spyOn(String.prototype, 'match');
  onTestFinished(() => match.mockRestore());
  expect(matchesTexts(parseQuery(names.join(' ')), [text])).toBe(true);
  expect(matchesTexts(parseQuery('n0 n1 n99'), [text])).toBe(false);
  expect(match.mock.contexts.map(String)).toEqual([text, text]);
});

const numbers: readonly (readonly [number, string])[] = [
  [0, '0'],
  [127, '127'],
  [128, '128'],
  [255, '255'],
  [256, '256'],
  [65_535, '65535'],
  [65_536, '65536'],
  [2 ** 31, '2147483648'],
  [2 ** 32 - 1, '4294967295'],
  [2 ** 32, '4294967296'],
  [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  [-1, '-1'],
  [-32, '-32'],
  [-33, '-33'],
  [-129, '-129'],
  [-32_769, '-32769'],
  [-(2 ** 31) - 1, '-2147483649'],
  [-0, '0'],
  [0.5, '0.5'],
  [1e21, '1e+21'],
  [5e-324, '5e-324'],
];

it.each(numbers)('the number %d is found as %s', (number, text) => {
  expect(textsOf(encodeBody({ result: pack({ n: number }) }))).toEqual(['n', text]);
});

/** The texts of a log, by the documented rules. */
function naiveTexts(value: Json): string[] {
  if (value === null) return [];
  if (typeof value !== 'object') return [String(value)];
  if (Array.isArray(value)) return value.flatMap(naiveTexts);
  return Object.entries(value).flatMap(([name, each]) => [name, ...naiveTexts(each)]);
}

test('every text of a response is one of the log, whatever it is nested in', () => {
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }) as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(value, value, fc.string({ unit: 'grapheme' }), (result, events, error) => {
      const body = encodeBody({ result: pack(result), events: pack(events), error: Buffer.from(error) });
      expect(textsOf(body)).toEqual([error, ...naiveTexts(result), ...naiveTexts(events)]);
    }),
  );
  // Lengths at which the packed form of a text, a list or a map changes.
  for (const length of [31, 32, 255, 256, 65_536]) {
    const list = Array.from({ length }, (_, n) => n);
    const map = Object.fromEntries(list.map(n => [`k${n}`, 'v']));
    const texts = ['t'.repeat(length), ...naiveTexts(list), ...naiveTexts(map)];
    expect(textsOf(encodeBody({ logs: pack(['t'.repeat(length), list, map]) }))).toEqual(texts);
  }
});
