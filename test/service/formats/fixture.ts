// States as earlier formats wrote them: how one is kept as a file, and how it comes into the directory of a gateway.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { formatVersion } from '../../../runtime/store/format.ts';
import { watch } from '../canary/canary.ts';
import type { Settings } from '../gateway/configuration.ts';
import type { Gateway } from '../gateway/gateway.ts';

/**
 * A fixture is `<name>.json` with this content, and its ledger `<name>.mdb.gz`. A format with a commit log also has `<name>.log.gz`: the files
 * of the log in base64, by their names.
 */
export type Fixture = {
  /** The configuration that the state was made with. */
  readonly settings: Settings;
  readonly vault: { readonly keyBase64: string; readonly adminToken: string; readonly secret: string };
  /** Ids of jobs and runs, each under the name of what it shows. */
  readonly ids: { readonly [name: string]: string };
};

/** Each name begins with the number of its format. What was added to a format without a new number has a fixture of its own. */
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
  '11-log',
  '11-times',
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
  const log = new URL(`${name}.log.gz`, home);
  if (existsSync(log)) {
    mkdirSync(join(data, 'log'), { mode: 0o700 });
    const files = JSON.parse(gunzipSync(readFileSync(log)).toString()) as { [name: string]: string };
    for (const [file, text] of Object.entries(files))
      writeFileSync(join(data, 'log', file), Buffer.from(text, 'base64'), { mode: 0o600 });
  }
  writeFileSync(join(data, 'vault.key'), Buffer.from(vault.keyBase64, 'base64'), { mode: 0o600 });
}

/** Stores the state of a killed gateway, with the log that a start applies, as the fixture `<format>-<shows>`. Returns the format. */
export function keepFixture(gateway: Gateway, shows: string, fixture: Omit<Fixture, 'vault'> & FixtureVault): number {
  const data = join(gateway.directory, 'data');
  const { settings, ids, adminToken, secret } = fixture;
  const keyBase64 = readFileSync(join(data, 'vault.key')).toString('base64');
  const kept: Fixture = { settings, vault: { keyBase64, adminToken, secret }, ids };
  const log = join(data, 'log');
  const files = readdirSync(log).map(name => [name, readFileSync(join(log, name)).toString('base64')]);
  const packed = (bytes: string | Uint8Array) => gzipSync(bytes, { level: 9 });
  put(`${formatVersion}-${shows}.mdb.gz`, packed(readFileSync(join(data, 'data.mdb'))));
  put(`${formatVersion}-${shows}.log.gz`, packed(JSON.stringify(Object.fromEntries(files))));
  put(`${formatVersion}-${shows}.json`, `${JSON.stringify(kept, null, 2)}\n`);
  return formatVersion;
}

type FixtureVault = { readonly adminToken: string; readonly secret: string };

function put(name: string, content: string | Uint8Array): void {
  const file = new URL(name, home);
  writeFileSync(`${file.pathname}.new`, content);
  renameSync(`${file.pathname}.new`, file);
}
