// Status lines and headers as they are written.
import { STATUS_CODES } from 'node:http';
import type { Headers } from './route.ts';

export const jsonType = 'application/json';
export const problemType = 'application/problem+json';
export const noHeaders: Headers = [];

const statusLines: { [status: number]: string } = {};

/** `202 Accepted` */
export function statusLine(status: number): string {
  statusLines[status] ??= `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
  return statusLines[status];
}

/** The header that begins the block; its name is written by itself. */
export const firstHeader = 'X-Content-Type-Options';

/** All headers of an answer as the value of the first: each crossing to the server costs as much as building this string. */
export function headerBlock(requestId: string, contentType: string | null, headers: Headers, isOpen: boolean): string {
  let block = `nosniff\r\nX-Request-Id: ${requestId}`;
  if (contentType !== null) block += `\r\nContent-Type: ${contentType}`;
  let mayStore = isOpen;
  for (const [name, value] of headers) {
    if (name === 'Cache-Control') mayStore = true;
    block += `\r\n${name}: ${visible(value)}`;
  }
  return mayStore ? block : `${block}\r\nCache-Control: no-store`;
}

/** A value cannot end its header: all but visible characters, space and tab go. */
function visible(value: string): string {
  return value.replace(/[^\t\x20-\x7e]/g, '');
}
