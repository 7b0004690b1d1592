// The declaration of a route. Router, authorization, validation and documents are derived from it.

import type { VaultOp } from '../actors/vault/protocol.ts';
import type { Config } from '../config/config.ts';
import type { ApiScope } from '../config/section/scope.ts';
import type { JobId } from '../runtime/ids.ts';
import type { Schema } from '../runtime/schema-type.ts';
import type { Engine } from '../service/engine.ts';
import type { Answer } from './answer.ts';
import type { Caller } from './auth.ts';
import type { HttpProblem, ProblemCode } from './problem.ts';
import type { Parameters, QueryValues } from './query.ts';

export { type Answer, type Headers, json } from './answer.ts';

export type Method = 'GET' | 'POST' | 'DELETE';

/**
 * Who may call a route. `open`: every caller; credentials are ignored. `token`: any valid API token, whatever its scopes. `scopes`: an API token
 * with one of these scopes, or with `*`; `also` says in words which further scope some calls need. `signed`: the handler checks the signature
 * once the body has arrived. `vault`: the vault's admin token, which gives access to no other route. The token of a session of the dashboard
 * counts as an API token.
 */
export type RouteAccess =
  | { readonly kind: 'open' }
  | { readonly kind: 'signed' }
  | { readonly kind: 'token' }
  | ScopedAccess
  | { readonly kind: 'vault'; readonly op: VaultOp };
export type ScopedAccess = { readonly kind: 'scopes'; readonly anyOf: readonly ApiScope[]; readonly also?: string };
export const open: RouteAccess = { kind: 'open' };
export const anyToken: RouteAccess = { kind: 'token' };
export function anyOf(...scopes: readonly ApiScope[]): ScopedAccess {
  return { kind: 'scopes', anyOf: scopes };
}

/** The parameters of a path, which are the names between braces. */
export type Params<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [N in Name]: string } & Params<Rest>
  : unknown;

/** One request, as a handler sees it. */
export interface HttpCall<P = unknown, Q = unknown, F = unknown> {
  readonly engine: Engine;
  /** The configuration in force when the request arrived. */
  readonly config: Config;
  readonly params: P;
  readonly query: Q;
  /**
   * The JSON value, which fits the route's schema; undefined if there is no body. For a `raw` route, the bytes, which are valid until the
   * handler awaits; for a `batch` route, the bytes, which are valid until `releaseBody`.
   */
  readonly body: unknown;
  /** The caller; null on open routes. The caller of a signed route has neither name nor scopes. */
  readonly caller: Caller | null;
  /** The value that `find` of the route returned. */
  readonly found: F;
  readonly requestId: string;
  /** Whether the caller has disconnected or has been answered, or is about to be refused because other bodies needed the memory of its body. */
  readonly isGone: boolean;
  nowMs(): number;
  /** The first header of this (lower-case) name. */
  header(name: string): string | undefined;
  /** All headers of this (lower-case) name as one list; empty if the request has no such header. */
  headerList(name: string): string;
  /**
   * For routes that need an API token: the caller, authenticated again under the configuration that is in force now. Undefined if
   * the API token no longer gives access to the route.
   */
  callerNow(): Caller | undefined;
  /**
   * Registers a function that is called once if the connection closes before the answer is complete. Replaces the function that was registered
   * before.
   */
  onGone(forget: () => void): void;
  /** For routes with `holdsLate`: from now on, further requests of the connection wait. Called when the work is about to be sent to the ledger. */
  hold(): void;
  /**
   * The job that this call has submitted, or the job of the earlier call that it repeats. If the handler sets this field, the log line of the
   * request contains the job's id. Handlers of batches do not set the field.
   */
  submitted: JobId | null;
  /** Frees the memory of a batch's body. */
  releaseBody(): void;
}

type Declaration<P extends string, Q extends Parameters, F> = {
  readonly method: Method;
  /** The path, with parameters in braces: `/job/{job_id}`. */
  readonly path: P;
  /** The heading under which docs/reference.md lists the route. */
  readonly section: string;
  readonly summary: string;
  /** Further text for docs/reference.md, in Markdown. */
  readonly notes?: string;
  readonly access: RouteAccess;
  readonly query: Q;
  /** The schema of a JSON body. Callers may omit the body, unless the handler requires it. */
  readonly body: Schema | null;
  /** The limit of a JSON body; absent: `api.max_body_size`. An open route with a body needs a small limit, because any caller may send a body. */
  readonly bodyLimit?: BodyLimit;
  /** The limit of a body that the handler gets as the bytes that were sent. A route with this limit has no `body` and ignores the query. */
  readonly raw?: BodyLimit;
  /**
   * Present if the route takes a batch: returns the limit of the batch's body. The handler gets the bytes, which stay valid until it calls
   * `releaseBody`. `body` only describes the batch in OpenAPI and docs/reference.md.
   */
  readonly batch?: (config: Config) => BodyLimit;
  /**
   * Present if the handler works for long before it sends anything to the ledger. Such a handler calls `hold` just before it sends. Until then the
   * service notices that the caller disconnects, on both HTTP servers.
   */
  readonly holdsLate?: true;
  /** The codes of refusals that the documents list, besides those that follow from access, method, query and body. */
  readonly problems?: readonly ProblemCode[];
  /** The answers of the route by status, excluding refusals. `types`: the media types if the answer is not JSON. */
  readonly answers: {
    readonly [status: number]: {
      readonly description: string;
      readonly schema: Schema | null;
      readonly types?: readonly string[];
    };
  };
  /** Looks up the names in the path before the body is read. Returns the value for `found`, or a refusal. */
  find?(call: HttpCall<Params<P>, unknown, unknown>): F | HttpProblem;
  handle(call: HttpCall<Params<P>, QueryValues<Q>, F>): Answer | Promise<Answer>;
  /** Called for every refusal of a request that has passed admission (`admission.ts`), or was refused for its framing. */
  refused?(problem: HttpProblem): void;
};

/** The maximum size of a body, and the setting that determines this size; null: the size is fixed. */
export type BodyLimit = { readonly bytesMax: number; readonly setting: string | null };

// `find` and `handle` are methods because TypeScript compares the parameters of methods bivariantly, so every declaration is assignable to Route.
export type Route = Declaration<string, Parameters, unknown>;

/** A declaration with optional `query` and `body`. Without `query` the route has no query parameters, and without `body` it has no body. */
type Given<P extends string, Q extends Parameters, F> = Omit<Declaration<P, Q, F>, 'query' | 'body'> &
  Partial<Pick<Declaration<P, Q, F>, 'query' | 'body'>>;

/** Declares a route; the types of the handler follow from the declaration. */
export function route<const P extends string, F, const Q extends Parameters = Record<never, never>>(
  declaration: Given<P, Q, F>,
): Route {
  return { query: {}, body: null, ...declaration } as unknown as Route;
}
