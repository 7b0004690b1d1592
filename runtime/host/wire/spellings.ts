// Finds the spellings of a secret that a plugin's output may contain: the secret itself, and its common encodings.

/**
 * If a value has at least this length, its encodings are searched for. The encodings of a shorter value would match too much other text.
 */
const encodedCharsMin = 4;
/** A line of a value is also searched for on its own if it has at least this length. */
const lineCharsMin = 8;
/**
 * If a value is encoded in base64 as part of a longer text, the inner characters of its encoding depend only on the value. These characters
 * are searched for if there are at least this many.
 */
const innerCharsMin = 8;

/** The spellings of a value. Some may occur several times. */
export function spellingsOf(value: string): readonly string[] {
  const lines = value.split(/\r?\n/).filter(line => line !== value && line.length >= lineCharsMin);
  return [value, ...lines].flatMap(text => (text.length < encodedCharsMin ? [text] : [text, ...encodingsOf(text)]));
}

function encodingsOf(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  return [hex, hex.toUpperCase(), ...urlsOf(text, hex), ...base64Of(text), ...jsonOf(text), ...htmlOf(text)];
}

/** The spellings in URLs: those of several encoders, each with its escapes in upper and lower case. */
function urlsOf(text: string, hex: string): string[] {
  const bytes = hex.replaceAll(/../g, '%$&');
  const component = encodeURIComponent(text);
  const urls = new Set([
    component,
    component.replaceAll(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16)}`),
    component.replaceAll('%2F', '/'),
    encodeURI(text),
    new URLSearchParams([['', text]]).toString().slice(1),
  ]);
  const escapes = /(?:%[\da-fA-F]{2})+/g;
  const inBothCases = Array.from(urls).flatMap(url =>
    url.includes('%')
      ? [url, url.replaceAll(escapes, some => some.toLowerCase()), url.replaceAll(escapes, some => some.toUpperCase())]
      : [url],
  );
  return [bytes, bytes.toUpperCase(), ...inBothCases];
}

/** The spellings in base64, in both alphabets: of the value alone, and inside a longer text at each of the three offsets. */
function base64Of(text: string): string[] {
  const whole = Buffer.from(text).toString('base64');
  const inner = [0, 1, 2].map(before => {
    const padded = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    // Leaves out characters at the ends that share bits with neighbouring bytes.
    return padded.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6));
  });
  return [whole, whole.replace(/=+$/, ''), ...inner.filter(part => part.length >= innerCharsMin)].flatMap(part => [
    part,
    part.replaceAll('+', '-').replaceAll('/', '_'),
  ]);
}

/** How different languages write JSON: as in JavaScript, in ASCII only (Python, Java), safe for HTML (Go), with escaped slashes (PHP). */
const jsonWriters: readonly ((text: string) => string)[] = [
  inJson,
  text => unicodeEscaped(inJson(text), /[\u0080-\uffff]/g),
  text => unicodeEscaped(inJson(text), /[<>&\u2028\u2029]/g),
  text => unicodeEscaped(inJson(text).replaceAll('/', '\\/'), /[\u0080-\uffff]/g),
];

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function unicodeEscaped(text: string, which: RegExp): string {
  return text.replaceAll(which, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The spellings in a JSON string, and in a JSON string within another JSON string, if they differ from the text. */
function jsonOf(text: string): string[] {
  return jsonWriters.flatMap(write => {
    const once = write(text);
    return once === text ? [] : [once, write(once)];
  });
}

/** How HTML writes double and single quotes: literally, by name, or by number. */
const htmlQuotes = [
  ['"', "'"],
  ['&quot;', "'"],
  ['&quot;', '&#39;'],
  ['&quot;', '&#x27;'],
  ['&quot;', '&#039;'],
  ['&quot;', '&apos;'],
  ['&#34;', '&#39;'],
] as const;

/** The spellings in HTML, and in HTML within a JSON string, if they differ from those of `jsonOf`. */
function htmlOf(text: string): string[] {
  const marked = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  if (!/["']/.test(text)) return marked === text ? [] : [marked, inJson(marked)];
  return htmlQuotes.flatMap(([double, single]) => {
    const html = marked.replaceAll('"', double).replaceAll("'", single);
    return [html, inJson(html)];
  });
}
