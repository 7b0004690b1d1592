// What authors of worker plugins write against: the request, the response and what a handler is handed besides. This file needs no
// other one, no package and no library but that of the language: `plugin new --runtime typescript` copies its types.

/** Data as JSON knows it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Fields of any names and types: of payloads, configs and states that no type describes. */
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
  /** Of a webhook whose endpoint names `headers`: those that the delivery had. Nobody has signed them. */
  readonly headers?: { readonly [name: string]: string };
};

/** What a plugin is asked; the same for both runtimes. All but `config` is the handler's own copy. */
export type Request<Payload = Fields, Config = Fields, State = Fields> = {
  readonly protocol: 2;
  readonly job_id: string;
  /** 1 for the first. */
  readonly attempt: number;
  readonly command: string;
  /** Frozen: all jobs share it. */
  readonly config: Readonly<Config>;
  /** Only when the vault grants any. */
  readonly secrets?: { readonly [name: string]: string };
  /** What `state_updates` of earlier jobs have set; empty at first. */
  readonly state: Partial<State>;
  readonly payload: Payload;
  /** Baggage, and where the job stands: `pipeline`, `step_id`, `depth`. */
  readonly context: Fields;
  /** RFC 3339. */
  readonly deadline_at: string;
};

/** What the command `handle` is asked: its data is in `event.payload`, and `payload` is the envelope too. */
export type EventRequest<Payload = Fields, Config = Fields, State = Fields> = Request<
  Envelope<Payload>,
  Config,
  State
> & { readonly event: Envelope<Payload> };

export type EmittedEvent = { readonly type: string; readonly payload?: unknown; readonly dedupe_key?: string };
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

/** An object, and no list. */
type Named = { readonly [name: string]: unknown } | (object & { readonly length?: never });

/** What a plugin answers. A worker may leave `status` out, or answer nothing at all: `ok`. */
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
      /** False: another attempt is of no use. */
      readonly retry?: boolean;
      readonly result?: string | Named;
    });

/** The `AbortSignal` of the libraries that are there (DOM, @types/node), or what plugins need of it. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Type } }
  ? Type
  : {
      readonly aborted: boolean;
      addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
      removeEventListener(type: 'abort', listener: () => void): void;
      throwIfAborted(): void;
    };

/** The second argument of a handler. Its members may be taken apart: `{ signal, log }`. */
export type Helpers = {
  /** Fires at the deadline. */
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

/** Any other command, which has its data in `payload`. */
export type CommandHandler<Payload = Fields, Config = Fields, State = Fields> = (
  request: Request<Payload, Config, State>,
  helpers: Helpers,
) => Answer<State>;
