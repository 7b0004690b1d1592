// Status lines and headers as they are written.
import { STATUS_CODES } from 'node:http';
import type { Headers } from './route.ts';

export const jsonType = 'application/json';
export const problemType = 'application/problem+json';
export const noHeaders: Headers = [];

const statusLines: { [status: number]: string } = {};

/** `202 Accepted` */
function statusLine(status: number): string {
  statusLines[status] ??= `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
  return statusLines[status];
}

export type HeadOptions = {
  readonly status: number;
  readonly requestId: string;
  readonly contentType: string | null;
  readonly headers: Headers;
  readonly isOpen: boolean;
};

/** Status line and all headers of an answer as one text, to be written as a status: each crossing to the server costs as much as this. */
export function responseHead({ status, requestId, contentType, headers, isOpen }: HeadOptions): string {
  let block = `${statusLine(status)}\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: ${requestId}`;
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
