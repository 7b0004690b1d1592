// What authors of worker plugins write against: the request, the response and what a handler is handed besides.
import type { Json, JsonObject } from '../json-value.ts';

export type { Json, JsonObject } from '../json-value.ts';

/** An event around its payload. */
export type Envelope = {
  readonly type: string;
  readonly payload: Json;
  readonly event_id: string;
  /** RFC 3339. */
  readonly timestamp: string;
  readonly source: string;
  readonly dedupe_key?: string;
  /** Of a webhook whose endpoint names `headers`: those that the delivery had. Nobody has signed them. */
  readonly headers?: { readonly [name: string]: string };
};

/** What a plugin is asked; the same for both runtimes. All but `config` is the handler's own copy. */
export type Request = {
  readonly protocol: 2;
  readonly job_id: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly command: string;
  /** Frozen: all jobs share it. */
  readonly config: JsonObject;
  /** Only when the vault grants any. */
  readonly secrets?: { readonly [name: string]: string };
  readonly state: { [key: string]: Json };
  /** For `handle` the whole envelope. */
  readonly payload: Json;
  /** Baggage, and where the job stands. */
  readonly context: { readonly [key: string]: Json };
  /** `handle` only. */
  readonly event?: Envelope;
  /** RFC 3339. */
  readonly deadline_at: string;
};

export type EmittedEvent = { readonly type: string; readonly payload?: Json; readonly dedupe_key?: string };
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
export type LogLine = { readonly level: string; readonly message: string };
/** A stretch of the attempt's time, for the stopwatch. */
export type Span = { readonly name: string; readonly dur_ns: number };

type Reported = {
  readonly events?: readonly EmittedEvent[];
  readonly logs?: readonly LogLine[];
  /** At most 32. */
  readonly spans?: readonly Span[];
};

/** What a plugin answers. A worker may leave `status` out, or answer nothing at all: `ok`. */
export type Response =
  | (Reported & {
      readonly status?: 'ok';
      readonly result?: string | { readonly [key: string]: unknown };
      /** Merged into the plugin's state at the top level; at most 1 MiB of state. */
      readonly state_updates?: { readonly [key: string]: unknown };
    })
  | (Reported & {
      readonly status: 'error';
      readonly error: string;
      /** False: another attempt is of no use. */
      readonly retry?: boolean;
      readonly result?: string | { readonly [key: string]: unknown };
    });

/** The second argument of a handler. Its members may be taken apart: `{ signal, log }`. */
export type Helpers = {
  /** Fires at the deadline. */
  readonly signal: AbortSignal;
  readonly log: (level: LogLevel, message: string) => void;
  /** Starts a span; the returned function ends it. */
  readonly span: (name: string) => () => void;
  readonly emit: (event: EmittedEvent) => void;
};

/** Throwing fails the attempt; an error with `retry === false` fails the job. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement answers nothing, which is ok
export type Handler = (request: Request, helpers: Helpers) => Response | void | Promise<Response | void>;
