// A route, declared once: the router, authorization, validation and the documents are derived from this.

import type { VaultOp } from '../actors/vault/protocol.ts';
import type { Config } from '../config/config.ts';
import type { ApiScope } from '../config/section/scope.ts';
import type { Schema } from '../runtime/schema-type.ts';
import type { Engine } from '../service/engine.ts';
import type { Answer } from './answer.ts';
import type { Caller } from './auth.ts';
import type { Problem, ProblemCode } from './problem.ts';
import type { Parameters, Query } from './query.ts';

export { type Answer, type Headers, json } from './answer.ts';

export type Method = 'GET' | 'POST';

/**
 * Open routes ignore credentials. `token`: any that is valid, whatever its scopes. Of signed ones the handler checks the signature, once the body is there. Those of the vault take
 * its admin token, and no other takes that.
 */
export type Access =
  | { readonly kind: 'open' }
  | { readonly kind: 'signed' }
  | { readonly kind: 'token' }
  | { readonly kind: 'scopes'; readonly anyOf: readonly ApiScope[] }
  | { readonly kind: 'vault'; readonly op: VaultOp };
export const open: Access = { kind: 'open' };
export const anyToken: Access = { kind: 'token' };
export function anyOf(...scopes: readonly ApiScope[]): Access {
  return { kind: 'scopes', anyOf: scopes };
}

/** The names between the braces of a path. */
export type Params<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [N in Name]: string } & Params<Rest>
  : unknown;

/** One request, as a handler sees it. */
export interface Call<P = unknown, Q = unknown, F = unknown> {
  readonly engine: Engine;
  /** In force when the request came. */
  readonly config: Config;
  readonly params: P;
  readonly query: Q;
  /** The JSON value that fits the schema; undefined when there was no body. Of a raw route its bytes, until the handler awaits. */
  readonly body: unknown;
  /** Null on open and signed routes. */
  readonly caller: Caller | null;
  /** What `find` found. */
  readonly found: F;
  readonly requestId: string;
  /** The caller has gone away, or has been answered. */
  readonly isGone: boolean;
  nowMs(): number;
  /** The first header of that (lower-case) name. */
  header(name: string): string | undefined;
  /** Who calls, by the configuration and the time of now, for answers that take their time. Undefined: nobody who may. */
  callerNow(): Caller | undefined;
  /** Called once when the caller goes away before the answer is complete. */
  onGone(forget: () => void): void;
}

type Declaration<P extends string, Q extends Parameters, F> = {
  readonly method: Method;
  /** With parameters in braces: `/job/{job_id}`. */
  readonly path: P;
  /** A heading of the reference. */
  readonly section: string;
  readonly summary: string;
  /** What the reference says besides, Markdown: a query language, what a number means. */
  readonly notes?: string;
  readonly access: Access;
  readonly query: Q;
  /** A JSON body, which may be left out; the vault's routes refuse that. */
  readonly body: Schema | null;
  /** Instead of `body`: the handler gets the bytes as they were sent, at most so many. The query is passed over. */
  readonly raw?: BodyLimit;
  /** Refusals of its own, for the documents; those that follow from access, query and body are known anyway. */
  readonly problems?: readonly ProblemCode[];
  /** What it answers, by status; problems besides. `type`: where it is not JSON. */
  readonly answers: {
    readonly [status: number]: { readonly description: string; readonly schema: Schema | null; readonly type?: string };
  };
  /** Looks up what the path names, before the body is read: a 403 or 404, or what `handle` gets as `found`. */
  find?(call: Call<Params<P>, unknown, unknown>): F | Problem;
  handle(call: Call<Params<P>, Query<Q>, F>): Answer | Promise<Answer>;
  /** Told of every refusal once the route is found, also of those that are not its own. */
  refused?(problem: Problem): void;
};

/** How large a body may be, and the setting that says so. */
export type BodyLimit = { readonly bytesMax: number; readonly setting: string };

// Methods, not properties: they compare loosely, so that any declaration is a Route.
export type Route = Declaration<string, Parameters, unknown>;

/** Declares a route; the types of the handler follow from the declaration. */
export function route<const P extends string, const Q extends Parameters, F>(declaration: Declaration<P, Q, F>): Route {
  return declaration as unknown as Route;
}
