// The parts that all OpenAPI documents have in common.
import type { JsonObject } from '../../runtime/packing.ts';
import { problemDetails } from './schemas.ts';

export type OpenapiSchemas = { [name: string]: JsonObject };
export type Paths = { readonly [path: string]: JsonObject };

/**
 * Makes a document. `schemas` are the components to which the paths refer; the schema of refusals is added to them. A document without paths
 * has no schemas.
 */
export function wholeDocument(title: string, version: string, paths: Paths, schemas: OpenapiSchemas): JsonObject {
  return {
    openapi: '3.1.0',
    info: { title, version },
    // A URL relative to the address from which the document was fetched.
    servers: [{ url: '/' }],
    paths,
    components: {
      ...(Object.keys(paths).length === 0 ? {} : { schemas: { ...schemas, Problem: problemDetails } }),
      securitySchemes: { BearerAuth: { type: 'http', scheme: 'bearer' } },
    },
  };
}

export const byToken = [{ BearerAuth: [] }];

export function refusedWith(description: string): JsonObject {
  return { description, content: { 'application/problem+json': { schema: component('Problem') } } };
}

export function answeredWith(
  description: string,
  schema: JsonObject,
  types: readonly string[] = ['application/json'],
): JsonObject {
  return { description, content: Object.fromEntries(types.map(type => [type, { schema }])) };
}

export function component(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}
