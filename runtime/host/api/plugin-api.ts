// The types for authors of worker plugins: the request, the response, and the second argument of a handler. This file imports nothing,
// because `plugin new --runtime typescript` copies it.

/** Data as JSON knows it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Fields of any name and type, for payloads, configs and states without a declared type. */
// biome-ignore lint/suspicious/noExplicitAny: a handler that names no types gets on with what it expects
export type Fields = { readonly [name: string]: any };

/** An event: its payload, type and origin. */
export type Envelope<Payload = Fields> = {
  readonly type: string;
  readonly payload: Payload;
  readonly event_id: string;
  /** RFC 3339. */
  readonly timestamp: string;
  readonly source: string;
  readonly dedupe_key?: string;
  /** The headers of a delivery that the webhook's endpoint lists. They are not signed. */
  readonly headers?: { readonly [name: string]: string };
};

/** The request to a plugin, the same for both runtimes. Everything except `config` is the handler's own copy. */
export type Request<Payload = Fields, Config = Fields, State = Fields> = {
  readonly protocol: 2;
  readonly job_id: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly command: string;
  /** Frozen, because all jobs share it. */
  readonly config: Readonly<Config>;
  /** Absent if the vault grants none. */
  readonly secrets?: { readonly [name: string]: string };
  /** Set by the `state_updates` of earlier jobs; empty at first. */
  readonly state: Partial<State>;
  readonly payload: Payload;
  /** Baggage, and the job's position in its run: `pipeline`, `step_id`, `depth`. */
  readonly context: Fields;
  /** RFC 3339. */
  readonly deadline_at: string;
};

/** The request to the command `handle`. Its data is in `event.payload`; `payload` is the whole envelope. */
export type EventRequest<Payload = Fields, Config = Fields, State = Fields> = Request<
  Envelope<Payload>,
  Config,
  State
> & { readonly event: Envelope<Payload> };

export type EmittedEvent = { readonly type: string; readonly payload?: unknown; readonly dedupe_key?: string };
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
export type LogLine = { readonly level: string; readonly message: string };
/** A named part of the attempt's time, for the stopwatch. */
export type Span = { readonly name: string; readonly dur_ns: number };

type Reported = {
  readonly events?: readonly EmittedEvent[];
  readonly logs?: readonly LogLine[];
  /** At most 32 spans. */
  readonly spans?: readonly Span[];
};

/** An object, but not a list. */
type Named = { readonly [name: string]: unknown } | (object & { readonly length?: never });

/** The response of a plugin. A worker may omit `status`, or return nothing: both mean `ok`. */
export type Response<State = Fields> =
  | (Reported & {
      readonly status?: 'ok';
      readonly result?: string | Named;
      /** Merged into the plugin's state at the top level; at most 1 MiB of state. */
      readonly state_updates?: Partial<State>;
    })
  | (Reported & {
      readonly status: 'error';
      readonly error: string;
      /** False: the job is not retried. */
      readonly retry?: boolean;
      readonly result?: string | Named;
    });

/** The `AbortSignal` of the available type libraries (DOM, @types/node), or else the part of it that plugins need. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Type } }
  ? Type
  : {
      readonly aborted: boolean;
      addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
      removeEventListener(type: 'abort', listener: () => void): void;
      throwIfAborted(): void;
    };

/** The second argument of a handler. It may be destructured: `{ signal, log }`. */
export type Helpers = {
  /** Fires at the deadline, and when the job is cancelled. */
  readonly signal: Signal;
  readonly log: (level: LogLevel, message: string) => void;
  /** Starts a span; the returned function ends it. */
  readonly span: (name: string) => () => void;
  readonly emit: (event: EmittedEvent) => void;
};

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement answers nothing, which is ok
type Answer<State> = Response<State> | void | Promise<Response<State> | void>;

/** The command `handle`. Throwing fails the attempt; an error with `retry === false` fails the job. */
export type Handler<Payload = Fields, Config = Fields, State = Fields> = (
  request: EventRequest<Payload, Config, State>,
  helpers: Helpers,
) => Answer<State>;

/** Any other command. Its data is in `payload`. */
export type CommandHandler<Payload = Fields, Config = Fields, State = Fields> = (
  request: Request<Payload, Config, State>,
  helpers: Helpers,
) => Answer<State>;
