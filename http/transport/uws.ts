// The HTTP server uWebSockets.js; docs/http.md lists its limits. No other file of the service imports uWebSockets.js.

import type { AppOptions, HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { Certificate } from '../../config/certificate.ts';
import type { ListenAddress } from '../../config/config.ts';
import type { Served } from '../../service/doctor/certificates.ts';
import { headText, type ResponseHead } from '../response-head.ts';
import { patternsOf } from './server-names.ts';
import {
  CertificateFault,
  type Listener,
  type RequestHandler,
  type ResponseTarget,
  type Transport,
} from './transport.ts';
import { withUnnamedFiles } from './unnamed-files.ts';
import { missingBinary, platformPackage, uwsDirectory } from './uws-binary.ts';

/** Loads uWebSockets.js. Rejects if its binary cannot be loaded. `scratch`: a directory for temporary certificate files. */
export async function loadUws(scratch: string): Promise<Transport> {
  const uws = await load();
  // Switches off the header with the server's name. The typings lack this option.
  (uws as unknown as { _cfg(option: string): void })._cfg('silent');

  // This function awaits nothing, so its promise resolves before a request is read, and the caller can bind its other listeners first.
  async function bind({ host, port }: ListenAddress, certificate: Certificate | null): Promise<Listener | null> {
    let handler: RequestHandler | null = null;
    let listening: us_listen_socket | false = false;
    const handle = (res: HttpResponse, req: HttpRequest): void => {
      const response = new UwsResponse(res);
      if (handler === null) response.close();
      else handler.begin(response, req);
      response.isCorked = false;
    };
    const app = certificate === null ? uws.App() : secureApp(certificate);
    app.any('/*', handle);
    const names = certificate === null ? null : new ServerNames(app, certificate, handle);
    // Without `exclusivePort`, a second process could silently share the port. The typings lack this form of the call.
    const listenOn = app.listen.bind(app) as unknown as ListenOn;
    listenOn(host, port, exclusivePort, socket => {
      listening = socket;
    });
    const socket = listening as us_listen_socket | false;
    if (!socket) return null;
    let isListening = true;
    return {
      port: uws.us_socket_local_port(socket),
      takesChunks: false,
      open(given) {
        handler = given;
      },
      served: () => names?.served ?? null,
      renew(next) {
        // `secureApp` throws if the certificate or its key is invalid. `addServerName` with an invalid pair would end the process
        // instead.
        secureApp(next).close();
        names!.renew(next, withPair);
      },
      stopListening() {
        if (isListening) uws.us_listen_socket_close(socket);
        isListening = false;
      },
      close() {
        isListening = false;
        app.close();
      },
    };
  }

  function secureApp(certificate: Certificate): TemplatedApp {
    return withPair(certificate, files => {
      try {
        return uws.SSLApp(files);
      } catch {
        throw new CertificateFault(
          'uWebSockets.js does not accept this certificate or its key; use an RSA or P-256 key',
        );
      }
    });
  }

  function withPair<T>({ chain, key }: Certificate, use: (files: AppOptions) => T): T {
    return withUnnamedFiles(scratch, [chain, key], ([cert, privateKey]) =>
      use({ cert_file_name: cert!, key_file_name: privateKey! }),
    );
  }

  return { name: 'uws', bind };
}

type Uws = typeof import('uWebSockets.js');

/**
 * Loads the native binary. A release depends on one package per platform; a source checkout depends on the package with the binaries of all
 * platforms.
 */
async function load(): Promise<Uws> {
  if (uwsDirectory() === undefined) return (await import(platformPackage)).default;
  const missing = missingBinary();
  if (missing !== undefined) throw new Error(missing);
  return (await import('uWebSockets.js')).default as unknown as Uws;
}

/** Calls the function with paths of temporary files that contain the certificate and its key. */
type WithPair = <T>(certificate: Certificate, use: (files: AppOptions) => T) => T;

/**
 * The certificates by server name. The app keeps its first certificate permanently: callers get it if they send no server name, or one that no
 * pattern matches.
 */
class ServerNames {
  readonly #app: TemplatedApp;
  readonly #handle: (res: HttpResponse, req: HttpRequest) => void;
  #renewals = 0;
  served: Served;

  constructor(app: TemplatedApp, certificate: Certificate, handle: (res: HttpResponse, req: HttpRequest) => void) {
    this.#app = app;
    this.#handle = handle;
    this.served = { newest: certificate, byAddress: certificate, namesBehind: [] };
  }

  renew(certificate: Certificate, withPair: WithPair): void {
    this.#renewals += 1;
    const { patterns, behind } = patternsOf(certificate.names, this.#renewals);
    for (const pattern of patterns) {
      withPair(certificate, files => this.#app.addServerName(pattern, files));
      // Each pattern has its own routes, so the handler is registered for each.
      this.#app.domain(pattern).any('/*', this.#handle);
    }
    this.served = { ...this.served, newest: certificate, namesBehind: behind };
  }
}

type ListenOn = (host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void) => void;
const exclusivePort = 1;

/** The size of the buffer in which uWebSockets.js collects answers before it sends them. */
const corkedBytesMax = 16_384;

class UwsResponse implements ResponseTarget {
  readonly #res: HttpResponse;
  /** Whether uWebSockets.js collects writes now, which it does in its callbacks. Otherwise writes must be inside `cork`. */
  isCorked = true;
  #isHeld = false;
  #isOver = false;
  #begun: ResponseHead | null = null;

  constructor(res: HttpResponse) {
    this.#res = res;
  }

  onAborted(aborted: () => void): void {
    this.#res.onAborted(aborted);
  }

  onBody(_length: number | null, arrived: (chunk: Uint8Array, isLast: boolean) => void): void {
    this.#res.onData((chunk, isLast) => {
      this.isCorked = true;
      arrived(Buffer.from(chunk), isLast);
      this.isCorked = false;
    });
  }

  // While reading is paused, uWebSockets.js does not notice that the caller disconnects. If more requests follow in the same network packet, uWebSockets.js still handles them, but then closes the connection and aborts them.
  // This happens before submissions are sent to the ledger, so the submissions of aborted requests are withdrawn.
  hold(): void {
    this.#res.pause();
    this.#isHeld = true;
  }

  respond(head: ResponseHead, body: string | Uint8Array): void {
    this.#write(() => {
      this.#release();
      this.#res.writeStatus(headText(head));
      this.#res.end(body, head.isClosing);
    });
  }

  respondBare(head: ResponseHead, length: number | null): void {
    this.#write(() => {
      this.#release();
      this.#res.writeStatus(headText(head));
      // The length is written as a header. If it were an argument of `endWithoutBody`, uWebSockets.js would wait for a body of this length.
      if (length !== null) this.#res.writeHeader('Content-Length', String(length));
      this.#res.endWithoutBody();
    });
  }

  // uWebSockets.js would handle further requests in the same network packet before it closes the connection. It closes at once only after
  // an answer that exceeds its send buffer, so the answer is padded.
  respondLast(head: ResponseHead, body: string): void {
    this.respond({ ...head, isClosing: true }, body + ' '.repeat(corkedBytesMax));
  }

  /** Keeps the head until the first write, or the end of the answer, sends it. */
  begin(head: ResponseHead): void {
    this.#begun = head;
  }

  write(text: string): boolean {
    let isThrough = true;
    this.#res.cork(() => {
      this.#writeBegun();
      isThrough = this.#res.write(text);
    });
    return isThrough;
  }

  onWritable(writable: () => void): void {
    this.#res.onWritable(() => {
      writable();
      // uWebSockets.js sends buffered data only in a write or at the end of a call of `cork`.
      if (!this.#isOver) this.#res.cork(() => {});
      return true;
    });
  }

  end(): void {
    this.#isOver = true;
    this.#res.cork(() => {
      this.#writeBegun();
      this.#release();
      this.#res.end();
    });
  }

  close(): void {
    this.#isOver = true;
    this.#res.close();
  }

  #writeBegun(): void {
    if (this.#begun !== null) this.#res.writeStatus(headText(this.#begun));
    this.#begun = null;
  }

  /**
   * Lets the next request of the connection be read, in a later iteration of the event loop. Must be called before the end of the answer,
   * because the response cannot be used afterwards.
   */
  #release(): void {
    if (this.#isHeld) this.#res.resume();
  }

  #write(write: () => void): void {
    if (this.isCorked) write();
    else this.#res.cork(write);
  }
}
