// The types for authors of worker plugins: the request, the response, and the second argument of a handler. This file has no imports,
// because `plugin new --runtime typescript` copies its declarations into the plugin.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Fields of any name and type. Payloads, configs and states have this type if a handler declares no other. */
// biome-ignore lint/suspicious/noExplicitAny: a handler without declared types can use the fields without casts
export type Fields = { readonly [name: string]: any };

/** An event: its payload, type and origin. */
export type Envelope<Payload = Fields> = {
  readonly type: string;
  readonly payload: Payload;
  readonly event_id: string;
  /** When the job of the event was created, as RFC 3339. */
  readonly timestamp: string;
  readonly source: string;
  readonly dedupe_key?: string;
  /**
   * The headers of a webhook delivery that the endpoint's configuration lists. The signature may cover an id and a time, but no other
   * header.
   */
  readonly headers?: { readonly [name: string]: string };
  /** The occurrence of the schedule that started the job or the run. */
  readonly schedule?: Occurrence;
};

/** An occurrence of a schedule; also in `context.schedule`. Times are RFC 3339. */
export type Occurrence = {
  readonly id: string;
  /** Null: the schedule was run by hand. */
  readonly due_at: string | null;
  readonly fired_at: string;
  /** How many earlier occurrences were missed since the last one that fired; at most 1,000. */
  readonly missed: number;
};

/** The request to a plugin. Workers and programs get the same fields. Everything except `config` is the handler's own copy. */
export type Request<Payload = Fields, Config = Fields, State = Fields> = {
  readonly protocol: 2;
  readonly job_id: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly command: string;
  /** Frozen, because several jobs of the plugin share it. */
  readonly config: Readonly<Config>;
  /** Absent if the vault grants the plugin no secret. */
  readonly secrets?: { readonly [name: string]: string };
  /** The plugin's state, which the `state_updates` of earlier jobs have set; empty at first. */
  readonly state: Partial<State>;
  readonly payload: Payload;
  /** The baggage of the run, and the job's position in the run: `pipeline`, `step_id` and `depth`. */
  readonly context: Fields;
  /** The deadline of the attempt, as RFC 3339. */
  readonly deadline_at: string;
};

/** The request to the command `handle`. `event.payload` has the data of the event; `payload` is the whole envelope. */
export type EventRequest<Payload = Fields, Config = Fields, State = Fields> = Request<
  Envelope<Payload>,
  Config,
  State
> & { readonly event: Envelope<Payload> };

export type EmittedEvent = { readonly type: string; readonly payload?: unknown; readonly dedupe_key?: string };
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
export type LogLine = { readonly level: string; readonly message: string };
/** A named part of the attempt's time; the stopwatch shows it. */
export type Span = { readonly name: string; readonly dur_ns: number };

type Reported = {
  readonly events?: readonly EmittedEvent[];
  readonly logs?: readonly LogLine[];
  /** At most 32 spans are kept. */
  readonly spans?: readonly Span[];
};

/** An object, but not a list. */
type Named = { readonly [name: string]: unknown } | (object & { readonly length?: never });

/** The response of a plugin. A worker may omit `status`, or return nothing: both mean `ok`. */
export type Response<State = Fields> =
  | (Reported & {
      readonly status?: 'ok';
      readonly result?: string | Named;
      /** Merged into the plugin's state: each top-level key replaces the same key of the state. The state may have at most 1 MiB. */
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

// biome-ignore lint/suspicious/noConfusingVoidType: a handler may have no return statement, which means status `ok`
type Answer<State> = Response<State> | void | Promise<Response<State> | void>;

/** The function of the command `handle`. If it throws, the attempt fails; if the error has `retry === false`, the job is not retried. */
export type Handler<Payload = Fields, Config = Fields, State = Fields> = (
  request: EventRequest<Payload, Config, State>,
  helpers: Helpers,
) => Answer<State>;

/** The function of any command except `handle`. The data of the call is in `payload`. */
export type CommandHandler<Payload = Fields, Config = Fields, State = Fields> = (
  request: Request<Payload, Config, State>,
  helpers: Helpers,
) => Answer<State>;
