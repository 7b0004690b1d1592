// The lock file lists every sealed file with its size and hash. It is authenticated with the seal key.
//
//   headgate-lock/1 <HMAC-SHA-256 in hex, of "headgate-lock/1\n" and the lines below>
//   {"number":7,"strict":true,"directory":"/etc/headgate"}
//   {"path":"api.yaml","size":311,"sha256":"…"}          one line per file, sorted by path
import { createHmac, timingSafeEqual } from 'node:crypto';
import { bufferOf } from '../../runtime/bytes.ts';

export const lockName = '.headgate.lock';
const format = 'headgate-lock/1';

/** `path` is relative to the directory of the main file; `sha256` is in hex. */
export type LockedFile = { readonly path: string; readonly size: number; readonly sha256: string };

export type Lock = {
  /**
   * The number of the lock, from 1. A new lock gets a higher number than those in the notes and in the valid lock on
   * disk.
   */
  readonly number: number;
  /** Whether strict mode was on when the configuration was locked. */
  readonly strict: boolean;
  /** The main file's directory with links resolved. The lock is valid only for this directory. */
  readonly directory: string;
  readonly files: readonly LockedFile[];
};

export function encodeLock(lock: Lock, key: Uint8Array): Buffer {
  const { number, strict, directory, files } = lock;
  const lines = [{ number, strict, directory }, ...files].map(line => `${JSON.stringify(line)}\n`);
  const body = Buffer.from(lines.join(''));
  return Buffer.concat([Buffer.from(`${format} ${codeOf(body, key).toString('hex')}\n`), body]);
}

/** The lock, or null if its code is wrong for this key. Nothing is parsed before the code is verified. */
export function openLock(bytes: Uint8Array, key: Uint8Array): Lock | null {
  const { head, body } = cut(bytes);
  const [, hex] = /^headgate-lock\/1 ([0-9a-f]{64})$/.exec(head) ?? [];
  if (hex === undefined || !timingSafeEqual(Buffer.from(hex, 'hex'), codeOf(body, key))) return null;
  const [first, ...files] = body.toString().trimEnd().split('\n');
  const { number, strict, directory } = JSON.parse(first!) as Omit<Lock, 'files'>;
  return { number, strict, directory, files: files.map(line => JSON.parse(line) as LockedFile) };
}

/**
 * Whether a lock claims to be strict. The claim is read before the code of the lock is verified. It can be believed,
 * because it can only make the check stricter.
 */
export function claimsStrict(bytes: Uint8Array): boolean {
  const [first = ''] = cut(bytes).body.toString().split('\n', 1);
  return /"strict"\s*:\s*true/.test(first);
}

function cut(bytes: Uint8Array): { head: string; body: Buffer } {
  const all = bufferOf(bytes);
  const end = all.indexOf(0x0a);
  if (end < 0) return { head: '', body: all };
  return { head: all.toString('latin1', 0, end), body: all.subarray(end + 1) };
}

function codeOf(body: Uint8Array, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(`${format}\n`).update(body).digest();
}
