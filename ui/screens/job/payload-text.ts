// A payload that a user edits as JSON text.

export type EditedPayload =
  | { readonly ok: true; readonly value: { readonly [name: string]: unknown } }
  | { readonly ok: false; readonly problem: string };

/** Reads the text of a payload, which must be a JSON object. */
export function readPayload(text: string): EditedPayload {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, problem: `This is not JSON: ${(error as SyntaxError).message}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { ok: false, problem: 'A payload is a JSON object, such as {"name": "Ada"}.' };
  const large = roundedInteger(text);
  if (large !== null)
    return { ok: false, problem: `The integer ${large} would be rounded. Send it as a string: "${large}".` };
  return { ok: true, value: value as { readonly [name: string]: unknown } };
}

/** The first integer of the JSON text that a number of JavaScript cannot hold exactly; null: there is none. */
export function roundedInteger(text: string): string | null {
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g))
    if (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token))) return token;
  return null;
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
