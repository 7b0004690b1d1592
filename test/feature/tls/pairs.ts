// Certificates for tests, which end in a hundred years, each with its key. `one`, `two` and `three` have the same names.
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const fixtures = fileURLToPath(new URL('fixtures', import.meta.url));

/** `named` is not valid for `localhost` or any address; `common` has an RSA key and only a common name; that of `address` is an IP address. */
export type PairName = 'one' | 'two' | 'three' | 'named' | 'common' | 'address';

export function pem(file: string): Buffer {
  return readFileSync(join(fixtures, file));
}

export function certificateFile(name: PairName): string {
  return join(fixtures, `${name}.crt`);
}

/** How many files were written. */
let written = 0;

/** Writes a certificate and the key of a pair as `tls.crt` and `tls.key`. */
export function writePair(directory: string, cert: PairName, key: PairName = cert): void {
  const put = (name: string, content: Buffer, mode: number) => {
    const path = join(directory, name);
    writeFileSync(path, content, { mode });
    // Two files that are written in the same tick of the kernel's clock would have the same time, and could be taken for the same file.
    utimesSync(path, 1_000, 1_000 + ++written);
  };
  put('tls.crt', pem(`${cert}.crt`), 0o644);
  put('tls.key', pem(`${key}.key`), 0o600);
}
