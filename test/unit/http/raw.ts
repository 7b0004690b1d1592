// Requests as bytes over a socket, for what no HTTP client would send.
import { connect } from 'node:net';

export type RawAnswer = { readonly text: string; readonly isClosed: boolean };

/**
 * Sends the parts one after the other, and waits until `until` accepts the received text, or the server closes the connection. Rejects if
 * neither happens in time.
 */
export function exchange(
  port: number,
  parts: readonly string[],
  until: (text: string) => boolean,
  timeoutMs = 60_000,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let text = '';
    let isOver = false;
    const finish = (isClosed: boolean) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, isClosed });
    };
    const timer = setTimeout(() => {
      isOver = true;
      socket.destroy();
      reject(new Error(`neither answered nor closed; so far: ${text.slice(0, 500)}`));
    }, timeoutMs);
    socket.on('data', data => {
      text += data.toString('latin1');
      if (until(text)) finish(false);
    });
    socket.on('error', () => {});
    socket.on('close', () => finish(true));
    socket.on('connect', async () => {
      for (const part of parts) {
        if (isOver) return;
        await new Promise<void>(sent => socket.write(Buffer.from(part, 'latin1'), () => sent()));
        await takenIn();
      }
    });
  });
}

/**
 * Waits until the server, in this process, has read what was sent: its sockets are polled between rounds of the event loop. A system that is
 * busy may deliver it later.
 */
export async function takenIn(): Promise<void> {
  for (let round = 0; round < 4; round++) await new Promise(resume => setImmediate(resume));
}

/** Sends the parts, and reads until the server ends the connection. */
export function untilClosed(port: number, ...parts: readonly string[]): Promise<RawAnswer> {
  return exchange(port, parts, () => false);
}

export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(match => Number(match[1]));
}
