// Certificates for tests, which end in a hundred years, each with its key. `one`, `two` and `three` have the same names.
import { readFileSync, writeFileSync } from 'node:fs';
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

/** Writes a certificate and the key of a pair as `tls.crt` and `tls.key`. */
export function writePair(directory: string, cert: PairName, key: PairName = cert): void {
  writeFileSync(join(directory, 'tls.crt'), pem(`${cert}.crt`), { mode: 0o644 });
  writeFileSync(join(directory, 'tls.key'), pem(`${key}.key`), { mode: 0o600 });
}
