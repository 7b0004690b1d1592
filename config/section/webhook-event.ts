// The parts of a webhook event besides the body: named headers, and a type that can be a template over headers and body.
import type { ReportAt } from '../check/problem.ts';
import { hint } from '../check/suggestion.ts';
import type { EventTemplate, WebhookEndpoint } from '../config.ts';
import { parseText } from '../pipeline/template.ts';
import { itemsOf, type NodePath, type SourceNode, textOf, textsOf } from '../source/tree.ts';

/** The maximum number of headers that an endpoint can copy into events. */
export const eventHeadersMax = 16;
/** The maximum length of the value of each copied header, in characters. */
export const eventHeaderCharsMax = 256;
/** Matches the valid types of a delivery's event. */
export const eventTypeShape = /^[A-Za-z0-9._-]{1,128}$/;
export const eventTypeExpected = '1 to 128 letters, digits, ".", "_" and "-"';

/** Headers that carry credentials, which readers of the event or job must not see. */
const secretHeaders = ['authorization', 'proxy-authorization', 'cookie'];
const roots = ['headers', 'payload'] as const;

/** Checks `headers` and `event` of one endpoint. `signatureHeader` is the name of the header with the signature of a delivery. */
export function checkEvent(item: SourceNode, path: NodePath, signatureHeader: string, reportAt: ReportAt): void {
  checkHeaderNames(item, path, signatureHeader, reportAt);
  const text = textOf(item, 'event');
  if (text === undefined || text === '') return;
  const refuse = (message: string) => reportAt([...path, 'event'], message);
  const parts = parseText(text, roots);
  if ('wrong' in parts) {
    refuse(parts.wrong);
    return;
  }
  const names = textsOf(item, 'headers');
  for (const part of parts) {
    if (typeof part === 'string') continue;
    const [name = ''] = part.keys;
    if (part.root === 'headers' && (part.keys.length !== 1 || !names.includes(name))) {
      refuse(
        `${JSON.stringify(part.keys.join('.'))} is not one of the "headers" of the endpoint${hint(name, names, 'headers')}`,
      );
    } else if (part.keys.length === 0)
      refuse('{payload} is the whole body; name a string in it, such as {payload.action}');
  }
  const literals = parts.filter(part => typeof part === 'string').join('');
  if (literals !== '' && !eventTypeShape.test(literals))
    refuse(`is ${JSON.stringify(text)}; the type of an event must be ${eventTypeExpected}`);
}

function checkHeaderNames(item: SourceNode, path: NodePath, signatureHeader: string, reportAt: ReportAt): void {
  const seen = new Set<string>();
  for (const [index, node] of itemsOf(item, 'headers').entries()) {
    const name = textOf(node)?.toLowerCase();
    if (name === undefined) continue;
    const refuse = (message: string) => reportAt([...path, 'headers', index], message);
    if (secretHeaders.includes(name)) refuse('carries credentials, which are never part of an event; remove it');
    else if (name === signatureHeader.toLowerCase())
      refuse('carries the signature, which is never part of an event; remove it');
    else if (seen.has(name)) refuse('is listed twice (header names are case-insensitive); remove one');
    seen.add(name);
  }
}

/**
 * Reads `headers` and `event` of an endpoint. An `event` that is not a template is left out; `checkEvent` reports it.
 */
export function readEvent(item: SourceNode): Pick<WebhookEndpoint, 'headers' | 'event'> {
  const headers = textsOf(item, 'headers');
  const written = textOf(item, 'event') ?? '';
  const parts = parseText(written, roots);
  const event: EventTemplate | null = written === '' || 'wrong' in parts ? null : { written, parts };
  return { ...(headers.length > 0 && { headers }), ...(event && { event }) };
}
