// The event of a webhook delivery: its type, and the headers that the endpoint copies into it.
import type { EntryEvent } from '../../actors/job/protocol.ts';
import { follow } from '../../actors/pipeline/expressions/lookup.ts';
import type { WebhookEndpoint } from '../../config/config.ts';
import { type Path, pathText } from '../../config/pipeline/definition.ts';
import { eventHeaderCharsMax, eventTypeExpected, eventTypeShape } from '../../config/section/webhook-event.ts';
import type { EventHeaders } from '../../runtime/host/wire/plugin-host.ts';
import type { Json, JsonObject } from '../../runtime/packing.ts';
import { type HttpProblem, isProblem, problem } from '../problem.ts';
import type { HeaderOf } from './signature.ts';

/** Makes the event of a delivery whose signature is valid. */
export function eventOf(endpoint: WebhookEndpoint, header: HeaderOf, body: JsonObject): EntryEvent | HttpProblem {
  const { name, headers: names, event: template } = endpoint;
  const headers: { [name: string]: string } = {};
  for (const each of names ?? []) {
    const value = header(each.toLowerCase());
    if (value === undefined) continue;
    if (value.length > eventHeaderCharsMax) {
      return problem('invalid_request', `the header ${each} has more than ${eventHeaderCharsMax} characters`);
    }
    headers[each] = value;
  }
  const type = template ? typeOf(template.parts, headers, body) : `webhook.${name}`;
  if (isProblem(type)) return type;
  return { type, source: `webhook:${name}`, ...(names && { headers }) };
}

function typeOf(parts: readonly (string | Path)[], headers: EventHeaders, body: JsonObject): string | HttpProblem {
  let type = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      type += part;
      continue;
    }
    const value: Json | undefined = follow(part.root === 'headers' ? headers : body, part.keys);
    if (typeof value !== 'string' && typeof value !== 'number') {
      const detail = value === undefined ? 'is missing' : 'is neither a string nor a number';
      return problem('invalid_request', `the type of the event needs ${pathText(part)}, which ${detail}`);
    }
    type += value;
  }
  if (eventTypeShape.test(type)) return type;
  const shown = JSON.stringify(type.length > 128 ? `${type.slice(0, 128)}…` : type);
  return problem('invalid_request', `the type of the event would be ${shown}; it must have ${eventTypeExpected}`);
}
