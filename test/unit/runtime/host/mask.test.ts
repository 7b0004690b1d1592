// Masking: no value gets through, in whatever way it is written, and nothing else is touched. By properties.

import { expect, test } from 'vitest';
import { LearnedMask, Mask } from '../../../../runtime/host/wire/mask.ts';
import { OutputTail, tailBytesMax } from '../../../../runtime/host/wire/output-tail.ts';
import { spellingsOf } from '../../../../runtime/host/wire/spellings.ts';
import { pack } from '../../../../runtime/packing.ts';
import { fc } from '../../../support/seed.ts';

/** Values, and texts around them that share no character with any value. No mark contains a value. */
const value = fc.string({ unit: fc.constantFrom(...'abcxyz019/+=% "é\n<&\'\\'), minLength: 8, maxLength: 40 });
const around = fc.string({ unit: fc.constantFrom(...'ĐĦŁŊŦ'), maxLength: 6 });

const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const ascii = (text: string): string => json(text).replaceAll('é', '\\u00e9');
/** JSON as Go writes it. */
const webSafe = (text: string): string => json(text).replaceAll('<', '\\u003c').replaceAll('&', '\\u0026');
/** JSON as PHP writes it. */
const slashed = (text: string): string => ascii(text.replaceAll('/', '\0')).replaceAll('\\u0000', '\\/');

function html(text: string, double: string, single: string): string {
  const marked = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return marked.replaceAll('"', double).replaceAll("'", single);
}

const encodings: { readonly [name: string]: (value: string) => string } = {
  plain: text => text,
  base64: text => Buffer.from(text).toString('base64'),
  base64url: text => Buffer.from(text).toString('base64url'),
  hex: text => Buffer.from(text).toString('hex'),
  HEX: text => Buffer.from(text).toString('hex').toUpperCase(),
  url: encodeURIComponent,
  'url in small letters': text => encodeURIComponent(text).replaceAll(/%../g, one => one.toLowerCase()),
  form: text => new URLSearchParams([['', text]]).toString().slice(1),
  json,
  'json in json': text => json(json(text)),
  'ASCII json': ascii,
  'ASCII json in json': text => ascii(ascii(text)),
  'json fit for HTML': webSafe,
  'json fit for HTML in json': text => webSafe(webSafe(text)),
  'json with escaped slashes': slashed,
  'json with escaped slashes in json': text => slashed(slashed(text)),
  'html text': text => html(text, '"', "'"),
  html: text => html(text, '&quot;', '&#39;'),
  'html with hex references': text => html(text, '&quot;', '&#x27;'),
  'html as PHP writes it': text => html(text, '&quot;', '&#039;'),
  'html by names': text => html(text, '&quot;', '&apos;'),
  'html by numbers': text => html(text, '&#34;', '&#39;'),
  'html in json': text => json(html(text, '&quot;', '&#39;')),
};

test('a value with quotes that a plugin encodes twice is masked', () => {
  const given = JSON.stringify(JSON.stringify({ v: 'a "b"', k: 'line one\nline "two"' }));
  const mask = new Mask([
    ['v', 'a "b"'],
    ['k', 'line one\nline "two"'],
  ]);
  expect(mask.text(given)).toBe(JSON.stringify(JSON.stringify({ v: '[SECRET:v]', k: '[SECRET:k]' })));
  expect(mask.text('<p>a &quot;b&quot;</p>')).toBe('<p>[SECRET:v]</p>');
});

test('what holds no secret is not copied, and of what does only the way to it', () => {
  const mask = new Mask([['v', 'the secret value']]);
  const clean = { a: [1, 'x', null, { b: true }], ['__proto__']: 2 };
  expect(mask.value(clean)).toBe(clean);
  const said = { before: clean, list: [clean, 'the secret value', 3], 'the secret value': 'x', after: clean };
  const masked = mask.value(said) as typeof said;
  expect(masked).toEqual({ before: clean, list: [clean, '[SECRET:v]', 3], '[SECRET:v]': 'x', after: clean });
  expect(Object.keys(masked)).toEqual(['before', 'list', '[SECRET:v]', 'after']);
  expect([masked.before, masked.list[0], masked.after]).toEqual([clean, clean, clean]);
  expect(said.list[1]).toBe('the secret value');
});

test.each(Object.entries(encodings))('a value is masked as %s', (_, encode) => {
  fc.assert(
    fc.property(value, around, around, (secret, before, after) => {
      const mask = new Mask([['s', secret]]);
      expect(mask.text(before + encode(secret) + after)).toBe(`${before}[SECRET:s]${after}`);
    }),
  );
});

