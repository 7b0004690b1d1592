// Translates requests and responses for plugins with `manifest_spec: ductile.plugin`, which run unmodified.

import { isObject } from '../../json-value.ts';
import { type Json, type JsonObject, pack } from '../../packing.ts';
import type { FrameGroup } from './frame.ts';

/** Adds to the context the entries that plugins of this dialect expect. Outside a pipeline, the entries for pipeline and step are omitted. */
export function nameForDuctile(context: { [key: string]: Json }, plugin: string, group: FrameGroup): void {
  context['ductile_plugin'] = plugin;
  context['ductile_route_depth'] = group.depth;
  if (group.pipeline !== null) context['ductile_pipeline'] = group.pipeline;
  if (group.stepId !== null) context['ductile_step_id'] = group.stepId;
}

/**
 * Adds the top-level entries of the baggage to the data of an event, except entries whose keys the data already has. Data that is not an
 * object stays as it is. The `schedule` of the context is left out, because it is not baggage. `context`: the context of the request, before
 * `nameForDuctile` has changed it.
 */
export function payloadForDuctile(context: JsonObject, payload: Json): Json {
  if (!isObject(payload)) return payload;
  const { pipeline: _p, step_id: _s, depth: _d, schedule: _o, ...baggage } = context;
  return { ...(baggage as JsonObject), ...payload };
}

/**
 * Adds the answer's `result` to the payload of each event. An absent payload, or null, counts as an empty object. A payload that is no
 * object, or has a `result` already, stays as it is.
 */
export function answerOfDuctile(answer: unknown): unknown {
  if (!isObject(answer)) return answer;
  const { result, events } = answer;
  if (result === undefined || result === null || !Array.isArray(events)) return answer;
  return { ...answer, events: events.map(event => withResult(event, result)) };
}

/** The packed size of all copies of the result in what `answerOfDuctile` returns; 0 if no event gets the result. */
export function resultBytesOfDuctile(answer: unknown): number {
  if (!isObject(answer)) return 0;
  const { result, events } = answer;
  if (result === undefined || result === null || !Array.isArray(events)) return 0;
  const copies = events.filter(event => withResult(event, result) !== event).length;
  return copies === 0 ? 0 : (copies + 1) * pack(result).length;
}

function withResult(event: unknown, result: unknown): unknown {
  if (!isObject(event)) return event;
  const payload = event['payload'] ?? {};
  return isObject(payload) && !Object.hasOwn(payload, 'result') ? { ...event, payload: { ...payload, result } } : event;
}
