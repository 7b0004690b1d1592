// The fields of a payload, made of its JSON Schema. The payload is put together as text, so that numbers keep their digits.

export type PayloadSchema = { readonly [keyword: string]: unknown };

export type PayloadField = {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'integer' | 'truth' | 'choice' | 'json';
  readonly isRequired: boolean;
  readonly description: string | null;
  /** The values of a `truth` (a boolean) or a `choice`, as JSON; empty for other kinds. */
  readonly choices: readonly string[];
  /** For text that may have several lines. */
  readonly isLong: boolean;
};

/** What is in the fields: text by the name of the field. A field that is absent is left out of the payload. */
export type PayloadValues = Readonly<Record<string, string>>;

/** The payload while it is edited: as fields, or as text. */
export type PayloadDraft =
  | { readonly as: 'fields'; readonly fields: readonly PayloadField[]; readonly values: PayloadValues }
  | { readonly as: 'text'; readonly text: string };

export type Assembled =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly errors: Readonly<Record<string, string>> };

/** The fields of a schema; null if a form cannot be made of it. */
export function fieldsOf(schema: PayloadSchema | undefined): readonly PayloadField[] | null {
  const properties = schema?.['properties'];
  if (typeof properties !== 'object' || properties === null) return null;
  const required = Array.isArray(schema?.['required']) ? (schema['required'] as unknown[]) : [];
  return Object.entries(properties as Record<string, unknown>).map(([name, of]) =>
    fieldOf(name, (typeof of === 'object' && of !== null ? of : {}) as PayloadSchema, required.includes(name)),
  );
}

function fieldOf(name: string, of: PayloadSchema, isRequired: boolean): PayloadField {
  const { type, description, maxLength } = of;
  const common = { name, isRequired, description: typeof description === 'string' ? description : null };
  const choices = choicesOf(of);
  if (choices !== null) return { ...common, kind: type === 'boolean' ? 'truth' : 'choice', choices, isLong: false };
  const isLong = type === 'string' && typeof maxLength === 'number' && maxLength > longCharacters;
  const kind = type === 'string' ? 'text' : type === 'number' || type === 'integer' ? type : 'json';
  return { ...common, kind, choices: [], isLong };
}

function choicesOf(of: PayloadSchema): readonly string[] | null {
  if (Array.isArray(of['enum'])) return of['enum'].map(value => JSON.stringify(value));
  if ('const' in of) return [JSON.stringify(of['const'])];
  return of['type'] === 'boolean' ? ['true', 'false'] : null;
}

/** A text that may be longer than this gets several lines. */
const longCharacters = 200;
const numberForm = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Puts the payload together, or says what is wrong with which field. The rest is checked by the service. */
export function assemble(fields: readonly PayloadField[], values: PayloadValues): Assembled {
  const errors: Record<string, string> = {};
  const members: string[] = [];
  for (const field of fields) {
    const { name, isRequired } = field;
    const text = values[name];
    if (text === undefined || (text === '' && field.kind !== 'text')) {
      if (isRequired) errors[name] = 'is required';
      continue;
    }
    const wrong = wrongIn(field, text);
    if (wrong !== null) errors[name] = wrong;
    else members.push(`  ${JSON.stringify(name)}: ${field.kind === 'text' ? JSON.stringify(text) : text.trim()}`);
  }
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return { ok: true, text: members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n}` };
}

function wrongIn({ kind }: PayloadField, text: string): string | null {
  if (kind === 'text' || kind === 'choice' || kind === 'truth') return null;
  if (kind !== 'json' && !numberForm.test(text.trim())) return 'must be a number, such as 12 or 0.5';
  return jsonProblem(text);
}

/** What is wrong with a JSON text; null: nothing. */
export function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text);
  } catch (error) {
    return `is not JSON: ${(error as Error).message}`;
  }
  const large = bigInteger(text);
  return large === null
    ? null
    : `has the integer ${large}, which is beyond ±9007199254740991: send it as a string, "${large}"`;
}

/** What is wrong with the JSON text of a payload; null: nothing. */
export function payloadProblem(text: string): string | null {
  return jsonProblem(text) ?? (/^\s*\{/.test(text) ? null : 'is no object, such as {"name": "Ada"}');
}

/** The first integer of the JSON text beyond ±(2^53 − 1), which the API refuses; null: there is none. */
export function bigInteger(text: string): string | null {
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g))
    if (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token))) return token;
  return null;
}

/**
 * The fields and values of a payload that was edited as text; null if the text is not a JSON object. Members that the schema does not name
 * become fields for JSON. `member` cuts out the source text of a member.
 */
export function fieldsOfText(
  fields: readonly PayloadField[],
  text: string,
  member: (text: string, name: string) => string | undefined,
): { readonly fields: readonly PayloadField[]; readonly values: PayloadValues } | null {
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return null;
  const known = new Set(fields.map(({ name }) => name));
  const others = Object.keys(payload).filter(name => !known.has(name));
  const all = [
    ...fields.map(field => fitting(field, (payload as Record<string, unknown>)[field.name])),
    ...others.map(jsonField),
  ];
  const values: Record<string, string> = {};
  for (const { name, kind } of all) {
    const value = (payload as Record<string, unknown>)[name];
    if (value === undefined) continue;
    if (kind === 'text') values[name] = String(value);
    // The text must equal that of one of the choices (`choicesOf`).
    else if (kind === 'choice' || kind === 'truth') values[name] = JSON.stringify(value);
    else values[name] = member(text, name) ?? JSON.stringify(value);
  }
  return { fields: all, values };
}

/** A value that does not fit its field is edited as JSON, and a text of several lines in a text area. */
function fitting(field: PayloadField, value: unknown): PayloadField {
  if (value === undefined) return field;
  const fits =
    field.kind === 'json' ||
    (field.kind === 'text' && typeof value === 'string') ||
    ((field.kind === 'choice' || field.kind === 'truth') && field.choices.includes(JSON.stringify(value))) ||
    ((field.kind === 'number' || field.kind === 'integer') && typeof value === 'number');
  if (!fits) return { ...field, kind: 'json' };
  // An input has one line, and a text area changes \r.
  if (field.kind !== 'text' || !/[\r\n]/.test(String(value))) return field;
  return String(value).includes('\r') ? { ...field, kind: 'json' } : { ...field, isLong: true };
}

function jsonField(name: string): PayloadField {
  return {
    name,
    kind: 'json',
    isRequired: false,
    description: 'The schema does not name this member.',
    choices: [],
    isLong: false,
  };
}

/**
 * The messages of the service's errors, by the fields to which they belong. `detail`: a text such as `/payload/name must be …`, which is
 * used if `errors` is empty.
 */
export function errorsByField(
  errors: readonly { readonly pointer: string; readonly message: string }[],
  detail: string,
): Readonly<Record<string, string>> {
  const single = /^(\/\S*) (.+)$/s.exec(detail);
  const all = errors.length > 0 ? errors : single === null ? [] : [{ pointer: single[1]!, message: single[2]! }];
  const found: Record<string, string> = {};
  for (const { pointer, message } of all) {
    const [, , name, ...rest] = pointer.split('/').map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    if (name === undefined) continue;
    const inside = rest.length === 0 ? '' : `${rest.join('.')} `;
    found[name] = found[name] === undefined ? inside + message : `${found[name]}; ${inside}${message}`;
  }
  return found;
}