test('of several secrets none gets through, whatever overlaps', () => {
  const secrets = fc.uniqueArray(value, { minLength: 1, maxLength: 4 });
  const how = fc.constantFrom(...Object.values(encodings));
  fc.assert(
    fc.property(secrets, fc.array(fc.tuple(fc.nat(3), fc.nat(12), how), { maxLength: 6 }), (values, pieces) => {
      const mask = new Mask(values.map((secret, i) => [String.fromCharCode(65 + i), secret]));
      // Each piece is the end of a value and then the whole value, so that parts of values run into each other.
      const text = pieces.map(([i, from, encode]) => {
        const secret = values[i % values.length]!;
        return encode(secret).slice(from) + encode(secret);
      });
      const masked = mask.text(text.join(''));
      for (const secret of values)
        for (const encode of Object.values(encodings)) expect(masked).not.toContain(encode(secret));
    }),
  );
});

/** Searches for one spelling after the other: the places where a text or a stream has them, those of one spelling merged. */
function placesOf(
  spellings: readonly (string | Buffer)[],
  said: string | Buffer,
): (readonly [at: number, end: number])[] {
  return spellings.flatMap(spelling => {
    const places: [at: number, end: number][] = [];
    for (let at = said.indexOf(spelling as string); at >= 0; at = said.indexOf(spelling as string, at + 1)) {
      const last = places.at(-1);
      if (last !== undefined && at < last[1]) last[1] = at + spelling.length;
      else places.push([at, at + spelling.length]);
    }
    return places;
  });
}

function maskedOneByOne(secrets: readonly (readonly [name: string, value: string])[], text: string): string {
  const names = new Map<string, string>();
  for (const [name, given] of secrets) for (const one of spellingsOf(given)) if (!names.has(one)) names.set(one, name);
  const spellings = Array.from(names.keys()).sort((a, b) => b.length - a.length);
  const hits = spellings.flatMap(one => placesOf([one], text).map(place => ({ place, name: names.get(one)! })));
  hits.sort((a, b) => a.place[0] - b.place[0] || b.place[1] - a.place[1]);
  let masked = '';
  let last = { end: 0, name: '' };
  for (const { place, name } of hits) {
    const [at, end] = place;
    if (end <= last.end) continue;
    masked += text.slice(last.end, Math.max(at, last.end));
    if (at >= last.end || name !== last.name) masked += `[SECRET:${name}]`;
    last = { end, name };
  }
  return masked + text.slice(last.end);
}

function cutOneByOne(spellings: readonly Buffer[], bytes: Buffer): number {
  const opens = (at: number) =>
    spellings.some(one => one.length > bytes.length - at && bytes.compare(one, 0, bytes.length - at, at) === 0);
  let cut = 0;
  while (cut < bytes.length && !opens(cut)) cut++;
  const places = placesOf(spellings, bytes);
  for (let crossing: readonly [number, number] | undefined = [cut, cut]; crossing !== undefined; ) {
    cut = crossing[0];
    crossing = places.find(([at, end]) => at < cut && cut < end);
  }
  return cut;
}

test('searching for all spellings together finds what searching for each finds', () => {
  const line = fc.string({ unit: fc.constantFrom(...'aab "é/'), minLength: 1, maxLength: 12 });
  const lines = fc.array(line, { minLength: 1, maxLength: 4 }).map(list => list.join('\n'));
  const piece = fc.tuple(fc.nat(), fc.nat(20), fc.nat(40));
  const secretsOf = (values: readonly string[]) => values.map((given, i) => [`s${i}`, given] as const);
  fc.assert(
    fc.property(
      fc.array(lines, { minLength: 1, maxLength: 4 }),
      fc.array(piece, { maxLength: 8 }),
      (values, pieces) => {
        const spellings = values.flatMap(spellingsOf);
        const text = pieces.map(([i, from, to]) => spellings[i % spellings.length]!.slice(from, from + to)).join('');
        const mask = new Mask(secretsOf(values));
        expect(mask.text(text)).toBe(maskedOneByOne(secretsOf(values), text));
        const bytes = Buffer.from(text);
        const wanted = cutOneByOne(
          spellings.map(one => Buffer.from(one)),
          bytes,
        );
        expect(mask.cutOf(bytes)).toBe(wanted);
      },
    ),
    { numRuns: 500 },
  );
});

test('masks are cached for the next processes with the same secrets, up to a size', () => {
  const made = Array.from({ length: 64 }, (_, i) => Mask.of([['a', `the-value-${i}-of-a`]]));
  for (const [i, mask] of made.entries()) expect(Mask.of([['a', `the-value-${i}-of-a`]])).toBe(mask);
  expect(Mask.of([['a', 'the-value-of-b']]).text('the-value-0-of-a the-value-of-b')).toBe(
    'the-value-0-of-a [SECRET:a]',
  );
  expect(Mask.of([['a', 'the-value-0-of-a']])).not.toBe(made[0]);
  const large = Mask.of([['large', 'x'.repeat(2 * 1024 * 1024)]]);
  expect(Mask.of([['large', 'x'.repeat(2 * 1024 * 1024)]])).toBe(large);
  expect(Mask.of([['a', 'the-value-63-of-a']])).not.toBe(made[63]);
});

