// Checks payloads against a command's input schema; patterns run on an engine with linear time.
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import type { Json, JsonObject } from '../packing.ts';
import { describe } from './response.ts';

/** Says what is wrong with a payload, naming the path; null when it fits. */
export type PayloadCheck = (payload: Json) => string | null;

// ajv keeps patterns by their text: the prefix keeps these apart from those of another engine.
const linearEngine = Object.assign(
  (pattern: string, flags: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return { test: (text: string) => compiled.test(text), toString: () => `re2:${flags}:${pattern}` };
  },
  { code: 're2' },
);

const options = {
  strict: false,
  logger: false,
  ownProperties: true,
  addUsedSchema: false,
  validateFormats: false,
  code: { regExp: linearEngine },
} as const;

export function compilePayloadCheck(schema: JsonObject): PayloadCheck {
  const isOld = typeof schema['$schema'] === 'string' && /draft-0[67]/.test(schema['$schema']);
  try {
    const validate = (isOld ? new Ajv(options) : new Ajv2020(options)).compile(schema);
    return payload => {
      try {
        if (validate(payload)) return null;
      } catch (error) {
        return `payload cannot be checked: ${describe(error)}`;
      }
      const [first] = validate.errors!;
      const params = first!.params as { additionalProperty?: string };
      const extra = params.additionalProperty === undefined ? '' : ` ("${params.additionalProperty}")`;
      return `payload${first!.instancePath.replaceAll('/', '.')} ${first!.message}${extra}`;
    };
  } catch (error) {
    const reason = `the input schema is wrong: ${describe(error)}`;
    return () => reason;
  }
}

/** The checks of one configuration, each compiled when it is first needed. */
export class PayloadChecks {
  readonly #compiled = new Map<JsonObject, PayloadCheck>();

  check(schema: JsonObject | null | undefined, payload: Json): string | null {
    if (!schema) return null;
    let check = this.#compiled.get(schema);
    if (check === undefined) {
      check = compilePayloadCheck(schema);
      this.#compiled.set(schema, check);
    }
    return check(payload);
  }
}
