// Readers of event streams for tests: the standard EventSource, and one that shows every frame as it was written.
import { connect, type Socket } from 'node:net';
import { EventSource } from 'eventsource';
import { onTestFinished } from 'vitest';
import { observationTypes } from '../../../actors/hub/protocol.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import type { Gateway } from '../../service/gateway/gateway.ts';

export type Seen = { readonly id: string; readonly type: string; readonly data: { readonly [name: string]: unknown } };

export type Source = { readonly seen: Seen[]; readonly source: EventSource; opens: number };

/** A standard EventSource. Resolves when it is open. */
export async function openSource(gateway: Gateway, query = '', token = everythingToken): Promise<Source> {
  const source = new EventSource(`${gateway.url}/events${query}`, {
    fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } }),
  });
  onTestFinished(() => source.close());
  const reader: Source = { seen: [], source, opens: 0 };
  for (const type of [...observationTypes, 'gap']) {
    source.addEventListener(type, event => {
      reader.seen.push({ id: event.lastEventId, type: event.type, data: JSON.parse(String(event.data)) });
    });
  }
  await new Promise<void>((resolve, reject) => {
    source.onopen = () => {
      reader.opens++;
      resolve();
    };
    source.onerror = error => reject(new Error(error.message ?? 'no stream'));
  });
  source.onerror = null;
  return reader;
}

export type RawReader = { text: string; bytes: number; isClosed: boolean; readonly socket: Socket };

/** Opens the stream as raw text of the connection, with the chunk headers. `isPaused`: never reads it. */
export function openRaw(gateway: Pick<Gateway, 'url'>, query = '', token = everythingToken, isPaused = false) {
  const { hostname, port, host } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port) });
  const reader: RawReader = { text: '', bytes: 0, isClosed: false, socket };
  socket.write(`GET /events${query} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  if (isPaused) socket.pause();
  else {
    socket.on('data', chunk => {
      reader.text += chunk.toString('latin1');
      reader.bytes += chunk.length;
    });
  }
  socket.on('close', () => {
    reader.isClosed = true;
  });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return reader;
}

/** What a chunked body holds. */
export function bodyOf(text: string): string {
  const body = text.slice(text.indexOf('\r\n\r\n') + 4);
  return body.replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/gi, '');
}
