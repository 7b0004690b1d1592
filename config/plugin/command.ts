// Reads the commands of a manifest, and checks that their schemas compile.

import { type SchemaCompiler, schemaProblem } from '../../runtime/json-schema.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { withoutIgnoredKeywords } from '../../runtime/schema-keywords.ts';
import { reportDuplicates } from '../check/duplicate.ts';
import type { ReportAt } from '../check/problem.ts';
import type { Command, Manifest } from '../config.ts';
import {
  flagOf,
  itemsOf,
  type NodePath,
  nodeAt,
  numberOf,
  plainValue,
  type SourceNode,
  textOf,
  textsOf,
} from '../source/tree.ts';
import { replacingCommands } from './fact-outputs.ts';
import { expandSchema } from './input-schema.ts';

export function readCommands(
  root: SourceNode,
  dialect: Manifest['dialect'],
  compiler: SchemaCompiler,
  reportAt: ReportAt,
): Command[] {
  reportDuplicates(root, ['commands'], 'name', 'the name of a command', reportAt);
  const replacing = replacingCommands(root, dialect);
  return itemsOf(root, 'commands').map((node, index) => {
    const name = textOf(node, 'name') ?? '';
    const schemaOf = (key: string) => readSchema(root, ['commands', index, key], dialect, compiler, reportAt);
    return {
      name,
      type: textOf(node, 'type') === 'read' ? 'read' : 'write',
      description: textOf(node, 'description') ?? null,
      inputSchema: schemaOf('input_schema'),
      outputSchema: schemaOf('output_schema'),
      idempotent: flagOf(node, 'idempotent') ?? false,
      retrySafe: flagOf(node, 'retry_safe') ?? true,
      ...concurrencyOf(node, dialect),
      ...(replacing.has(name) ? { replacesState: true } : {}),
      consume: textsOf(node, 'values', 'consume'),
      emit: itemsOf(node, 'values', 'emit').map(item => ({
        event: textOf(item, 'event') ?? '',
        values: textsOf(item, 'values'),
      })),
    };
  });
}

/** The command's `concurrency`, unless it is 1. In the ductile dialect this key has no meaning. */
function concurrencyOf(node: SourceNode, dialect: Manifest['dialect']): Pick<Command, 'concurrency'> {
  const concurrency = dialect === 'headgate' ? numberOf(node, 'concurrency') : undefined;
  return concurrency === undefined || concurrency === 1 ? {} : { concurrency };
}

/**
 * Reads a schema as a full JSON Schema. Null if there is no schema, or if the schema cannot be used. An unusable schema is
 * reported, except in the ductile dialect.
 */
export function readSchema(
  root: SourceNode,
  path: NodePath,
  dialect: Manifest['dialect'],
  compiler: SchemaCompiler,
  reportAt: ReportAt,
): JsonObject | null {
  const node = nodeAt(root, ...path);
  if (node?.kind !== 'map') return null;
  const expanded = expandSchema(plainValue(node) as JsonObject, dialect);
  if (!expanded.ok) {
    reportAt([...path, expanded.key], expanded.message);
    return null;
  }
  const schema = withoutIgnoredKeywords(expanded.schema);
  const isInput = path.at(-1) === 'input_schema';
  const wrong = (isInput ? payloadProblem(schema) : null) ?? schemaProblem(schema) ?? compileProblem(compiler, schema);
  if (wrong === null) return schema;
  // In ductile, schemas are only documentation. An unusable schema is ignored, so that plugins for ductile run unchanged.
  if (dialect === 'ductile') return null;
  reportAt(path, `is not a usable JSON Schema: ${wrong}`);
  return null;
}

/** Why no payload can fit the type of the schema. A payload is always an object. Null if payloads can fit. */
function payloadProblem({ type = 'object' }: JsonObject): string | null {
  if (type === 'object' || (Array.isArray(type) && type.includes('object'))) return null;
  return `its type is ${JSON.stringify(type)}; it must be "object", because a payload is an object`;
}

/** Why the schema does not compile, for example because of an unresolved reference; null if it compiles. */
function compileProblem(compiler: SchemaCompiler, schema: JsonObject): string | null {
  const compiled = compiler(schema);
  return compiled.ok ? null : compiled.message;
}
