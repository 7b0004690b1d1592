// Builds the request to a plugin from a task and its frame. Workers and programs get the same fields.

import { type Json, unpack } from '../../packing.ts';
import type { Envelope, Occurrence, Request } from '../api/plugin-api.ts';
import { nameForDuctile, payloadForDuctile } from './ductile.ts';
import type { FrameGroup, FrameReader } from './frame.ts';
import type { HostedPlugin } from './plugin-host.ts';

/** A request to any command. A request to `handle` also has `event`, and its `payload` is the whole envelope. */
export type AnyRequest = Request<Json> & { readonly event?: Envelope<Json> };

const protocol = 2 as const;
const packedEmptyMap = 0x80;

/** `payload`: the task's decoded payload. `deadline_at`: RFC 3339 text. */
export function makeRequest(
  frame: FrameReader,
  task: number,
  plugin: HostedPlugin,
  payload: Json,
  state: { [key: string]: Json },
  deadline_at: string,
): AnyRequest {
  const group = frame.group(task);
  const job_id = frame.jobId(task);
  const { command } = frame;
  const attempt = frame.attempt(task);
  const context = makeContext(group);
  let data = payload;
  if (plugin.dialect === 'ductile') {
    if (command === 'handle') data = payloadForDuctile(context, payload);
    nameForDuctile(context, plugin.instance, group);
  }
  const event =
    group.event === null || command !== 'handle' ? null : makeEnvelope(group, group.event, job_id, data, context);
  const secrets = frame.freshSecrets();
  const { config } = plugin;
  const request = {
    protocol,
    job_id,
    attempt,
    command,
    config,
    state,
    payload: event ?? data,
    context,
    deadline_at,
  } as const;
  // `event` and `secrets` are added to the object itself, because `makeRequest` runs for every job, and a copy of the object would cost
  // more.
  if (event !== null) (request as { event?: Envelope<Json> }).event = event;
  if (secrets !== null) (request as { secrets?: typeof secrets }).secrets = secrets;
  return request;
}

/** Decodes a packed map. An empty map is recognized without the decoder, because this is cheaper. */
export function unpackObject(packed: Uint8Array): { [key: string]: Json } {
  return packed[0] === packedEmptyMap ? {} : unpack<{ [key: string]: Json }>(packed);
}

function makeContext({ context, pipeline, stepId: step_id, depth }: FrameGroup): { [key: string]: Json } {
  if (context[0] === packedEmptyMap) return { pipeline, step_id, depth };
  const baggage = unpack<{ [key: string]: Json }>(context);
  baggage['pipeline'] = pipeline;
  baggage['step_id'] = step_id;
  baggage['depth'] = depth;
  return baggage;
}

let textOfUs = -1;
let text = '';

/** The timestamp of the envelope. The last text is cached, because most tasks of a frame were accepted together. */
function timestampOf({ createdUs }: FrameGroup): string {
  if (createdUs !== textOfUs) {
    textOfUs = createdUs;
    text = new Date(createdUs / 1000).toISOString();
  }
  return text;
}

function makeEnvelope(
  group: FrameGroup,
  event: NonNullable<FrameGroup['event']>,
  event_id: string,
  payload: Json,
  context: { readonly [key: string]: Json },
): Envelope<Json> {
  const { type, source, dedupeKey, headers } = event;
  const timestamp = timestampOf(group);
  const envelope: { -readonly [Member in keyof Envelope<Json>]: Envelope<Json>[Member] } = {
    type,
    payload,
    event_id,
    timestamp,
    source,
  };
  if (dedupeKey !== null) envelope.dedupe_key = dedupeKey;
  if (source.startsWith('schedule:')) envelope.schedule = { ...(context['schedule'] as Occurrence) };
  // Each task gets a copy of the headers, because handlers may change them.
  if (headers !== undefined) envelope.headers = { ...headers };
  return envelope;
}
