// Cuts values out of JSON texts and inserts values into them without changing how they are written, so integers of any size keep their digits.

/** The source text of a member of a JSON object, as it was sent; undefined if the object lacks it. `text` must be valid JSON. */
export function rawMember(text: string, name: string): string | undefined {
  let at = skipSpace(text, 0);
  if (text[at] !== '{') return undefined;
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] !== '}') {
    const keyEnd = valueEnd(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    if (key === name) return text.slice(start, end);
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return undefined;
}

/** The source texts of the elements of a JSON list, as they were sent. `text` must be valid JSON. */
export function rawElements(text: string): string[] {
  const found: string[] = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (at < text.length && text[at] !== ']') {
    const end = valueEnd(text, at);
    found.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return found;
}

/** The JSON text of an object with one more member, whose value stays as it is written. */
export function withMember(object: object, name: string, value: string): string {
  const rest = JSON.stringify(object).slice(1, -1);
  return `{${JSON.stringify(name)}:${value}${rest === '' ? '' : `,${rest}`}}`;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 32) at++;
  return at;
}

/** The end of the JSON value that begins at `from`. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  let at = from;
  for (; at < text.length; at++) {
    const sign = text[at]!;
    if (sign === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
      if (depth === 0) return at + 1;
    } else if (sign === '{' || sign === '[') depth++;
    else if (sign === '}' || sign === ']') {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (sign === ',' || sign === ':' || sign.charCodeAt(0) <= 32)) return at;
  }
  return at;
}

/** JSON text with two spaces of indentation. Strings and numbers keep their characters. */
export function indented(json: string): string {
  let depth = 0;
  let text = '';
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g)) {
    if (token === '{' || token === '[') {
      depth++;
      text += token + line(depth);
    } else if (token === '}' || token === ']') {
      depth--;
      // An empty object or list stays on one line.
      text = /[{[]\s*$/.test(text) ? text.trimEnd() + token : text + line(depth) + token;
    } else if (token === ',') text += token + line(depth);
    else if (token === ':') text += ': ';
    else text += token;
  }
  return text;
}

function line(depth: number): string {
  return `\n${'  '.repeat(depth)}`;
}
