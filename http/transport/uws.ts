// The server of uWebSockets.js: quick, with an older parser (docs/http.md). The only file that knows it.

import type { AppOptions, HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { Certificate } from '../../config/certificate.ts';
import type { Served } from '../../service/doctor/certificates.ts';
import { headText, type ResponseHead } from '../response-head.ts';
import { patternsOf } from './server-names.ts';
import { CertificateFault, type Face, type Listener, type ResponseTarget, type Transport } from './transport.ts';
import { withUnnamedFiles } from './unnamed-files.ts';
import { missingBinary, platformPackage, uwsDirectory } from './uws-binary.ts';

/** Rejects where its binary cannot be loaded. `scratch`: a directory for files that it reads certificates from. */
export async function loadUws(scratch: string): Promise<Transport> {
  const uws = await load();
  // Leaves out a header with its name. The typings lack it.
  (uws as unknown as { _cfg(option: string): void })._cfg('silent');

  // All of it happens in one turn of the loop: a second listener that is bound right behind the first one comes before any request.
  async function bind(
    { host, port }: { readonly host: string; readonly port: number },
    certificate: Certificate | null,
  ): Promise<Listener | null> {
    let face: Face | null = null;
    let listening: us_listen_socket | false = false;
    const handle = (res: HttpResponse, req: HttpRequest): void => {
      const response = new UwsResponse(res);
      if (face === null) response.close();
      else face.begin(response, req);
      response.isCorked = false;
    };
    const app = certificate === null ? uws.App() : secureApp(certificate);
    app.any('/*', handle);
    const names = certificate === null ? null : new ServerNames(app, certificate, handle);
    // Exclusive: by default a second service on the port would quietly share it. The typings lack this form.
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
        face = given;
      },
      served: () => names?.served ?? null,
      renew(next) {
        // Adding a name with a pair that it does not take would end the process; making an app with it throws.
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
          'uWebSockets.js does not take this certificate or its key; an RSA or P-256 key works',
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

/** A release names a package for each platform in the place of the one that has the binaries of all. */
async function load(): Promise<Uws> {
  if (uwsDirectory() === undefined) return (await import(platformPackage)).default;
  const missing = missingBinary();
  if (missing !== undefined) throw new Error(missing);
  return (await import('uWebSockets.js')).default as unknown as Uws;
}

/** Calls with the paths of files that hold the pair, for the length of the call. */
type WithPair = <T>(certificate: Certificate, use: (files: AppOptions) => T) => T;

/** Certificates by server name. The app has its first one for good, for callers without a name. */
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
      // Each has routes of its own.
      this.#app.domain(pattern).any('/*', this.#handle);
    }
    this.served = { ...this.served, newest: certificate, namesBehind: behind };
  }
}

type ListenOn = (host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void) => void;
const exclusivePort = 1;

/** What the server gathers of a packet's answers before it sends. */
const corkedBytesMax = 16_384;

class UwsResponse implements ResponseTarget {
  readonly #res: HttpResponse;
  /** Inside a callback of the server all writes travel together; elsewhere that must be asked for. */
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

  // What follows in the packet that is being read is read all the same: then the server closes, and calls the abort before that
  // packet is over. So whatever waits for the end of the packet to be sent on can still be taken back.
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
      // Told a length in another way, the server would wait for that many bytes.
      if (length !== null) this.#res.writeHeader('Content-Length', String(length));
      this.#res.endWithoutBody();
    });
  }

  // The server would handle what follows in the same packet before it closes: it closes at once only after an answer that is too
  // large to wait for the end of the packet.
  respondLast(head: ResponseHead, body: string): void {
    this.respond({ ...head, isClosing: true }, body + ' '.repeat(corkedBytesMax));
  }

  /** The head goes out with the first write. */
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
      // What waits is sent on by a write, or by the end of a cork.
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

  /** Before the end: after it, nothing of the response can be called. The next request is read in a later turn of the loop. */
  #release(): void {
    if (this.#isHeld) this.#res.resume();
  }

  #write(write: () => void): void {
    if (this.isCorked) write();
    else this.#res.cork(write);
  }
}