test('a text without a value stays as it is', () => {
  const texts = fc.string({ unit: fc.constantFrom(...'ĐĦŁ abc') });
  fc.assert(
    fc.property(texts, text => {
      expect(new Mask([['s', 'a-value']]).text(text)).toBe(text);
    }),
  );
});

test('the longest comes first', () => {
  const mask = new Mask(Object.entries({ short: 'secret', long: 'secret-and-more' }));
  expect(mask.text('secret-and-more secret')).toBe('[SECRET:long] [SECRET:short]');
});

test('what overlaps is covered', () => {
  const mask = new Mask(Object.entries({ a: 'abcdef', b: 'defghi' }));
  expect(mask.text('.abcdefghi.')).toBe('.[SECRET:a][SECRET:b].');
});

test('keys are masked, and a number that is a secret', () => {
  const mask = new Mask(Object.entries({ pin: '483920', key: 'the-key' }));
  const given = { 'the-key': [483920, 4839201, null, true], deep: [{ x: 'is the-key' }] };
  const masked = { '[SECRET:key]': ['[SECRET:pin]', 4839201, null, true], deep: [{ x: 'is [SECRET:key]' }] };
  expect(mask.value(given)).toEqual(masked);
});

test('a value in the midst of a longer base64 text is masked but for its edges', () => {
  const secret = 'a-password-of-some-length';
  for (const user of ['u', 'us', 'use']) {
    const header = Buffer.from(`${user}:${secret}!`).toString('base64');
    const masked = new Mask([['s', secret]]).text(header);
    expect(masked).toContain('[SECRET:s]');
    expect(masked.replace('[SECRET:s]', '').length).toBeLessThan(14);
  }
});

test('each line of a value of several lines is masked', () => {
  const mask = new LearnedMask();
  mask.learn(pack({ key: 'first-line-of-it\nsecond-line-of-it\n' }));
  expect(mask.text('> second-line-of-it')).toBe('> [SECRET:key]');
});

test('of very many values those of the last frame are known, whether it was seen before or not', () => {
  const frames = Array.from({ length: 6 }, (_, frame) =>
    pack(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`key-${i}`, `value-${frame}-${i}`]))),
  );
  const mask = new LearnedMask();
  for (const frame of [...frames, frames[0]!]) mask.learn(frame);
  expect(mask.text('value-0-0 value-0-199')).toBe('[SECRET:key-0] [SECRET:key-199]');
  mask.learn(pack(Object.fromEntries(Array.from({ length: 1100 }, (_, i) => [`own-${i}`, `mine-${i}-`]))));
  expect(mask.text('mine-0-')).toBe('[SECRET:own-0]');
});

test('in a stream that is cut nothing of a value is left, wherever the cut falls', () => {
  const secret = '0123456789abcdef';
  const mask = new Mask([['s', secret]]);
  for (let shift = 0; shift <= secret.length; shift++) {
    const tail = new OutputTail(mask);
    const text = `${secret}${'.'.repeat(3 * tailBytesMax)}${secret}${'.'.repeat(tailBytesMax - shift)}`;
    for (let at = 0; at < text.length; at += 4093) tail.push(Buffer.from(text.slice(at, at + 4093)));
    const [note, ...kept] = tail.text().split('\n');
    expect(note).toMatch(/^\[\d+ bytes were cut\]$/);
    expect(kept.join('').replaceAll('.', '')).not.toMatch(/[0-9a-f]/);
  }
});

test('of a stream that is taken piece by piece nothing of a value is told, wherever it is cut', () => {
  const pieces = fc.array(fc.tuple(fc.constantFrom(...Object.values(encodings)), around), {
    minLength: 1,
    maxLength: 3,
  });
  const cuts = fc.array(fc.nat(400), { maxLength: 6 });
  fc.assert(
    fc.property(value, pieces, cuts, (secret, said, places) => {
      const mask = new Mask([['s', secret]]);
      const text = said.map(([encode, after]) => encode(secret) + after).join('');
      const bytes = Buffer.from(text);
      const tail = new OutputTail(mask);
      let told = '';
      let from = 0;
      for (const to of [...places.filter(at => at < bytes.length).sort((a, b) => a - b), bytes.length]) {
        tail.push(bytes.subarray(from, to));
        told += tail.take();
        from = to;
      }
      // Cutting may split a character outside ASCII, and a value that is cut may be marked twice, so both are left out.
      const plain = (masked: string) => masked.replaceAll('[SECRET:s]', '').replaceAll(/[^ -~]/g, '');
      expect(plain(told + tail.text())).toBe(plain(mask.text(text)));
    }),
  );
});

test('what is not taken of a stream is only what may become a value', () => {
  const tail = new OutputTail(new Mask([['s', 'abcabcx']]));
  const take = (text: string) => {
    tail.push(Buffer.from(text));
    return tail.take();
  };
  expect(['is abcab', 'd, abc', 'abca', 'bcx abcabcx', '\n'].map(take)).toEqual([
    'is ',
    'abcabd, ',
    'abc',
    '[SECRET:s] [SECRET:s]',
    '\n',
  ]);
});
