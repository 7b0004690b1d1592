// The seam between the service and an HTTP server: what a server hands over, and what it is asked to write. Two servers lie
// behind it: uws.ts and node.ts.

import type { Certificate } from '../../config/certificate.ts';
import type { ListenAddress } from '../../config/config.ts';
import type { Served } from '../../service/doctor/certificates.ts';
import type { RequestSource } from '../head.ts';
import type { ResponseHead } from '../response-head.ts';

/** An answer as its server takes it. After the abort or the end nothing of it may be called. */
export interface ResponseTarget {
  /** Called once when the caller goes away, or its connection is closed, before the answer is complete. */
  onAborted(aborted: () => void): void;
  /**
   * Asks for the body. The chunk is a view of memory that is used again. `length`: of the whole body; null where it comes in chunks.
   */
  onBody(length: number | null, arrived: (chunk: Uint8Array, isLast: boolean) => void): void;
  /** The request is whole and is answered later: what follows on its connection waits until then. */
  hold(): void;
  /** The whole answer. */
  respond(head: ResponseHead, body: string | Uint8Array): void;
  /** The whole answer, without its body: to HEAD with the length of that body, with 304 null. */
  respondBare(head: ResponseHead, length: number | null): void;
  /** The whole answer, and the end of the connection: nothing behind the request is handled. */
  respondLast(head: ResponseHead, body: string): void;
  /** Begins an answer that is streamed. */
  begin(head: ResponseHead): void;
  /** False: it waits in memory. */
  write(text: string): boolean;
  /** Calls whenever there is room to write again. */
  onWritable(writable: () => void): void;
  end(): void;
  /** Ends the connection, with half an answer. */
  close(): void;
}

/** Whom a server hands its requests to. */
export type Face = {
  /** `request` is gone once this returns. Throws nothing. */
  begin(response: ResponseTarget, request: RequestSource): void;
  /** For an answer that the server gives by itself. */
  nextRequestId(): string;
};

/** The TLS library of the server does not take a certificate. */
export class CertificateFault extends Error {}

/** An address that is bound. Nothing that comes in is answered before `open`. */
export type Listener = {
  readonly port: number;
  /** Whether it takes bodies in chunks; where not, every Transfer-Encoding is refused. */
  readonly takesChunks: boolean;
  open(face: Face): void;
  /** Null: it speaks HTTP without TLS. */
  served(): Served | null;
  /** New connections get this one; those that are open stay. Throws a CertificateFault, and then nothing has changed. */
  renew(certificate: Certificate): void;
  /** Takes no new connections; those that are open are answered, and then closed while the engine is stopping. */
  stopListening(): void;
  /** Ends everything at once. */
  close(): void;
};

export const transportNames = ['uws', 'node'] as const;
export type TransportName = (typeof transportNames)[number];

export type Transport = {
  readonly name: TransportName;
  /** With a certificate it speaks HTTPS. Null: the address cannot be listened on. Throws a CertificateFault. */
  bind(address: ListenAddress, certificate: Certificate | null): Promise<Listener | null>;
};

/** How long a connection may idle, a head may take to arrive, and a reader may take nothing of its answer. uWebSockets.js has it built in. */
export const idleMsMax = 10_000;
