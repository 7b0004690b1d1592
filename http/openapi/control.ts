// Makes the OpenAPI document of the API from the declarations of its routes. The routes for single calls of plugins and pipelines are left out.
import type { JsonObject } from '../../runtime/packing.ts';
import { scopesText } from '../auth.ts';
import { type ProblemCode, problems } from '../problem.ts';
import type { Route, RouteAccess } from '../route.ts';
import { answeredWith, byToken, refusedWith, wholeDocument } from './parts.ts';
import { problemsOf } from './route-problems.ts';

/** The routes that other OpenAPI documents describe, with one operation for each command or pipeline. */
const elsewhere = ['POST /plugin/{plugin}/{command}', 'POST /pipeline/{pipeline}'];

export function controlDocument(title: string, version: string, routes: readonly Route[]): JsonObject {
  const paths: { [path: string]: JsonObject } = {};
  for (const route of routes) {
    if (elsewhere.includes(`${route.method} ${route.path}`)) continue;
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  }
  return wholeDocument(title, version, paths, {});
}

function operation(route: Route): JsonObject {
  const { method, path, section, summary, access, notes, body } = route;
  const parameters = [...pathParameters(path), ...queryParameters(route)];
  const lines = route.batch && {
    'application/x-ndjson': { schema: { type: 'string', description: 'One payload a line.' } },
  };
  const content = { 'application/json': { schema: body }, ...lines };
  return {
    operationId: operationIdOf(method, path),
    summary,
    description: [needs(access), ...(notes === undefined ? [] : [notes.trim()])].join(' '),
    tags: [section],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== null && { requestBody: { required: isBodyNeeded(route), content } }),
    responses: { ...answersOf(route), ...refusalsOf(route) },
    security: access.kind === 'open' ? [] : byToken,
  };
}

/** Whether the service refuses a call without a body. */
function isBodyNeeded({ access, body }: Route): boolean {
  return access.kind === 'vault' || (body as JsonObject)['required'] !== undefined;
}

/** Makes an operation id, such as `get_job_by_job_id_tree` for `GET /job/{job_id}/tree`. */
function operationIdOf(method: string, path: string): string {
  const words = path.replaceAll('{', 'by_').match(/\w+/g) ?? ['root'];
  return [method.toLowerCase(), ...words].join('_');
}

function needs(access: RouteAccess): string {
  switch (access.kind) {
    case 'open':
      return 'Open.';
    case 'vault':
      return 'Needs the admin token of the vault.';
    case 'scopes':
      return `Needs ${scopesText(access.anyOf)}.`;
    default:
      return 'Needs any valid token.';
  }
}

function pathParameters(path: string): JsonObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    const schema = name === 'job_id' ? { type: 'string', format: 'uuid' } : { type: 'string' };
    return { name: name!, in: 'path', required: true, schema };
  });
}

function queryParameters({ query }: Route): JsonObject[] {
  return Object.entries(query).map(([name, { schema, rule }]) => {
    return { name, in: 'query', required: false, description: rule, schema: schema as JsonObject };
  });
}

function answersOf({ answers }: Route): JsonObject {
  const entries = Object.entries(answers).map(([status, { description, schema, types }]) => {
    return [status, schema === null ? { description } : answeredWith(description, schema, types)] as const;
  });
  return Object.fromEntries(entries);
}

/** The documented refusals of a route, by status. Each description lists the codes of its status. */
function refusalsOf(route: Route): JsonObject {
  // `invalid_query` is always possible, because every route of the API refuses unknown query parameters.
  const codes = new Set<ProblemCode>([...problemsOf(route), 'invalid_query']);
  if (route.access.kind !== 'open') codes.add('unauthorized');
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of codes) byStatus.set(problems[code].status, [...(byStatus.get(problems[code].status) ?? []), code]);
  const entries = [...byStatus].map(([status, found]) => [status, refusedWith(`${found.sort().join(', ')}.`)] as const);
  return Object.fromEntries(entries);
}
