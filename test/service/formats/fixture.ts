// States as earlier formats wrote them: how one is kept as a file, and how it comes into the directory of a gateway.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { open } from 'lmdb';
import { watch } from '../canary/canary.ts';
import type { Settings } from '../gateway/configuration.ts';
import type { Gateway } from '../gateway/gateway.ts';

/** A fixture is two files: `<name>.json`, which is this, and `<name>.mdb.gz`, its ledger. */
export type Fixture = {
  /** The configuration that the state was made with. */
  readonly settings: Settings;
  readonly vault: { readonly keyBase64: string; readonly adminToken: string; readonly secret: string };
  /** Jobs and runs, by what they are to show. */
  readonly ids: { readonly [name: string]: string };
};

/** Each begins with its format; what a format has gained since it was opened is a fixture of its own. */
export const fixtures = [
  '9',
  '10-holds',
  '10-pruned',
  '10-headers',
  '10-control',
  '10-actions',
  '10-reruns',
  '10-delayed',
  '10-batches',
  '10-schedules',
  '10-phases',
  '10-counted',
] as const;

const home = new URL('.', import.meta.url);

export function readFixture(name: string): Fixture {
  const fixture = JSON.parse(readFileSync(new URL(`${name}.json`, home), 'utf8')) as Fixture;
  watch('the admin token of the fixture', fixture.vault.adminToken);
  watch('the secret of the fixture', fixture.vault.secret);
  return fixture;
}

/** Puts the state into the directory of a gateway that has not been started yet. */
export function placeFixture(gateway: Gateway, name: string, { vault }: Fixture): void {
  const data = join(gateway.directory, 'data');
  mkdirSync(data, { recursive: true, mode: 0o700 });
  writeFileSync(join(data, 'data.mdb'), gunzipSync(readFileSync(new URL(`${name}.mdb.gz`, home))), { mode: 0o600 });
  writeFileSync(join(data, 'vault.key'), Buffer.from(vault.keyBase64, 'base64'), { mode: 0o600 });
}

/** Keeps the state of a gateway that has been killed, as `<format>-<shows>`; returns the format it is in. */
export async function keepFixture(
  gateway: Gateway,
  shows: string,
  fixture: Omit<Fixture, 'vault'> & FixtureVault,
): Promise<number> {
  const data = join(gateway.directory, 'data');
  const env = open({ path: data, maxDbs: 64, encoding: 'binary', keyEncoding: 'binary' });
  const meta = env.openDB<Uint8Array, Uint8Array>({ name: 'meta', encoding: 'binary', keyEncoding: 'binary' });
  const format = meta.get(Buffer.from('format'))![0]!;
  // Its process is gone; another machine could not tell, and would wait for a sign of life.
  await meta.remove(Buffer.from('owner'));
  const copy = join(gateway.directory, 'copy');
  mkdirSync(copy);
  await env.backup(copy, true);
  await env.close();
  const { settings, ids, adminToken, secret } = fixture;
  const keyBase64 = readFileSync(join(data, 'vault.key')).toString('base64');
  const kept: Fixture = { settings, vault: { keyBase64, adminToken, secret }, ids };
  put(`${format}-${shows}.mdb.gz`, gzipSync(readFileSync(join(copy, 'data.mdb')), { level: 9 }));
  put(`${format}-${shows}.json`, `${JSON.stringify(kept, null, 2)}\n`);
  rmSync(copy, { recursive: true });
  return format;
}

type FixtureVault = { readonly adminToken: string; readonly secret: string };

function put(name: string, content: string | Uint8Array): void {
  const file = new URL(name, home);
  writeFileSync(`${file.pathname}.new`, content);
  renameSync(`${file.pathname}.new`, file);
}
