// The event stream (docs/contract.md#events), as Server-Sent Events.

import { everything, type Filter, typesOf } from '../../actors/hub/filter.ts';
import { observationTypes } from '../../actors/hub/protocol.ts';
import { didYouMean } from '../../config/check/suggestion.ts';
import { formatId } from '../../runtime/ids.ts';
import { Type } from '../../runtime/schema-type.ts';
import { type StreamRights, streamsMax } from '../../service/events/streams.ts';
import type { Caller } from '../auth.ts';
import { problem } from '../problem.ts';
import { jobIdText, type Parameter } from '../query.ts';
import { anyOf, type Headers, type HttpCall, route } from '../route.ts';
import { maySeeResults } from './jobs.ts';

const wholeNumber = /^\d{1,15}$|^[0-8]\d{15}$/;

const eventId: Parameter<number> = {
  schema: { type: 'integer', minimum: 0 },
  rule: 'must be the id of an event',
  read: text => (wholeNumber.test(text) ? Number(text) : undefined),
};

/** The patterns of event types. The handler finds the types that match them. */
const patterns: Parameter<readonly string[]> = {
  schema: { type: 'string', examples: ['job.*,pipeline.completed'] },
  rule: 'must be a list of types, such as job.*,pipeline.completed',
  read: text => (text === '' ? undefined : text.split(',').map(pattern => pattern.trim())),
};

const gapType = 'gap';
const typePatterns = [
  ...observationTypes,
  ...new Set(observationTypes.map(type => type.replace(/\..*/, '.*'))),
  gapType,
];

const headers: Headers = [
  ['Cache-Control', 'no-cache'],
  ['Connection', 'keep-alive'],
];

export const getEvents = route({
  method: 'GET',
  path: '/events',
  section: 'Observation',
  summary: 'Streams events as they happen, as Server-Sent Events.',
  access: anyOf('events:ro', 'events:rw'),
  query: { types: patterns, job_id: jobIdText, root: jobIdText, run: jobIdText, last_event_id: eventId },
  problems: ['too_many_streams'],
  answers: {
    200: {
      description: 'An event stream; docs/events.md lists its types.',
      schema: Type.String(),
      types: ['text/event-stream'],
    },
  },
  handle(call) {
    const { types = [], job_id: jobId = null, root, run, last_event_id: queryId } = call.query;
    // `gap` events are sent for every filter. A filter that names only `gap` selects no other event.
    const unknown = types.find(pattern => pattern !== gapType && typesOf(pattern).length === 0);
    if (unknown !== undefined) {
      const meant = didYouMean(unknown, typePatterns);
      return problem(
        'invalid_query',
        `the query parameter "types" has ${JSON.stringify(unknown)}, which matches no type of event${meant}`,
      );
    }
    const { events } = call.engine;
    if (events.isFull)
      return problem(
        'too_many_streams',
        `too many event streams are open (limit ${streamsMax.toLocaleString('en-US')})`,
      );
    const filter: Filter = {
      types: types.length === 0 ? everything.types : new Set(types.flatMap(typesOf)),
      jobId,
      root: root ? formatId(root) : null,
      run: run ? formatId(run) : null,
    };
    const after = headerId(call) ?? queryId ?? null;
    return {
      kind: 'stream',
      contentType: 'text/event-stream',
      headers,
      open(sink) {
        call.onGone(events.open({ sink, filter, after, rights: () => rightsOf(call.callerNow()) }));
      },
    };
  },
});

function rightsOf(caller: Caller | undefined): StreamRights | null {
  return caller ? { withErrors: maySeeResults(caller), expiresAtMs: caller.expiresAtMs } : null;
}

/**
 * The id in the Last-Event-ID header. The header takes precedence over the query, because a client that reconnects repeats the URL of its first
 * request. An id that is not a whole number counts as the id of an unknown event.
 */
function headerId(call: Pick<HttpCall, 'header'>): number | undefined {
  const text = call.header('last-event-id');
  if (text === undefined || text === '') return undefined;
  return wholeNumber.test(text) ? Number(text) : Number.MAX_SAFE_INTEGER;
}
