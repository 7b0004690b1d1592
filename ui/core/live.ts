// The stream of events. Each tab opens one, by fetch, because EventSource cannot send a token. Events say what has changed; the page then
// fetches again what it shows. A busy service has more events than a page can use. The stream then leaves out the events of jobs, and the
// page fetches every two seconds.
import { effect, signal } from '@preact/signals';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { openStream, Refusal } from './api.ts';
import { queryText } from './router.ts';
import { may, session } from './session.ts';

export type LiveEvent = {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
};
/** `off`: the token may not read events. */
export type Connection = 'connecting' | 'live' | 'lost' | 'off';

type LiveListener = {
  readonly types: readonly string[];
  /** Whether the listener needs every event, even while the service is busy. */
  readonly each: boolean;
  readonly heard: (event: LiveEvent) => void;
};

export const connection = signal<Connection>('off');

/** If more events than this arrive in a second, the service counts as busy for `busyMs`. */
const busyEventsPerS = 100;
const busyMs = 15_000;
/** The interval, in seconds, at which the page fetches what it shows while the stream leaves out the events of jobs. */
const busyFetchS = 2;
const retryMsMin = 500;
const retryMsMax = 10_000;
/** The silence after which a stream counts as lost. The service writes at least a comment about every 15 s. */
const silenceMsMax = 45_000;
/** A tab that is hidden longer than this closes its stream. By HTTP/1.1, browsers have six connections to a service for all their tabs. */
const hiddenMsMax = 5_000;

const listeners = new Set<LiveListener>();
let lastId: string | null = null;
let stream: AbortController | null = null;
let streamTypes = '';
/** Whether the stream is closed because the tab is hidden. */
let isResting = false;
/** Until when the service counts as busy, by `performance.now()`; 0: it is not busy. */
let busyUntil = 0;
let heardInSecond = 0;
let busySeconds = 0;

/**
 * Calls `listener` for each event of these types (`job.*`: a prefix), and for each `gap`. Without `each`, the listener also gets hints that it may
 * have missed events: `opened` when a stream begins without the id of a last event and, if it listens to events of jobs, `busy` every two seconds
 * while the stream leaves them out. Returns a function that removes the listener.
 */
export function onEvent(
  types: readonly string[],
  listener: (event: LiveEvent) => void,
  { each = false }: { readonly each?: boolean } = {},
): () => void {
  const entry = { types, each, heard: listener };
  listeners.add(entry);
  later();
  return () => {
    listeners.delete(entry);
    later();
  };
}

let planned: number | undefined;
function later(): void {
  clearTimeout(planned);
  planned = setTimeout(adjust, 50);
}

/** Opens the stream with the types that are wanted now. */
function adjust(): void {
  if (session.value === null || !may('events:ro', 'events:rw')) {
    stop();
    return;
  }
  if (isResting) return;
  const all = new Set([...listeners].flatMap(({ types }) => types));
  const isBusy = busyUntil > performance.now();
  const types = [...all].filter(type => !isBusy || !type.startsWith('job.')).sort();
  const text = (types.length === 0 ? ['gap'] : types).join(',');
  if (stream !== null && text === streamTypes) return;
  stream?.abort();
  stream = new AbortController();
  streamTypes = text;
  void follow(text, stream.signal);
}

function stop(): void {
  stream?.abort();
  stream = null;
  streamTypes = '';
  lastId = null;
  connection.value = 'off';
}

let hiding: number | undefined;
/** Closes the stream once the tab has been hidden for a while, and opens it again when the tab is shown. */
function watchVisibility(): void {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(rest, hiddenMsMax);
  else {
    isResting = false;
    later();
  }
}

function rest(): void {
  isResting = true;
  stream?.abort();
  stream = null;
  // The next stream begins after the last event for listeners that need each. All others fetch everything again when it begins without a last id.
  if (!isEachWanted()) lastId = null;
  else if (lastId === null) hear({ id: '', type: 'gap', data: { reason: 'hidden', lost: null } });
}

function isEachWanted(): boolean {
  return [...listeners].some(({ each }) => each);
}

async function follow(types: string, signal: AbortSignal): Promise<void> {
  let retryMs = retryMsMin;
  while (!signal.aborted) {
    if (connection.value !== 'live') connection.value = connection.value === 'lost' ? 'lost' : 'connecting';
    const silence = new AbortController();
    let quiet: number | undefined;
    const expectMore = () => {
      clearTimeout(quiet);
      quiet = setTimeout(() => silence.abort(), silenceMsMax);
    };
    expectMore();
    try {
      const headers = { Accept: 'text/event-stream', ...(lastId !== null && { 'Last-Event-ID': lastId }) };
      const body = await openStream(`/events${queryText({ types })}`, {
        signal: AbortSignal.any([signal, silence.signal]),
        headers,
      });
      const wasLost = connection.value === 'lost';
      connection.value = 'live';
      retryMs = retryMsMin;
      // Without the id of an event, the service cannot send what the page has missed.
      if (lastId === null) {
        if (wasLost) hear({ id: '', type: 'gap', data: { reason: 'reconnected', lost: null } });
        else hint('opened', () => true);
      }
      const parser = createParser({ onEvent: received });
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        expectMore();
        parser.feed(part.value);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refusal && (error.status === 401 || error.status === 403)) return stop();
    } finally {
      clearTimeout(quiet);
    }
    if (signal.aborted) return;
    connection.value = 'lost';
    await new Promise(resolve => setTimeout(resolve, retryMs));
    retryMs = Math.min(retryMs * 2, retryMsMax);
  }
}

function received({ id, event, data }: EventSourceMessage): void {
  if (id !== undefined) lastId = id;
  heardInSecond++;
  hear({ id: id ?? '', type: event ?? 'message', data: JSON.parse(data) });
}

function hear(event: LiveEvent): void {
  const isGap = event.type === 'gap';
  if (isGap && event.data['reason'] === 'too_slow') heardInSecond += busyEventsPerS;
  for (const { types, heard } of [...listeners]) if (isGap || types.some(type => fits(type, event.type))) heard(event);
}

/**
 * Sends an event `busy` or `opened`, without id and data, to the listeners that may have missed events: those without `each` that have a type for
 * which `isMeant` is true.
 */
function hint(type: 'busy' | 'opened', isMeant: (type: string) => boolean): void {
  for (const { types, each, heard } of [...listeners])
    if (!each && types.some(isMeant)) heard({ id: '', type, data: {} });
}

export function fits(pattern: string, type: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
}

setInterval(() => {
  const canSkip = !isEachWanted();
  const wasBusy = busyUntil > 0;
  if (heardInSecond > busyEventsPerS && canSkip) busyUntil = performance.now() + busyMs;
  else if (busyUntil <= performance.now() || !canSkip) busyUntil = 0;
  heardInSecond = 0;
  busySeconds = busyUntil > 0 ? busySeconds + 1 : 0;
  if (busySeconds % busyFetchS === 1) hint('busy', type => type.startsWith('job.'));
  if (wasBusy === busyUntil > 0) return;
  // The service does not send again what the stream left out. The new stream therefore begins without a last id, and the listeners fetch everything
  // again after `opened` or the gap.
  stream?.abort();
  stream = null;
  lastId = null;
  if (wasBusy) hear({ id: '', type: 'gap', data: { reason: 'busy', lost: null } });
  later();
}, 1_000);

effect(() => {
  if (session.value === null) stop();
  else later();
});

document.addEventListener('visibilitychange', watchVisibility);
watchVisibility();
