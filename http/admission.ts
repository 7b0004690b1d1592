// Checks requests before their handlers run; exchange.ts calls these checks, the framing first. If several refusals apply, the first in this
// order is sent: 503 (the service is stopping, or no vault is open), 401, 400 for a malformed path, 403, 404, 405. For the body, 413, 401 (the
// caller's token has lost its access), 415 and 400 follow.

import type { Config } from '../config/config.ts';
import type { VaultCalls } from '../service/vault-client.ts';
import { type Authenticate, type Caller, may, scopesText } from './auth.ts';
import { headerOf, isNdjson, mayBeJson, ndjsonType, type RequestHead } from './head.ts';
import { readJsonBody } from './json.ts';
import { type HttpProblem, mismatchProblem, type ProblemItem, problem } from './problem.ts';
import type { BodyLimit, Route, RouteAccess } from './route.ts';
import type { Match, RoutesAtPath } from './router.ts';
import { authenticateAdmin } from './vault-admission.ts';

type Admitted = {
  readonly kind: 'admitted';
  readonly route: Route;
  readonly params: { readonly [name: string]: string };
  readonly caller: Caller | null;
  /**
   * The 405 if the path has no route for the method; otherwise null. With a 405, `route` is a route of the path for another method. If the
   * `find` of that route refuses the request, its refusal is sent instead of the 405.
   */
  readonly wrongMethod: HttpProblem | null;
};
export type Refused = {
  readonly kind: 'refused';
  readonly problem: HttpProblem;
  /** Null if the refusal is 503 or 401: the caller was not authenticated. */
  readonly caller: Caller | null;
};
export type Admission = Admitted | Refused;

type AdmissionRequest = {
  readonly match: Match;
  /** The method, in lower case. */
  readonly method: string;
  readonly authorization: string | undefined;
  readonly config: Config;
  readonly isStopping: boolean;
  /** The vault, for requests to paths of the vault; undefined for all others. */
  readonly vault: Pick<VaultCalls, 'adminDigest'> | undefined;
};

/**
 * Checks the framing of a request. Refuses doubtful framing (400), and a chunked body if this HTTP server does not accept one (411). Null: the
 * framing is sound. `takesChunks`: whether the HTTP server accepts chunked bodies.
 */
export function checkFraming({ framing, contentLength }: RequestHead, takesChunks: boolean): HttpProblem | null {
  if (framing === 'sound' && (contentLength !== null || takesChunks)) return null;
  if (takesChunks || contentLength !== null) {
    const detail = 'a request must have one Host header, and either one Content-Length or "Transfer-Encoding: chunked"';
    return problem('malformed_request', detail);
  }
  const detail =
    'the HTTP server in use does not accept Transfer-Encoding; send a Content-Length, or set api.server: node';
  return problem('length_required', detail);
}

/** Makes the checks that precede the lookup of the names in the path (`find` of the route). */
export function admit(request: AdmissionRequest, authenticate: Authenticate): Admission {
  const { match, method } = request;
  if (request.isStopping && !isReading(method)) return refused(problem('stopping', 'the service is shutting down'));
  if (request.vault?.adminDigest === null) return refused(problem('vault_unavailable', 'no vault is open here'));
  const place = typeof match === 'object' ? match.place : null;
  const asked = place && routeOf(place, method);
  const known = place && (asked ? [asked] : Object.values(place.routes));
  const caller = known?.some(({ access }) => access.kind === 'open') ? null : identify(request, authenticate);
  if (caller === undefined) {
    const needed = request.vault ? 'the admin token of the vault' : 'a valid bearer token';
    return refused(problem('unauthorized', `${needed} is needed`));
  }
  if (match === 'malformed') {
    return refused(problem('invalid_path', 'the path has a bad percent-escape or a NUL'), caller);
  }
  if (typeof match === 'string') return refused(problem('unknown_route', 'there is nothing at this path'), caller);
  // If the path has no route for the method, 403 precedes 405: only a caller with access to another method of the path gets a 405.
  const route = known!.find(({ access }) => isOpenTo(caller, access));
  if (!route) {
    const scoped = known!.flatMap(({ access }) => (access.kind === 'scopes' ? [access] : []));
    const needed = scoped.flatMap(({ anyOf }) => anyOf);
    return refused(forbidden(needed, scoped.find(({ also }) => also)?.also), caller);
  }
  return { kind: 'admitted', route, params: match.params, caller, wrongMethod: asked ? null : notAllowed(match.place) };
}

function refused(why: HttpProblem, caller: Caller | null = null): Refused {
  return { kind: 'refused', problem: why, caller };
}

function isOpenTo(caller: Caller | null, access: RouteAccess): boolean {
  return access.kind !== 'scopes' || caller === null || may(caller, access.anyOf);
}

function notAllowed({ allow }: RoutesAtPath): HttpProblem {
  return problem('method_not_allowed', `only ${allow} can be used here`, { headers: [['Allow', allow]] });
}

function identify({ vault, config, authorization }: AdmissionRequest, authenticate: Authenticate): Caller | undefined {
  return vault ? authenticateAdmin(authorization, vault.adminDigest!) : authenticate(config, authorization);
}

/** The refusal of a caller that has none of these scopes. `also`: the further scope that some calls need, in words. */
export function forbidden(anyOf: readonly string[], also?: string): HttpProblem {
  return problem('forbidden', `this call needs ${scopesText(anyOf)}${also === undefined ? '' : `; ${also}`}`);
}

export function isReading(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

function routeOf(place: RoutesAtPath, method: string): Route | undefined {
  if (isReading(method)) return place.routes.GET;
  if (method === 'POST') return place.routes.POST;
  return method === 'DELETE' ? place.routes.DELETE : undefined;
}

export function tooLarge({ bytesMax, setting }: BodyLimit): HttpProblem {
  const how = setting === null ? '' : `; ${setting} sets how large it may be`;
  return problem('body_too_large', `the body is larger than ${bytesMax} bytes${how}`);
}

/** Checks the value of a JSON body against a schema. The returned list of errors is empty if the value fits the schema. */
export type BodyCheck = (value: unknown) => readonly ProblemItem[];

type BodyReading = { readonly kind: 'body'; readonly value: unknown } | HttpProblem;

/**
 * Reads a JSON body. An empty body has the value undefined. Another media type gets 415; text that `readJson` refuses, or a value that
 * `check` rejects, gets 400.
 */
export function readBody(head: RequestHead, bytes: Uint8Array, check: BodyCheck): BodyReading {
  if (bytes.length === 0) return { kind: 'body', value: undefined };
  const reading = readJsonBody(headerOf(head, 'content-type'), bytes);
  if (reading.kind === 'problem') return reading;
  const errors = check(reading.value);
  return errors.length > 0 ? mismatchProblem('invalid_request', errors) : { kind: 'body', value: reading.value };
}

/** Returns the bytes of a batch, which the handler parses, or 415 if the media type is neither JSON nor NDJSON. */
export function readBatchBody(head: RequestHead, bytes: Uint8Array): BodyReading {
  const type = headerOf(head, 'content-type');
  if (mayBeJson(type) || isNdjson(type)) return { kind: 'body', value: bytes };
  const detail = `a batch is JSON or NDJSON, and the header Content-Type must say which: application/json or ${ndjsonType}`;
  return problem('unsupported_media_type', detail);
}
