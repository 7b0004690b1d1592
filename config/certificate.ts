// Reads and checks the certificate of a listener together with its private key.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { TlsFiles } from './config.ts';
import { diskReason, type Files } from './source/files.ts';

/** The maximum size of each of the two files. The certificate file also contains the chain. */
export const pemBytesMax = 1_048_576;
/** If a certificate expires within this time, the doctor's check `certificates` fails. */
export const endsSoonMs = 14 * 86_400_000;

/** A certificate and the key that belongs to it. */
export type Certificate = {
  /** The content of the certificate file. Its first PEM certificate is the service's own; its chain follows. */
  readonly chain: Buffer;
  /** The content of the key file, which is PEM. */
  readonly key: Buffer;
  /** The host names for which the certificate is valid, in lower case; a name can begin with `*.`. */
  readonly names: readonly string[];
  readonly endsAtMs: number;
};

export type TlsFile = keyof TlsFiles;
export type CertificateProblem = { readonly file: TlsFile; readonly message: string };

export type CertificateReading = {
  /** The certificate; null if there are problems. */
  readonly certificate: Certificate | null;
  readonly problems: readonly CertificateProblem[];
  /** Faults that do not prevent the service from using the certificate. */
  readonly warnings: readonly CertificateProblem[];
};

/**
 * The bits that a file's mode must not have, because they let everyone write the file or read the key. The group, such
 * as `ssl-cert`, is trusted.
 */
const looseBits: { readonly [file in TlsFile]: number } = { cert: 0o002, key: 0o006 };

export type ReadingRules = {
  readonly nowMs: number;
  /** Whether a file with a mode that `looseBits` forbids is a problem instead of a warning. */
  readonly strict: boolean;
};

/** Reads and checks a certificate and its key. Never throws because of the files' contents. No message contains any part of the key. */
export function readCertificate(files: TlsFiles, disk: Files, { nowMs, strict }: ReadingRules): CertificateReading {
  const problems: CertificateProblem[] = [];
  const warnings: CertificateProblem[] = [];
  for (const file of ['cert', 'key'] as const) {
    const exposure = exposureOf(file, files[file], disk);
    if (exposure !== null) (strict ? problems : warnings).push({ file, message: exposure });
  }
  /** Returns what `make` returns. If `make` throws, adds the error to the problems and returns null. */
  const attempt = <T>(file: TlsFile, make: () => T): T | null => {
    try {
      return make();
    } catch (error) {
      problems.push({ file, message: `${files[file]} ${(error as Error).message}` });
      return null;
    }
  };
  const chain = attempt('cert', () => read(files.cert, disk));
  const key = attempt('key', () => read(files.key, disk));
  const parsed = chain === null ? null : attempt('cert', () => parseChain(chain));
  const parsedKey = key === null ? null : attempt('key', () => parseKey(key));
  if (chain === null || key === null || parsed === null || parsedKey === null)
    return { certificate: null, problems, warnings };

  const [own, ...rest] = parsed as [X509Certificate, ...X509Certificate[]];
  if (!own.checkPrivateKey(parsedKey)) {
    const isMisplaced = rest.some(certificate => certificate.checkPrivateKey(parsedKey));
    const message = isMisplaced
      ? `${files.cert} begins with its chain; put the certificate of the service first`
      : `${files.key} is not the key of the certificate in ${files.cert}`;
    problems.push({ file: isMisplaced ? 'cert' : 'key', message });
  }
  const [beginsAtMs, endsAtMs] = [Date.parse(own.validFrom), Date.parse(own.validTo)];
  if (endsAtMs <= nowMs) {
    warnings.push({ file: 'cert', message: `${files.cert} expired on ${dateText(endsAtMs)}` });
  } else if (beginsAtMs > nowMs) {
    warnings.push({ file: 'cert', message: `${files.cert} is not valid before ${dateText(beginsAtMs)}` });
  }
  const certificate = { chain, key, names: namesOf(own), endsAtMs };
  return { certificate: problems.length > 0 ? null : certificate, problems, warnings };
}

export function isSamePair(one: Certificate, other: Certificate): boolean {
  return one.chain.equals(other.chain) && one.key.equals(other.key);
}

export function dateText(ms: number): string {
  return new Date(ms).toISOString().replace(/[.]000Z$/, 'Z');
}

function exposureOf(file: TlsFile, path: string, disk: Files): string | null {
  try {
    const mode = disk.mode(path) & looseBits[file];
    if (mode === 0) return null;
    const how = (mode & 0o002) === 0 ? 'read' : 'written';
    return `${path} can be ${how} by everyone; remove that permission (chmod o-${file === 'key' ? 'rw' : 'w'})`;
  } catch {
    // The mode of the file cannot be read; `read` reports why.
    return null;
  }
}

function read(path: string, disk: Files): Buffer {
  if (disk.kind(path) === 'missing') throw new Error('does not exist, or its directory cannot be entered');
  if (disk.kind(path) !== 'file') throw new Error('is not a file');
  let bytes: Uint8Array;
  try {
    bytes = disk.read(path);
  } catch (error) {
    throw new Error(`cannot be read (${diskReason(error)})`);
  }
  if (bytes.length > pemBytesMax) throw new Error(`has ${bytes.length} bytes; it must have at most ${pemBytesMax}`);
  return Buffer.from(bytes);
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function parseChain(bytes: Buffer): X509Certificate[] {
  const blocks = bytes.toString('latin1').match(certificateBlock) ?? [];
  if (blocks.length === 0) throw new Error('contains no PEM certificate (-----BEGIN CERTIFICATE-----)');
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new Error(`contains a certificate that cannot be parsed: number ${index + 1} of ${blocks.length}`);
    }
  });
}

function parseKey(bytes: Buffer): KeyObject {
  const text = bytes.toString('latin1');
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text))
    throw new Error('is encrypted; the service needs a key without a passphrase');
  if (!/-----BEGIN ([A-Z]+ )?PRIVATE KEY-----/.test(text))
    throw new Error('contains no PEM private key (-----BEGIN PRIVATE KEY-----)');
  try {
    return createPrivateKey(bytes);
  } catch {
    throw new Error('contains a private key that cannot be parsed');
  }
}

const hostName = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

/**
 * The host names in subjectAltName, in lower case. A certificate without subjectAltName has its common name instead, if
 * that is a host name. IP addresses are left out, because clients do not send them as server names.
 */
function namesOf({ subjectAltName, subject }: X509Certificate): string[] {
  const alternatives = (subjectAltName ?? '').split(', ').flatMap(entry => /^DNS:(.*)$/.exec(entry)?.[1] ?? []);
  const common = /^CN=(.*)$/m.exec(subject)?.[1] ?? '';
  const names = subjectAltName === undefined ? [common] : alternatives;
  return [...new Set(names.map(name => name.toLowerCase()))].filter(name => hostName.test(name) && isIP(name) === 0);
}
