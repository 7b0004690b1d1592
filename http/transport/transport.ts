// The interface between the routes and an HTTP server. Two servers implement it: uws.ts and node.ts.

import type { Certificate } from '../../config/certificate.ts';
import type { ListenAddress } from '../../config/config.ts';
import type { Served } from '../../service/doctor/certificates.ts';
import type { RequestSource } from '../head.ts';
import type { ResponseHead } from '../response-head.ts';

/** The response side of a request. After the abort or the end of the answer, no method may be called. */
export interface ResponseTarget {
  /** Registers a function that is called once if the connection closes before the answer is complete. */
  onAborted(aborted: () => void): void;
  /**
   * Asks for the body. After `arrived` has returned, the server may reuse the memory of the chunk. `length` is the length of the
   * whole body; null if the body is chunked.
   */
  onBody(length: number | null, arrived: (chunk: Uint8Array, isLast: boolean) => void): void;
  /** Tells the server that the request will be answered later. Until then, further requests of its connection wait, or are aborted (uws.ts). */
  hold(): void;
  respond(head: ResponseHead, body: string | Uint8Array): void;
  /**
   * Writes a complete answer without a body. `length`: the length of the body that an answer to HEAD omits; null if it is
   * unknown, and for 304.
   */
  respondBare(head: ResponseHead, length: number | null): void;
  /** Writes the complete answer and closes the connection; further requests on it are ignored. */
  respondLast(head: ResponseHead, body: string): void;
  begin(head: ResponseHead): void;
  /** Writes a part of a streamed answer. False: the text waits in memory, because the reader is slow. */
  write(text: string): boolean;
  /** Registers a function that is called whenever there is room to write again. */
  onWritable(writable: () => void): void;
  end(): void;
  /** Closes the connection at once, even in the middle of an answer. */
  close(): void;
}

export type RequestHandler = {
  /** Handles a request. `request` is invalid once `begin` has returned. Never throws. */
  begin(response: ResponseTarget, request: RequestSource): void;
  /** The request id of an answer that the server writes by itself. */
  nextRequestId(): string;
};

/** Thrown if the TLS library of the server rejects a certificate. */
export class CertificateFault extends Error {}

/** A bound address. No request is answered before `open` is called. */
export type Listener = {
  readonly port: number;
  /** Whether the server accepts chunked bodies. If not, every Transfer-Encoding is refused. */
  readonly takesChunks: boolean;
  open(handler: RequestHandler): void;
  /** The certificates in use; null: HTTP without TLS. */
  served(): Served | null;
  /**
   * Uses this certificate for new connections. With uWebSockets.js, some callers still get an older certificate; `served` says which. Has no
   * effect if it throws a CertificateFault.
   */
  renew(certificate: Certificate): void;
  /** Stops accepting connections. While the service is stopping, open connections are closed after their next answer (`isClosing`). */
  stopListening(): void;
  /** Closes all connections at once. */
  close(): void;
};

export const transportNames = ['uws', 'node'] as const;
export type TransportName = (typeof transportNames)[number];

export type Transport = {
  readonly name: TransportName;
  /**
   * Binds an address, with a certificate for HTTPS. Null: the server cannot listen on the address. Rejects with a CertificateFault if the
   * certificate cannot be used.
   */
  bind(address: ListenAddress, certificate: Certificate | null): Promise<Listener | null>;
};

/** How long a connection may idle, a head may take to arrive, and a reader may pause. uWebSockets.js has this value built in. */
export const idleMsMax = 10_000;
