// Compiles JSON Schemas with ajv. Their patterns are matched in linear time (pattern.ts). The only file that imports ajv.
import { _, Ajv, type CodeKeywordDefinition, type ErrorObject, Name, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isMultiple } from './multiple-of.ts';
import type { Json, JsonObject } from './packing.ts';
import { allowSteps, schemaPatterns, TooManySteps } from './pattern.ts';
import { isPlainSchema } from './plain-schema.ts';
import { limitReferences, referenceStepsMax, takeReference, thoroughStepsMax } from './reference-steps.ts';
import { isOldDraft } from './schema-keywords.ts';
import { equalItems } from './unique-items.ts';

export type SchemaMismatch = {
  /** The JSON Pointer of the wrong value. */
  readonly pointer: string;
  readonly message: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
  /** The schema or inner schema that contains the keyword. */
  readonly schema: JsonObject;
  /**
   * The key that a schema in `propertyNames` rejects. Null in every other mismatch, including the mismatch of the keyword `propertyNames`
   * itself.
   */
  readonly key: string | null;
};

/** Returns the mismatches of a value; an empty list if the value is valid. */
export type SchemaCheck = (value: unknown) => SchemaMismatch[];
export type CompiledSchema =
  | {
      readonly ok: true;
      /** Stops at the first mismatch, which limits the cost of a hostile value. */
      readonly check: SchemaCheck;
      /**
       * Reports every mismatch; null if finding all would take too many steps. For small values only, because the cost grows with the number
       * of mismatches.
       */
      readonly checkAll: (value: unknown) => SchemaMismatch[] | null;
    }
  | { readonly ok: false; readonly message: string };
/** Compiles a schema without checking that the schema itself is valid. */
export type SchemaCompiler = (schema: JsonObject) => CompiledSchema;

/** Makes a compiler. The compiler keeps every compiled schema in memory, so each reading of the configuration makes a new compiler. */
export function makeSchemaCompiler(): SchemaCompiler {
  const first = new Map<boolean, Ajv>();
  const all = new Map<boolean, Ajv>();
  return schema => {
    if ('$async' in schema) return { ok: false, message: '$async is not supported' };
    try {
      const find = validating(engineOf(first, schema, false), schema, referenceStepsMax);
      // If the schema applies itself to the same value without end, the stack overflows here, as it would for every value.
      find({});
      const check: SchemaCheck = value => orElse(find, value, error => [refusalOf(error, schema)]);
      let findAll: SchemaCheck | null = null;
      const checkAll = (value: unknown) => {
        findAll ??= validating(engineOf(all, schema, true), schema, thoroughStepsMax);
        return orElse(findAll, value, () => null);
      };
      return { ok: true, check, checkAll };
    } catch (error) {
      return { ok: false, message: reasonOf(error) };
    }
  };
}

const metaEngines = new Map<boolean, Ajv>();
const oldDraft = 'http://json-schema.org/draft-07/schema#';
const newDraft = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/** The first problem of the schema itself; null if the schema is valid. */
export function schemaProblem(schema: JsonObject): string | null {
  return isPlainSchema(schema) ? null : metaschemaProblem(schema);
}

/** The first problem of the schema according to the metaschema of its draft; null if the schema is valid. */
export function metaschemaProblem(schema: JsonObject): string | null {
  const options: Options = { strict: false, logger: false, validateFormats: false, code: { optimize: false } };
  const old = isOldDraft(schema);
  const { $schema } = schema;
  if (typeof $schema === 'string' && !old && !newDraft.test($schema))
    return `$schema must name draft 6, 7 or 2020-12, not ${JSON.stringify($schema)}`;
  const engine = metaEngines.get(old) ?? (old ? new Ajv(options) : new Ajv2020(options));
  metaEngines.set(old, engine);
  try {
    // The metaschema of draft 7 has the rules of draft 6, and rules for the keywords that draft 7 added.
    if (engine.validateSchema(old ? { ...schema, $schema: oldDraft } : schema) === true) return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return engine.errorsText((engine.errors ?? []).slice(0, 1), { dataVar: 'schema' });
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
  const old = isOldDraft(schema);
  const engine = engines.get(old) ?? makeEngine(old, allErrors);
  engines.set(old, engine);
  return engine;
}

function makeEngine(old: boolean, allErrors: boolean): Ajv {
  const options: Options = { ...common, allErrors, code: { regExp: schemaPatterns } };
  const engine = old ? new Ajv(options) : new Ajv2020(options);
  for (const keyword of ['uniqueItems', 'multipleOf']) engine.removeKeyword(keyword);
  for (const keyword of ['$ref', '$dynamicRef']) countUses(engine.getKeyword(keyword));
  return engine
    .addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: areUnique })
    .addKeyword({ keyword: 'multipleOf', type: 'number', schemaType: 'number', validate: isMultipleOf });
}

