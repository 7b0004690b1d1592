// Chooses the HTTP server, binds addresses, and serves routes on them.

import type { Certificate } from '../config/certificate.ts';
import type { Config, ListenAddress } from '../config/config.ts';
import type { ListenerName } from '../config/section/tls.ts';
import { BodyRoom, batchBodiesBytesMax, bodiesBytesMax } from './body.ts';
import { Exchange } from './exchange.ts';
import type { ListenerContext } from './listener-context.ts';
import { nodeTransport } from './transport/node.ts';
import { CertificateFault, type Listener, type Transport } from './transport/transport.ts';
import { loadUws } from './transport/uws.ts';

export type ServeOptions = Omit<ListenerContext, 'room' | 'batchRoom' | 'takesChunks' | 'nextRequestId'> & {
  /** The prefix of generated request ids. It differs between starts of the service and between listeners. */
  readonly idPrefix: string;
};

export type Server = Pick<Listener, 'port' | 'served' | 'renew' | 'stopListening' | 'close'>;

/**
 * Thrown if the service cannot listen on an address. `setting` is the key of the address in the configuration, such as
 * `api.listen`.
 */
export class ListenFault extends Error {
  readonly code = 'listen_failed';
  constructor(setting: string, { host, port }: ListenAddress) {
    super(`${setting}: cannot listen on ${host}:${port}: in use, or not an address of this machine`);
  }
}

/** Thrown if the HTTP server that the configuration names cannot be loaded. */
export class TransportFault extends Error {
  readonly code = 'server_not_loaded';
  constructor(reason: string) {
    super(`api.server: uWebSockets.js cannot be loaded; set api.server: node, or auto (${reason})`);
  }
}

/**
 * Loads the HTTP server that `api.server` selects. Throws a TransportFault if the setting is `uws` and uWebSockets.js cannot be loaded. `reason`:
 * why it could not be loaded; null: it was loaded, or the configuration names another server. `scratch`: the directory for temporary files with
 * certificates.
 */
export async function chooseTransport(
  server: Config['api']['server'],
  scratch: string,
): Promise<{ readonly transport: Transport; readonly reason: string | null }> {
  if (server === 'node') return { transport: nodeTransport, reason: null };
  try {
    return { transport: await loadUws(scratch), reason: null };
  } catch (error) {
    const reason = reasonLine((error as Error).message);
    if (server === 'uws') throw new TransportFault(reason);
    return { transport: nodeTransport, reason };
  }
}

/**
 * Finds the reason in the message of a failed import: the first line that begins with `Error: `, otherwise the first line. Lines that begin with `- `
 * are skipped, because they list the importing files.
 */
function reasonLine(text: string): string {
  const lines = text
    .trim()
    .split('\n')
    .filter(line => !line.startsWith('- '));
  return lines.find(line => line.startsWith('Error: ')) ?? lines[0]!;
}

/**
 * Binds the address. No request is answered before `serve` is called. Throws a ListenFault or a CertificateFault. `section`: the section of the
 * configuration that has the address.
 */
export async function bind(
  transport: Transport,
  listen: ListenAddress,
  section: ListenerName | 'metrics',
  certificate: Certificate | null = null,
): Promise<Listener> {
  const listener = await transport.bind(listen, certificate).catch((error: Error) => {
    throw error instanceof CertificateFault ? new CertificateFault(`${section}.tls: ${error.message}`) : error;
  });
  if (listener === null) throw new ListenFault(`${section}.listen`, listen);
  return listener;
}

export function serve(listener: Listener, { idPrefix, ...rest }: ServeOptions): Server {
  let requests = 0;
  const nextRequestId = () => `${idPrefix}-${(++requests).toString(36)}`;
  const { takesChunks } = listener;
  const room = new BodyRoom(bodiesBytesMax);
  const batchRoom = new BodyRoom(batchBodiesBytesMax, room);
  const shared = { ...rest, takesChunks, room, batchRoom, nextRequestId };
  listener.open({ begin: (response, request) => new Exchange(shared, response).begin(request), nextRequestId });
  return listener;
}
