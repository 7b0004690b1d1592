// All bytes that any socket of this test process receives, as they arrive: answers and event streams alike.
import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { overlapBytes, sweepBytes } from './sweep.ts';

type Heard = { chunks: Buffer[]; swept: number; readonly socket: Socket };

/** When more bytes than this have been received, they are swept at once. */
const bytesMax = 64 * 1024 * 1024;
const heard = new Set<Heard>();
const findings: string[] = [];
let bytes = 0;

// `push` is replaced because each event of Node for received data changes how the socket is read.
diagnostics.subscribe('net.client.socket', message => {
  const { socket } = message as { readonly socket: Socket };
  const one: Heard = { chunks: [], swept: 0, socket };
  heard.add(one);
  const push = socket.push;
  socket.push = (chunk: unknown, encoding) => {
    if (chunk instanceof Uint8Array) take(one, Buffer.from(chunk));
    return push.call(socket, chunk, encoding);
  };
});

function take(one: Heard, chunk: Buffer): void {
  one.chunks.push(chunk);
  bytes += chunk.length;
  if (bytes > bytesMax) sweepHeard();
}

/** Sweeps what was received since the last sweep. Returns all findings since the last call. */
export function sweepTranscripts(): string[] {
  sweepHeard();
  return findings.splice(0);
}

function sweepHeard(): void {
  for (const one of heard) {
    const all = Buffer.concat(one.chunks);
    findings.push(...sweepBytes('received', all, one.swept));
    // The end is kept, because a secret may arrive in two pieces.
    const rest = all.subarray(-overlapBytes);
    one.swept += all.length - rest.length;
    one.chunks = [Buffer.from(rest)];
    if (one.socket.destroyed) heard.delete(one);
  }
  bytes = 0;
}
