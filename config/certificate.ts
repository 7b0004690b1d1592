// The certificate of a listener and its key: read together, and checked before either counts.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { TlsFiles } from './config.ts';
import { diskReason, type Files } from './source/files.ts';

/** Of a certificate file with its chain, and of a key file. */
export const pemBytesMax = 1_048_576;
/** A certificate that ends within this time is worth a warning. */
export const endsSoonMs = 14 * 86_400_000;

/** A pair that belongs together, as its files had it. */
export type Certificate = {
  /** PEM: the service's own certificate first, then its chain. */
  readonly chain: Buffer;
  /** PEM. */
  readonly key: Buffer;
  /** The host names that it is valid for, in lower case; one may begin with `*.`. */
  readonly names: readonly string[];
  readonly endsAtMs: number;
};

export type TlsFile = keyof TlsFiles;
export type CertificateProblem = { readonly file: TlsFile; readonly message: string };

export type CertificateReading = {
  /** Null: what is wrong is in `problems`. */
  readonly certificate: Certificate | null;
  readonly problems: readonly CertificateProblem[];
  /** About a pair that can be served. */
  readonly warnings: readonly CertificateProblem[];
};

/** Bits that others than owner and group must not have; a group such as `ssl-cert` is trusted. */
const looseBits: { readonly [file in TlsFile]: number } = { cert: 0o002, key: 0o006 };

export type ReadingRules = {
  readonly nowMs: number;
  /** A file that everyone can use is a problem, not a warning. */
  readonly strict: boolean;
};

/** Never throws for what the files say. No message contains anything of the key. */
export function readCertificate(files: TlsFiles, disk: Files, { nowMs, strict }: ReadingRules): CertificateReading {
  const problems: CertificateProblem[] = [];
  const warnings: CertificateProblem[] = [];
  for (const file of ['cert', 'key'] as const) {
    const exposure = exposureOf(file, files[file], disk);
    if (exposure !== null) (strict ? problems : warnings).push({ file, message: exposure });
  }
  /** The value, or null with its problem noted. */
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
      ? `${files.cert} has its chain first; put the certificate of the service before it`
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
    // That it cannot be read is said once.
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
  if (bytes.length > pemBytesMax) throw new Error(`has ${bytes.length} bytes; at most ${pemBytesMax} are read`);
  return Buffer.from(bytes);
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function parseChain(bytes: Buffer): X509Certificate[] {
  const blocks = bytes.toString('latin1').match(certificateBlock) ?? [];
  if (blocks.length === 0) throw new Error('has no certificate in PEM (-----BEGIN CERTIFICATE-----)');
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new Error(`has a certificate that cannot be parsed: number ${index + 1} of ${blocks.length}`);
    }
  });
}

function parseKey(bytes: Buffer): KeyObject {
  const text = bytes.toString('latin1');
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text))
    throw new Error('is encrypted; the service needs a key without a passphrase');
  if (!/-----BEGIN ([A-Z]+ )?PRIVATE KEY-----/.test(text))
    throw new Error('has no private key in PEM (-----BEGIN PRIVATE KEY-----)');
  try {
    return createPrivateKey(bytes);
  } catch {
    throw new Error('has a private key that cannot be parsed');
  }
}

const hostName = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

/** Those of subjectAltName; where there is none, the common name. Addresses are left out: callers do not send them. */
function namesOf({ subjectAltName, subject }: X509Certificate): string[] {
  const alternatives = (subjectAltName ?? '').split(', ').flatMap(entry => /^DNS:(.*)$/.exec(entry)?.[1] ?? []);
  const common = /^CN=(.*)$/m.exec(subject)?.[1] ?? '';
  const names = subjectAltName === undefined ? [common] : alternatives;
  return [...new Set(names.map(name => name.toLowerCase()))].filter(name => hostName.test(name));
}
