// The HTTP server of this test run, and the list of what the core of uWebSockets.js does not support; only this file and the
// table of docs/http.md list it. node:http supports all of it.
import { tmpdir } from 'node:os';
import type { ListenAddress } from '../../../config/config.ts';
import { bind, chooseTransport } from '../../../http/server.ts';
import type { Listener, TransportName } from '../../../http/transport/transport.ts';

/** The server of this run; `TEST_SERVER=node` selects the other one. */
export const server: TransportName = process.env['TEST_SERVER'] === 'node' ? 'node' : 'uws';

const uws = [
  'a body in chunks',
  'a request line in pieces',
  'HTTP/1.0',
  'a header name with `_`',
  'a target in absolute form',
  'a byte beyond ASCII at an end of a header',
  'a malformed head, for example with more than 100 lines',
  'a request that the parser refuses with a response',
  'a pipelined request behind one with a body, in the same packet',
  'a pipelined request without a body, behind one that waits',
  'a caller that disconnects during a synchronous call',
] as const;

export type Feature = (typeof uws)[number];

/** The features that each server lacks. */
export const differences: { readonly [name in TransportName]: readonly Feature[] } = { uws, node: [] };

export function can(feature: Feature): boolean {
  return !differences[server].includes(feature);
}

/** Binds a listener of the server of this run. */
export async function bindHere(address: ListenAddress): Promise<Listener> {
  const { transport } = await chooseTransport(server, tmpdir());
  return bind(transport, address, 'api');
}
