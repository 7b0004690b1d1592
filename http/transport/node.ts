// The HTTP server of Node, whose parser is stricter than that of uWebSockets.js. It serves if `api.server` is `node`, or if `api.server` is
// `auto` and uWebSockets.js cannot be loaded.
import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Certificate } from '../../config/certificate.ts';
import type { ListenAddress } from '../../config/config.ts';
import { type HttpProblem, problem } from '../problem.ts';
import { NodeConnection } from './node-connection.ts';
import { wrongVersion } from './node-request.ts';
import { CertificateFault, idleMsMax, type Listener, type RequestHandler, type Transport } from './transport.ts';

/** The maximum size of request line and headers; a larger head is refused. */
export const headBytesMax = 16_384;
/** The time between two checks for slow heads and bodies. */
const checkEveryMs = 1_000;

export const nodeTransport: Transport = { name: 'node', bind };

async function bind({ host, port }: ListenAddress, certificate: Certificate | null): Promise<Listener | null> {
  let handler: RequestHandler | null = null;
  const connections = new Map<Socket, NodeConnection>();
  const arrivals = new Set<NodeConnection>();
  const tls = certificate === null ? null : checked(() => createTlsServer({ ...options, ...pairOf(certificate) }));
  const server = tls ?? createServer(options);
  let newest = certificate;
  const handshakes = new Set<Socket>();
  if (tls !== null) trackHandshakes(tls, handshakes);
  handle(server, tls === null ? 'connection' : 'secureConnection', connections, arrivals, () => handler);
  const checks = setInterval(() => {
    const nowMs = performance.now();
    for (const connection of arrivals) connection.checkArrival(nowMs);
  }, checkEveryMs);
  checks.unref();
  const listener = (): Listener => ({
    port: (server.address() as AddressInfo).port,
    takesChunks: true,
    open(given) {
      handler = given;
      for (const connection of connections.values()) connection.opened();
    },
    served: () => newest && { newest, byAddress: newest, namesBehind: [] },
    renew(next) {
      checked(() => tls!.setSecureContext(pairOf(next)));
      newest = next;
    },
    stopListening() {
      server.close();
    },
    close() {
      clearInterval(checks);
      server.close();
      server.closeAllConnections();
      for (const socket of handshakes) socket.destroy();
    },
  });
  return new Promise(resolve => {
    server.once('error', () => {
      clearInterval(checks);
      resolve(null);
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.removeAllListeners('error');
      resolve(listener());
    });
  });
}

const options: ServerOptions & { readonly handshakeTimeout: number } = {
  // Keeps the parser strict, even if the process was started with --insecure-http-parser.
  insecureHTTPParser: false,
  maxHeaderSize: headBytesMax,
  // Node would refuse a request without Host with an empty answer; `faultOf` in node-request.ts refuses it with a problem document.
  requireHostHeader: false,
  headersTimeout: idleMsMax,
  // A large body may take long. A body that arrives too slowly is refused (node-connection.ts).
  requestTimeout: 0,
  keepAliveTimeout: idleMsMax,
  connectionsCheckingInterval: checkEveryMs,
  noDelay: true,
  handshakeTimeout: idleMsMax,
};

function pairOf({ chain, key }: Certificate) {
  return { cert: chain, key };
}

function checked<T>(use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new CertificateFault((error as Error).message);
  }
}

/**
 * Collects the sockets of a TLS server. `close` destroys them, because `closeAllConnections` does not know connections whose
 * handshake is unfinished.
 */
function trackHandshakes(server: TlsServer, handshakes: Set<Socket>): void {
  server.on('connection', (socket: Socket) => {
    handshakes.add(socket);
    socket.on('close', () => handshakes.delete(socket));
  });
}

function handle(
  server: Server | TlsServer,
  connected: 'connection' | 'secureConnection',
  connections: Map<Socket, NodeConnection>,
  arrivals: Set<NodeConnection>,
  handler: () => RequestHandler | null,
): void {
  // By default Node silently drops headers beyond a maximum number. Here `faultOf` refuses a request with too many headers, and
  // `maxHeaderSize` bounds the size of all headers together.
  server.maxHeadersCount = 0;
  const at = (socket: Socket): NodeConnection => connections.get(socket)!;
  server.on(connected, (socket: Socket) => {
    connections.set(socket, new NodeConnection(socket, handler, arrivals));
    socket.on('close', () => connections.delete(socket));
  });
  server.on('request', (request, response) => at(request.socket).take(request, response, false));
  server.on('checkContinue', (request, response) => at(request.socket).take(request, response, true));
  // Expectations other than 100-continue are ignored, which RFC 9110, 10.1.1 allows.
  server.on('checkExpectation', (request, response) => at(request.socket).take(request, response, false));
  const headers = [['Allow', 'GET, HEAD, POST']] as const;
  const tunnel = problem('method_not_allowed', 'this is not a proxy: CONNECT is not supported', { headers });
  server.on('connect', request => at(request.socket).refuse(tunnel));
  server.on('clientError', (error: ParserError, socket) => {
    const refusal = refusalOf(error);
    if (refusal === null) socket.destroy();
    else at(socket as Socket).refuse(refusal);
  });
}

type ParserError = Error & { readonly code?: string; readonly reason?: string };

/** The refusal for a parser error, or for a head that took too long; null for any other error of the connection. */
function refusalOf({ code = '', reason }: ParserError): HttpProblem | null {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem('head_too_large', `request line and headers may have at most ${headBytesMax} bytes`);
    case 'HPE_PAUSED_H2_UPGRADE':
      return wrongVersion;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem('request_timeout', `request line and headers must arrive within ${idleMsMax / 1000} s`);
    default:
      if (reason === 'Invalid HTTP version') return wrongVersion;
      if (!code.startsWith('HPE_')) return null;
      return problem('malformed_request', `this is not an HTTP request${reason ? `: ${reason}` : ''}`);
  }
}
