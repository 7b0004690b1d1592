// What the tests of the bundled plugins share: their modules loaded as they are, and a call of a handler.
import type { Handler, Helpers, Json, JsonObject, LogLine, Response } from '../../../runtime/host/api/plugin-api.ts';

/** Imports a module below plugins/. The caller states its type, because the plugins are JavaScript, which is checked separately. */
export async function importBundled<Exports>(path: string): Promise<Exports> {
  return (await import(new URL(`../../../plugins/${path}`, import.meta.url).href)) as Exports;
}

export type Called = { readonly response: Response; readonly logs: readonly LogLine[] };
type Given = {
  readonly config?: JsonObject;
  readonly secrets?: { [name: string]: string };
  readonly signal?: AbortSignal;
};

/** Calls a handler as the host does: for `handle`, the payload is in an event; an exception becomes an error response with its `retry`. */
export async function call(command: string, handler: Handler, payload: Json, given: Given = {}): Promise<Called> {
  const { config = {}, secrets, signal = new AbortController().signal } = given;
  const event = { type: 'api.trigger', payload, event_id: 'e', timestamp: '2026-01-01T00:00:00Z', source: 'test' };
  const logs: LogLine[] = [];
  const helpers: Helpers = {
    signal,
    log: (level, message) => logs.push({ level, message }),
    span: () => () => {},
    emit: () => {},
  };
  const request = {
    protocol: 2 as const,
    job_id: 'j',
    attempt: 1,
    command,
    config,
    ...(secrets === undefined ? {} : { secrets }),
    state: {},
    payload: command === 'handle' ? event : payload,
    context: { pipeline: null, step_id: null, depth: 0 },
    ...(command === 'handle' ? { event } : {}),
    deadline_at: new Date(Date.now() + 60_000).toISOString(),
  };
  try {
    return { response: (await handler(request as Parameters<Handler>[0], helpers)) ?? {}, logs };
  } catch (error) {
    const { message, retry = true } = error as Error & { retry?: boolean };
    return { response: { status: 'error', error: message, retry }, logs };
  }
}