/** Makes schemas that are compiled with this definition of a keyword call `takeReference` before each use of the keyword. */
function countUses(definition: ReturnType<Ajv['getKeyword']>): void {
  // Draft 7 has no $dynamicRef.
  if (typeof definition === 'boolean') return;
  const keyword = definition as CodeKeywordDefinition;
  const { code } = keyword;
  keyword.code = (context, type) => {
    const take = context.gen.scopeValue('func', { ref: takeReference });
    context.gen.code(_`${take}(${context.data}, ${new Name('errors')})`);
    code(context, type);
  };
}

/** Replaces ajv's own check of `uniqueItems`, which compares every pair of objects and could block the thread for a long time. */
function areUnique(isWanted: boolean, items: readonly Json[]): boolean {
  const equal = isWanted ? equalItems(items) : null;
  if (equal === null) return true;
  const message = `must not have equal items: ${equal[0]} and ${equal[1]} are`;
  areUnique.errors = [{ keyword: 'uniqueItems', message, params: {} }];
  return false;
}
areUnique.errors = [] as Partial<ErrorObject>[];

/** Replaces ajv's own check of `multipleOf`, which divides two doubles and finds that 19.99 is not a multiple of 0.01. */
function isMultipleOf(of: number, value: number): boolean {
  if (isMultiple(value, of)) return true;
  isMultipleOf.errors = [{ keyword: 'multipleOf', message: `must be multiple of ${of}`, params: { multipleOf: of } }];
  return false;
}
isMultipleOf.errors = [] as Partial<ErrorObject>[];

const ownId = 'schema:this';
const tooDeep = { keyword: '$ref', message: 'cannot be checked, because its schema refers to itself without end' };

/** Makes a check that throws TooManySteps, or a RangeError if the stack overflows. */
function validating(engine: Ajv, schema: JsonObject, stepsMax: number): SchemaCheck {
  // With an id, the schema can refer to itself (`$ref: "#"`) although the engine does not register it (`addUsedSchema: false`).
  const validate = engine.compile('$id' in schema ? schema : { $id: ownId, ...schema });
  return value => {
    allowSteps();
    const isValid = limitReferences(value, stepsMax, () => validate(value));
    return isValid ? [] : (validate.errors ?? []).map(mismatchOf);
  };
}

/** Checks the value; if the check cannot be completed, returns what `otherwise` returns. */
function orElse<T>(
  check: SchemaCheck,
  value: unknown,
  otherwise: (error: Error) => SchemaMismatch[] | T,
): SchemaMismatch[] | T {
  try {
    return check(value);
  } catch (error) {
    if (error instanceof TooManySteps || error instanceof RangeError) return otherwise(error);
    throw error;
  }
}

/** The mismatch of a value that was not checked completely. It is rejected, even if what took too long is below `not`. */
function refusalOf(error: Error, schema: JsonObject): SchemaMismatch {
  const { keyword, message } = error instanceof TooManySteps ? error : tooDeep;
  return { pointer: '', message, keyword, params: {}, schema, key: null };
}

function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return 'its references are circular';
  if (error instanceof TooManySteps) return 'its references take too many steps to check even an empty object';
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
