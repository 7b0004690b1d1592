// The codes with which a route can refuse: codes that follow from its access, method and body, and codes that it declares.
import { type ProblemCode, problems } from '../problem.ts';
import type { Route } from '../route.ts';

/** The codes that any request may get. docs/reference.md lists them once, and not with each route. */
export const everywhere: readonly ProblemCode[] = [
  'malformed_request',
  'invalid_path',
  'invalid_query',
  'unauthorized',
  'unknown_route',
  'method_not_allowed',
  'request_timeout',
  'length_required',
  'head_too_large',
  'internal_error',
  'unavailable',
  'http_version',
];

const bodyProblems: readonly ProblemCode[] = [
  'body_too_large',
  'unsupported_media_type',
  'invalid_json',
  'invalid_request',
];

/** The codes, besides those in `everywhere`, with which this route can refuse. They are sorted by status. */
export function problemsOf(route: Route): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>(route.problems ?? []);
  if (route.access.kind === 'scopes') codes.add('forbidden');
  if (route.access.kind === 'vault') codes.add('vault_unavailable');
  if (route.method !== 'GET') codes.add('stopping');
  if (route.body !== null) {
    for (const code of bodyProblems) codes.add(code);
  }
  for (const code of everywhere) codes.delete(code);
  return [...codes].sort((a, b) => problems[a].status - problems[b].status || (a < b ? -1 : 1));
}
