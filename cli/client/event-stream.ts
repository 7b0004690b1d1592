// Follows the event stream: after a lost connection, connects again and resumes after the last event that was seen.
import { setTimeout as pause } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, failure, isUnavailable } from '../failure.ts';
import { brokenAnswer, type Client } from './client.ts';

const firstPauseMs = 250;
const pauseMsMax = 5_000;
/** The silence after which the connection counts as lost. The service writes at least a comment line about every 15 s. */
const silenceMsMax = 45_000;
/** The maximum length of one event, in characters. A longer event ends the connection. */
const eventCharsMax = 4_194_304;

export type StreamEvent = {
  readonly id: string;
  readonly type: string;
  readonly fields: { readonly at?: string; readonly [name: string]: unknown };
};
/**
 * `opened`: a connection is open. If `continues` is true, the connection begins with the events after the last one seen
 * (with a `gap` event if some of them are lost); otherwise it has only new events. `events`: events that arrived
 * together; an empty list if only comment lines or parts of an event arrived. `lost`: the connection is lost, and another one will be tried.
 */
export type StreamUpdate =
  | { readonly kind: 'opened'; readonly continues: boolean }
  | { readonly kind: 'events'; readonly events: readonly StreamEvent[] }
  | { readonly kind: 'lost'; readonly why: string };

/**
 * Follows the stream until the caller stops iterating. Throws if the first connection cannot be opened, and later if an available service
 * refuses the stream. `path` includes the query. With `lastId`, the stream begins after the event with that id.
 */
export async function* follow(client: Client, path: string, lastId?: string): AsyncGenerator<StreamUpdate, never> {
  let id = lastId;
  let wasOpen = false;
  let pauseMs = firstPauseMs;
  for (;;) {
    try {
      for await (const news of connection(client, path, id)) {
        if (news.kind === 'events') id = news.events.findLast(event => event.id !== '')?.id ?? id;
        if (news.kind === 'opened') {
          wasOpen = true;
          pauseMs = firstPauseMs;
        }
        yield news;
      }
      yield { kind: 'lost', why: 'the service ended the stream' };
    } catch (error) {
      const isFinal = error instanceof CommandFailure && !isUnavailable(error);
      if (!wasOpen || isFinal) throw error;
      yield { kind: 'lost', why: (error as Error).message };
    }
    await pause(pauseMs);
    pauseMs = Math.min(pauseMsMax, pauseMs * 2);
  }
}

async function* connection(client: Client, path: string, id: string | undefined): AsyncGenerator<StreamUpdate> {
  const silence = new AbortController();
  const detail = `the service at ${client.url} was silent for ${silenceMsMax / 1000} s`;
  const silent = failure(exitStatus.unavailable, 'unreachable', 'The service cannot be reached', detail);
  const quiet = setTimeout(() => silence.abort(silent), silenceMsMax);
  try {
    const headers = { Accept: 'text/event-stream', ...(id !== undefined && { 'Last-Event-ID': id }) };
    const response = await client.open('GET', path, undefined, { headers, signal: silence.signal });
    const type = response.headers.get('content-type') ?? 'nothing';
    if (!type.startsWith('text/event-stream'))
      throw brokenAnswer(`the service at ${response.url} is not headgate: its answer is ${type}, not an event stream`);
    yield { kind: 'opened', continues: id !== undefined };
    let parsed: StreamEvent[] = [];
    const parser = createParser({ onEvent: message => parsed.push(eventOf(message)), maxBufferSize: eventCharsMax });
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      quiet.refresh();
      parser.feed(decoder.decode(chunk, { stream: true }));
      yield { kind: 'events', events: parsed };
      parsed = [];
    }
  } finally {
    clearTimeout(quiet);
    silence.abort();
  }
}

function eventOf({ id = '', event = 'message', data }: EventSourceMessage): StreamEvent {
  return { id, type: event, fields: JSON.parse(data) as StreamEvent['fields'] };
}
