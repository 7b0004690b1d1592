// Looks for secrets in bytes and in files. A finding has the place, the offset, the name of the secret and its form, but not its value.
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { secrets } from './canary.ts';

const windowBytes = 32 * 1024 * 1024;
/** How many bytes adjacent windows share, so that a secret at their border is found. It is more than any form of a secret has. */
export const overlapBytes = 256;

/** Returns one line for each secret that the bytes contain. */
export function sweepBytes(place: string, bytes: Uint8Array | string, offset = 0): string[] {
  const buffer = Buffer.from(bytes as string);
  return secrets().flatMap(({ name, forms }) => {
    const found = forms.map(({ form, bytes }) => ({ form, at: buffer.indexOf(bytes) })).find(({ at }) => at >= 0);
    return found ? [`${place}, byte ${offset + found.at}: ${name} (${found.form})`] : [];
  });
}

/** Sweeps all files below the directory, except those that may hold secrets. */
export function sweepDirectory(directory: string, mayHold: (path: string) => boolean): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const found = paths.map(path => path.slice(directory.length + 1)).filter(path => !mayHold(path));
  return found.flatMap(path => sweepFile(directory, path));
}

function sweepFile(directory: string, path: string): string[] {
  const file = openSync(join(directory, path), 'r');
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, windowBytes));
    const findings: string[] = [];
    for (let at = 0; at < size; at += windowBytes - overlapBytes) {
      const length = readSync(file, bytes, 0, bytes.length, at);
      findings.push(...sweepBytes(path, bytes.subarray(0, length), at));
    }
    return findings;
  } finally {
    closeSync(file);
  }
}
