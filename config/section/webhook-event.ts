// What of a delivery goes into its event besides the body: headers by name, and the type, which may be a template over both.
import type { Report } from '../check/problem.ts';
import { hint } from '../check/suggestion.ts';
import type { EventTemplate, WebhookEndpoint } from '../config.ts';
import { parseText } from '../pipeline/template.ts';
import { itemsOf, type NodePath, nodeAt, type SourceNode, textOf, textsOf } from '../source/tree.ts';

/** Names of headers in an endpoint, and characters of a header. */
export const eventHeadersMax = 16;
export const eventHeaderCharsMax = 256;
/** What the type of a delivery's event may be. */
export const eventTypeShape = /^[A-Za-z0-9._-]{1,128}$/;
export const eventTypeExpected = '1 to 128 letters, digits, ".", "_" and "-"';

/** Credentials: whoever reads the event or the job would have them. */
const secretHeaders = ['authorization', 'proxy-authorization', 'cookie'];
const roots = ['headers', 'payload'] as const;

/** Of one endpoint; `signatureHeader` is that of its scheme. */
export function checkEvent(item: SourceNode, path: NodePath, signatureHeader: string, report: Report): void {
  checkHeaderNames(item, path, signatureHeader, report);
  const node = nodeAt(item, 'event');
  const text = textOf(node);
  if (node === undefined || text === undefined || text === '') return;
  const refuse = (message: string) => report({ place: node.place, path: [...path, 'event'], message });
  const parts = parseText(text, roots);
  if ('wrong' in parts) {
    refuse(parts.wrong);
    return;
  }
  const names = textsOf(nodeAt(item, 'headers'));
  for (const part of parts) {
    if (typeof part === 'string') continue;
    const [name = ''] = part.keys;
    if (part.root === 'headers' && (part.keys.length !== 1 || !names.includes(name))) {
      refuse(
        `${JSON.stringify(part.keys.join('.'))} is not among the "headers" of the endpoint${hint(name, names, 'headers')}`,
      );
    } else if (part.keys.length === 0)
      refuse('{payload} is the whole body; name a string in it, such as {payload.action}');
  }
  const literals = parts.filter(part => typeof part === 'string').join('');
  if (literals !== '' && !eventTypeShape.test(literals))
    refuse(`${JSON.stringify(text)}: a type has ${eventTypeExpected}`);
}

function checkHeaderNames(item: SourceNode, path: NodePath, signatureHeader: string, report: Report): void {
  const seen = new Set<string>();
  for (const [index, node] of itemsOf(nodeAt(item, 'headers')).entries()) {
    const name = textOf(node)?.toLowerCase();
    if (name === undefined) continue;
    const refuse = (message: string) => report({ place: node.place, path: [...path, 'headers', index], message });
    if (secretHeaders.includes(name)) refuse('carries credentials, which never go into an event; remove it');
    else if (name === signatureHeader.toLowerCase())
      refuse('carries the signature, which never goes into an event; remove it');
    else if (seen.has(name)) refuse('is there already; the case of letters does not count');
    seen.add(name);
  }
}

/** Of an endpoint that was checked. */
export function readEvent(item: SourceNode): Pick<WebhookEndpoint, 'headers' | 'event'> {
  const headers = textsOf(nodeAt(item, 'headers'));
  const written = textOf(nodeAt(item, 'event')) ?? '';
  const parts = parseText(written, roots);
  const event: EventTemplate | null = written === '' || 'wrong' in parts ? null : { written, parts };
  return { ...(headers.length > 0 && { headers }), ...(event && { event }) };
}
