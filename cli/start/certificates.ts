// The certificates that the listeners serve: renewed by a reload, and when a look once a minute finds other files.
import { statSync } from 'node:fs';
import { type CertificateReading, dateText, isSamePair, readCertificate } from '../../config/certificate.ts';
import type { Config, TlsFiles } from '../../config/config.ts';
import { isStrictEnvironment } from '../../config/seal/key.ts';
import type { Certificates, ListenerName } from '../../config/section/tls.ts';
import { diskFiles } from '../../config/source/files.ts';
import type { Server } from '../../http/server.ts';
import { CertificateFault } from '../../http/transport/transport.ts';
import type { Logger } from '../../runtime/log.ts';
import { type ListenerCertificate, leftBehind } from '../../service/doctor/certificates.ts';

/** How often it is looked whether certificate and key are other files, or were written. */
export const certificateLookMs = 60_000;

export type TlsListener = Pick<Server, 'served' | 'renew'>;

export class ServedCertificates {
  readonly #log: Logger;
  /** In force. */
  readonly #config: () => Config;
  readonly #listeners = new Map<ListenerName, TlsListener>();
  /** What was last read, as the file system knows it: nothing is read again, or said again, before it changes. */
  readonly #stamps = new Map<ListenerName, string>();

  constructor(log: Logger, config: () => Config) {
    this.#log = log;
    this.#config = config;
  }

  /** Looks after the certificate of a listener from now on. One without TLS needs none. */
  add(name: ListenerName, listener: TlsListener): void {
    if (listener.served() === null) return;
    if (this.#listeners.size === 0) setInterval(() => this.look(), certificateLookMs).unref();
    this.#listeners.set(name, listener);
  }

  served(): ListenerCertificate[] {
    return [...this.#listeners].map(([name, listener]) => ({ name, served: listener.served()! }));
  }

  /** Those of a reload, checked. */
  renew(certificates: Certificates): void {
    for (const [name, listener] of this.#listeners) {
      const next = certificates[name];
      const before = listener.served()!;
      if (next === undefined || isSamePair(before.newest, next)) continue;
      try {
        listener.renew(next);
      } catch (error) {
        if (!(error instanceof CertificateFault)) throw error;
        this.#log.error({ listener: name }, `${name}.tls: ${error.message}; the certificate in use stays`);
        continue;
      }
      const { names, endsAtMs } = next;
      this.#log.info({ listener: name, names, ends: dateText(endsAtMs) }, 'certificate renewed');
      const left = leftBehind(listener.served()!);
      if (left !== null) this.#log.warn({ listener: name }, left);
    }
  }

  /** Renews from files that have changed since the last look. A pair that is wrong is an error in the log, and changes nothing. */
  look(): void {
    for (const name of this.#listeners.keys()) {
      const files = this.#config()[name].tls;
      const stamp = files === undefined ? '' : stampOf(files);
      if (files === undefined || stamp === this.#stamps.get(name)) continue;
      this.#stamps.set(name, stamp);
      const strict = this.#config().service.strictMode || isStrictEnvironment(process.env);
      const reading = readCertificate(files, diskFiles, { nowMs: Date.now(), strict });
      this.#tell(name, reading);
      if (reading.certificate !== null) this.renew({ [name]: reading.certificate });
    }
  }

  #tell(name: ListenerName, { problems, warnings }: CertificateReading): void {
    for (const { file, message } of warnings) this.#log.warn(`${name}.tls.${file}: ${message}`);
    for (const { file, message } of problems)
      this.#log.error(`${name}.tls.${file}: ${message}; the certificate in use stays`);
  }
}

function stampOf({ cert, key }: TlsFiles): string {
  return [cert, key].map(path => `${path} ${fileStamp(path)}`).join(' ');
}

function fileStamp(path: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(':');
  } catch {
    return 'missing';
  }
}
