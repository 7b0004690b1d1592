// A listener that hands every request over: which HTTP server is behind it, what it is bound to, and what it serves.

import type { Certificate } from '../config/certificate.ts';
import type { Config, ListenAddress } from '../config/config.ts';
import type { ListenerName } from '../config/section/tls.ts';
import type { Engine } from '../service/engine.ts';
import type { Authenticate } from './auth.ts';
import { BodyRoom } from './body.ts';
import { Exchange, type Shared } from './exchange.ts';
import type { ServerLog } from './log.ts';
import type { RouteTable } from './route-table.ts';
import { nodeTransport } from './transport/node.ts';
import { CertificateFault, type Listener, type Transport } from './transport/transport.ts';
import { loadUws } from './transport/uws.ts';

export type ServeOptions = {
  /** The routes of the configuration in force; asked with every request. */
  readonly table: (config: Config) => RouteTable;
  readonly authenticate: Authenticate;
  readonly engine: Engine;
  readonly log: ServerLog;
  readonly nowMs: () => number;
  /** Begins the request ids that are made here; different for each start and listener. */
  readonly idPrefix: string;
};

export type Server = Pick<Listener, 'port' | 'served' | 'renew' | 'stopListening' | 'close'>;

/** The address cannot be listened on. `setting` names it for messages: `api.listen`. */
export class ListenFault extends Error {
  readonly code = 'listen_failed';
  constructor(setting: string, { host, port }: ListenAddress) {
    super(`${setting}: cannot listen on ${host}:${port}: in use, or not an address of this machine`);
  }
}

/** The HTTP server that the configuration asks for cannot be loaded. */
export class TransportFault extends Error {
  readonly code = 'server_not_loaded';
  constructor(reason: string) {
    super(`api.server: uWebSockets.js cannot be loaded; set api.server: node, or auto (${reason})`);
  }
}

export type Choice = {
  readonly transport: Transport;
  /** Why it is not the quicker one, where that was tried; else null. */
  readonly reason: string | null;
};

/** `scratch`: a directory for files that never have a name for long. */
export async function chooseTransport(server: Config['api']['server'], scratch: string): Promise<Choice> {
  if (server === 'node') return { transport: nodeTransport, reason: null };
  try {
    return { transport: await loadUws(scratch), reason: null };
  } catch (error) {
    const reason = lastLine((error as Error).message);
    if (server === 'uws') throw new TransportFault(reason);
    return { transport: nodeTransport, reason };
  }
}

/** The package begins with a list of all Nodes that it knows. */
function lastLine(text: string): string {
  const lines = text
    .trim()
    .split('\n')
    .filter(line => !line.startsWith('- '));
  return lines.find(line => line.startsWith('Error: ')) ?? lines[0]!;
}

/** Binds the address; nothing is answered there before `serve`. */
export async function bind(
  transport: Transport,
  listen: ListenAddress,
  section: ListenerName,
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
  const shared: Shared = { ...rest, takesChunks, room: new BodyRoom(), nextRequestId };
  listener.open({ begin: (response, request) => new Exchange(shared, response).begin(request), nextRequestId });
  return listener;
}
