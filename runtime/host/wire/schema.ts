// Checks payloads against the input schemas of commands. The schema compiler is loaded only when there is a schema, because many plugins
// have none.
import type { SchemaCheck, SchemaCompiler } from '../../json-schema.ts';
import type { Json, JsonObject } from '../../packing.ts';
import { describe } from './response.ts';

/** Describes a mismatch of the payload, with its place; null if the payload fits the schema. */
export type PayloadCheck = (payload: Json) => string | null;

/** Makes and caches the checks of input schemas. Each schema is compiled when it is first needed. */
export class PayloadChecks {
  readonly #compiled = new WeakMap<JsonObject, PayloadCheck>();
  #compile: SchemaCompiler | null = null;

  async of(schema: JsonObject): Promise<PayloadCheck> {
    const known = this.#compiled.get(schema);
    if (known !== undefined) return known;
    this.#compile ??= (await import('../../json-schema.ts')).makeSchemaCompiler();
    const compiled = this.#compile(schema);
    const reason = compiled.ok ? null : `the input schema is wrong: ${compiled.message}`;
    const check: PayloadCheck = compiled.ok ? value => mismatch(compiled.check, value) : () => reason;
    this.#compiled.set(schema, check);
    return check;
  }
}

function mismatch(check: SchemaCheck, payload: Json): string | null {
  try {
    const [first] = check(payload);
    if (!first) return null;
    const extra = first.params['additionalProperty'];
    const named = typeof extra === 'string' ? ` ("${extra}")` : '';
    return `payload${first.pointer.replaceAll('/', '.')} ${first.message}${named}`;
  } catch (error) {
    return `payload cannot be checked: ${describe(error)}`;
  }
}
