// Checks payloads against a command's input schema.
import { makeSchemaCompiler, type SchemaCheck } from '../json-schema.ts';
import type { Json, JsonObject } from '../packing.ts';
import { describe } from './response.ts';

/** Says what is wrong with a payload, naming the path; null when it fits. */
export type PayloadCheck = (payload: Json) => string | null;

/** The checks of one configuration, each compiled when it is first needed. */
export class PayloadChecks {
  readonly #compiler = makeSchemaCompiler();
  readonly #compiled = new Map<JsonObject, PayloadCheck>();

  check(schema: JsonObject | null | undefined, payload: Json): string | null {
    if (!schema) return null;
    let check = this.#compiled.get(schema);
    if (check === undefined) {
      const compiled = this.#compiler(schema);
      const reason = compiled.ok ? null : `the input schema is wrong: ${compiled.message}`;
      check = compiled.ok ? value => mismatch(compiled.check, value) : () => reason;
      this.#compiled.set(schema, check);
    }
    return check(payload);
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
