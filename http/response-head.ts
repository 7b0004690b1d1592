// Encodes status lines and headers.
import { STATUS_CODES } from 'node:http';
import type { Headers } from './answer.ts';

export const jsonType = 'application/json';
export const problemType = 'application/problem+json';
export const noHeaders: Headers = [];

const statusLines: { [status: number]: string } = {};

/** The text of a status line, such as `202 Accepted`. */
function statusLine(status: number): string {
  statusLines[status] ??= `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
  return statusLines[status];
}

export type ResponseHead = {
  readonly status: number;
  readonly requestId: string;
  readonly contentType: string | null;
  readonly headers: Headers;
  /**
   * Whether the route is open. An answer of any other route gets `Cache-Control: no-store`, unless `headers` has a Cache-Control.
   */
  readonly isOpen: boolean;
  /** Whether the connection is to be closed after this answer. uWebSockets.js closes it only after an answer with a complete body. */
  readonly isClosing: boolean;
};

/** The status line and headers as one string: uWebSockets.js then needs a single call into native code for all headers. */
export function headText(head: ResponseHead): string {
  let block = `${statusLine(head.status)}\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: ${head.requestId}`;
  if (head.contentType !== null) block += `\r\nContent-Type: ${head.contentType}`;
  for (const [name, value] of head.headers) block += `\r\n${name}: ${visible(value)}`;
  return mayStore(head) ? block : `${block}\r\nCache-Control: no-store`;
}

/** The headers as a list: name, value, name, value … */
export function headList(head: ResponseHead): string[] {
  const list = ['X-Content-Type-Options', 'nosniff', 'X-Request-Id', head.requestId];
  if (head.contentType !== null) list.push('Content-Type', head.contentType);
  for (const [name, value] of head.headers) list.push(name, visible(value));
  if (!mayStore(head)) list.push('Cache-Control', 'no-store');
  return list;
}

function mayStore({ isOpen, headers }: ResponseHead): boolean {
  return isOpen || headers.some(isCacheControl);
}

function isCacheControl([name]: Headers[number]): boolean {
  return name === 'Cache-Control';
}

/** Removes all characters except visible ASCII, space and tab, so a value cannot end its header. */
function visible(value: string): string {
  return value.replace(/[^\t\x20-\x7e]/g, '');
}
