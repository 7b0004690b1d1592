// JSON Schemas, compiled with ajv; patterns run on an engine with linear time. The only file that knows ajv.
import { Ajv, type ErrorObject, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isMultiple } from './multiple-of.ts';
import type { Json, JsonObject } from './packing.ts';
import { allowSteps, schemaPatterns, TooManySteps } from './pattern.ts';
import { equalItems } from './unique-items.ts';

export type SchemaMismatch = {
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
export type SchemaCheck = (value: unknown) => SchemaMismatch[];
export type CompiledSchema =
  | {
      readonly ok: true;
      /** Stops at the first mismatch, so that a hostile value costs little. */
      readonly check: SchemaCheck;
      /** Tells every mismatch: for small values alone, since its cost grows with what is wrong. */
      readonly checkAll: SchemaCheck;
    }
  | { readonly ok: false; readonly message: string };
/** Whether the schema is right as a schema is not looked at. */
export type SchemaCompiler = (schema: JsonObject) => CompiledSchema;

/** A compiler of its own for each configuration: what it compiled goes when the configuration goes. */
export function makeSchemaCompiler(): SchemaCompiler {
  const first = new Map<boolean, Ajv>();
  const all = new Map<boolean, Ajv>();
  return schema => {
    if ('$async' in schema) return { ok: false, message: '$async is not supported' };
    try {
      const check = validating(engineOf(first, schema, false), schema);
      // One that refers to itself, and not for something inside of the value, would fail of every value.
      check({});
      let thorough: SchemaCheck | null = null;
      const checkAll: SchemaCheck = value => {
        thorough ??= validating(engineOf(all, schema, true), schema);
        return thorough(value);
      };
      return { ok: true, check, checkAll };
    } catch (error) {
      return { ok: false, message: reasonOf(error) };
    }
  };
}

const metaEngines = new Map<boolean, Ajv>();

/** What is wrong with a schema as a schema; null when it is right. */
export function schemaProblem(schema: JsonObject): string | null {
  const options: Options = { strict: false, logger: false, validateFormats: false, code: { optimize: false } };
  const engine = metaEngines.get(isOld(schema)) ?? (isOld(schema) ? new Ajv(options) : new Ajv2020(options));
  metaEngines.set(isOld(schema), engine);
  try {
    if (engine.validateSchema(schema) === true) return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return engine.errorsText((engine.errors ?? []).slice(0, 1), { dataVar: 'schema' });
}

/** Drafts before 2019, in which some words mean something else. */
function isOld({ $schema }: JsonObject): boolean {
  return typeof $schema === 'string' && /draft-0[67]/.test($schema);
}

const common: Options = {
  strict: false,
  verbose: true,
  logger: false,
  ownProperties: true,
  addUsedSchema: false,
  validateSchema: false,
  validateFormats: false,
};

function engineOf(engines: Map<boolean, Ajv>, schema: JsonObject, allErrors: boolean): Ajv {
  const old = isOld(schema);
  const engine = engines.get(old) ?? makeEngine(old, allErrors);
  engines.set(old, engine);
  return engine;
}

function makeEngine(old: boolean, allErrors: boolean): Ajv {
  const options: Options = { ...common, allErrors, code: { regExp: schemaPatterns } };
  const engine = old ? new Ajv(options) : new Ajv2020(options);
  for (const keyword of ['uniqueItems', 'multipleOf']) engine.removeKeyword(keyword);
  return engine
    .addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: areUnique })
    .addKeyword({ keyword: 'multipleOf', type: 'number', schemaType: 'number', validate: isMultipleOf });
}

/** In place of ajv's own, which compares each object with each other: a body of 1 MB could hold a thread for minutes. */
function areUnique(isWanted: boolean, items: readonly Json[]): boolean {
  const equal = isWanted ? equalItems(items) : null;
  if (equal === null) return true;
  const message = `must not have equal items: ${equal[0]} and ${equal[1]} are`;
  areUnique.errors = [{ keyword: 'uniqueItems', message, params: {} }];
  return false;
}
areUnique.errors = [] as Partial<ErrorObject>[];

/** In place of ajv's own, which divides: by that 19.99 is no multiple of 0.01. */
function isMultipleOf(of: number, value: number): boolean {
  if (isMultiple(value, of)) return true;
  isMultipleOf.errors = [{ keyword: 'multipleOf', message: `must be multiple of ${of}`, params: { multipleOf: of } }];
  return false;
}
isMultipleOf.errors = [] as Partial<ErrorObject>[];

const ownId = 'schema:this';

function validating(engine: Ajv, schema: JsonObject): SchemaCheck {
  // Without a name of its own a schema that the engine does not keep could not refer to itself (`$ref: "#"`).
  const validate = engine.compile('$id' in schema ? schema : { $id: ownId, ...schema });
  return value => {
    allowSteps();
    try {
      return validate(value) ? [] : (validate.errors ?? []).map(mismatchOf);
    } catch (error) {
      if (!(error instanceof TooManySteps)) throw error;
      // Wrong also below `not`: what was not looked at is not let in.
      return [{ pointer: '', message: error.message, keyword: 'pattern', params: {}, schema, key: null }];
    }
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return 'it refers to itself without end';
  const message = (error instanceof Error ? error.message : String(error)).replace(` from id ${ownId}`, '');
  if (!message.includes('error parsing regexp')) return message;
  return `${message} (patterns run in linear time, without look-around and back-references)`;
}

function mismatchOf(error: ErrorObject): SchemaMismatch {
  return {
    pointer: error.instancePath,
    message: error.message ?? `breaks ${error.keyword}`,
    keyword: error.keyword,
    params: error.params,
    schema: (error.parentSchema ?? {}) as JsonObject,
    key: error.propertyName ?? null,
  };
}
