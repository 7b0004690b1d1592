// JSON Schemas, compiled with ajv; patterns run on an engine with linear time. The only file that knows ajv.
import { Ajv, type ErrorObject, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject } from './packing.ts';
import { schemaPatterns } from './pattern.ts';

export type Mismatch = {
  /** JSON Pointer of the value that is wrong. */
  readonly pointer: string;
  readonly message: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
  /** The schema that holds the keyword. */
  readonly schema: JsonObject;
  /** The key that is wrong, where it is not the value. */
  readonly key: string | null;
};

/** What is wrong with a value: nothing when it fits. */
export type SchemaCheck = (value: unknown) => Mismatch[];
export type CompiledSchema =
  | { readonly ok: true; readonly check: SchemaCheck }
  | { readonly ok: false; readonly message: string };
/** `every`: all mismatches, for trusted values; `first`: stops at the first, so that a hostile value costs little. */
export type SchemaCompiler = (schema: JsonObject, mismatches: 'every' | 'first') => CompiledSchema;

/** A compiler of its own for each configuration: what it compiled goes when the configuration goes. */
export function makeSchemaCompiler(): SchemaCompiler {
  const engines = new Map<string, Ajv>();
  return (schema, mismatches) => {
    const isOld = typeof schema['$schema'] === 'string' && /draft-0[67]/.test(schema['$schema']);
    const wrong = metaProblem(isOld, schema);
    if (wrong !== null) return { ok: false, message: wrong };
    const key = `${isOld}:${mismatches}`;
    const engine = engines.get(key) ?? makeEngine(isOld, mismatches === 'every');
    engines.set(key, engine);
    return compile(engine, schema);
  };
}

const metaEngines = new Map<boolean, Ajv>();

/** What is wrong with a schema as a schema. */
function metaProblem(isOld: boolean, schema: JsonObject): string | null {
  const options: Options = { strict: false, logger: false, validateFormats: false };
  const engine = metaEngines.get(isOld) ?? (isOld ? new Ajv(options) : new Ajv2020(options));
  metaEngines.set(isOld, engine);
  try {
    if (engine.validateSchema(schema) === true) return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return engine.errorsText((engine.errors ?? []).slice(0, 1), { dataVar: 'schema' });
}

function makeEngine(isOld: boolean, allErrors: boolean): Ajv {
  const options: Options = {
    allErrors,
    strict: false,
    verbose: true,
    logger: false,
    ownProperties: true,
    addUsedSchema: false,
    // Done before, by engines that are made once.
    validateSchema: false,
    validateFormats: false,
    code: { regExp: schemaPatterns },
  };
  return isOld ? new Ajv(options) : new Ajv2020(options);
}

const ownId = 'schema:this';

function compile(engine: Ajv, schema: JsonObject): CompiledSchema {
  if ('$async' in schema) return { ok: false, message: '$async is not supported' };
  try {
    // Without a name of its own a schema that the engine does not keep could not refer to itself (`$ref: "#"`).
    const validate = engine.compile('$id' in schema ? schema : { $id: ownId, ...schema });
    return { ok: true, check: value => (validate(value) ? [] : (validate.errors ?? []).map(mismatchOf)) };
  } catch (error) {
    const message = (error instanceof Error ? error.message : String(error)).replace(` from id ${ownId}`, '');
    if (!message.includes('error parsing regexp')) return { ok: false, message };
    const note = 'patterns run in linear time, without look-around and back-references';
    return { ok: false, message: `${message} (${note})` };
  }
}

function mismatchOf(error: ErrorObject): Mismatch {
  return {
    pointer: error.instancePath,
    message: error.message ?? `breaks ${error.keyword}`,
    keyword: error.keyword,
    params: error.params,
    schema: (error.parentSchema ?? {}) as JsonObject,
    key: error.propertyName ?? null,
  };
}
