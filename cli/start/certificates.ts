// The certificates of the listeners. A reload renews them, and so does a check of their files once a minute.
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

/** The time between two checks of the certificate and key files for changes. */
export const certificateCheckMs = 60_000;

type TlsListener = Pick<Server, 'served' | 'renew'>;

export class ServedCertificates {
  readonly #log: Logger;
  /** Returns the configuration in force. */
  readonly #config: () => Config;
  /** Called when a listener uses a new certificate. */
  readonly #onRenewed: () => void;
  readonly #listeners = new Map<ListenerName, TlsListener>();
  /**
   * By listener: the identity, size and times of the files that the last check read. Unchanged files are neither read nor reported again.
   */
  readonly #stamps = new Map<ListenerName, string>();

  constructor(log: Logger, config: () => Config, onRenewed: () => void) {
    this.#log = log;
    this.#config = config;
    this.#onRenewed = onRenewed;
  }

  /** Adds a listener whose certificate is renewed from now on. Listeners without TLS are ignored. */
  add(name: ListenerName, listener: TlsListener): void {
    if (listener.served() === null) return;
    if (this.#listeners.size === 0) setInterval(() => this.checkFiles(), certificateCheckMs).unref();
    this.#listeners.set(name, listener);
  }

  served(): ListenerCertificate[] {
    return [...this.#listeners].map(([name, listener]) => ({ name, served: listener.served()! }));
  }

  /**
   * Makes the listeners use these certificates, which have been checked. Never throws: if a listener cannot use its certificate, this is logged as
   * an error, and the current certificate stays in use.
   */
  renew(certificates: Certificates): void {
    for (const [name, listener] of this.#listeners) {
      const next = certificates[name];
      const before = listener.served()!;
      if (next === undefined || isSamePair(before.newest, next)) continue;
      try {
        listener.renew(next);
      } catch (error) {
        const { message } = error as Error;
        this.#log.error({ listener: name }, `${name}.tls: ${message}; the current certificate stays in use`);
        // A refused certificate stays refused. Any other error, such as a full disk, may pass, so the next check tries again.
        if (!(error instanceof CertificateFault)) this.#stamps.delete(name);
        continue;
      }
      const { names, endsAtMs } = next;
      this.#log.info({ listener: name, names, ends: dateText(endsAtMs) }, 'certificate renewed');
      this.#onRenewed();
      const left = leftBehind(listener.served()!);
      if (left !== null) this.#log.warn({ listener: name }, left);
    }
  }

  /**
   * Renews certificates whose files have changed. An invalid pair of certificate and key is logged as an error, and the current certificate stays
   * in use.
   */
  checkFiles(): void {
    for (const name of this.#listeners.keys()) {
      const files = this.#config()[name].tls;
      const stamp = files === undefined ? '' : stampOf(files);
      if (files === undefined || stamp === this.#stamps.get(name)) continue;
      this.#stamps.set(name, stamp);
      const strict = this.#config().service.strictMode || isStrictEnvironment(process.env);
      const reading = readCertificate(files, diskFiles, { nowMs: Date.now(), strict });
      this.#report(name, reading);
      if (reading.certificate !== null) this.renew({ [name]: reading.certificate });
    }
  }

  #report(name: ListenerName, { problems, warnings }: CertificateReading): void {
    for (const { file, message } of warnings) this.#log.warn(`${name}.tls.${file}: ${message}`);
    for (const { file, message } of problems)
      this.#log.error(`${name}.tls.${file}: ${message}; the current certificate stays in use`);
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
