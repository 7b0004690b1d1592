// PostgreSQL for the peers that need it: a cluster in a directory of its own, without a network. Every commit is
// synced.
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { Server } from './server.ts';

/** Debian's directory for its programs, which is not in PATH. */
const debianRoot = '/usr/lib/postgresql';
/**
 * The settings of the server. They are larger than the defaults, which suit the smallest machines. The durability of
 * commits is unchanged.
 */
const settings = ['shared_buffers=256MB', 'max_wal_size=4GB', 'max_connections=100', 'listen_addresses='];

export type Postgres = {
  readonly url: string;
  readonly version: string;
  /** Does the work of autovacuum, which would otherwise run once a minute. */
  vacuum(): Promise<void>;
  stop(): Promise<void>;
};

export async function startPostgres(directory: string): Promise<Postgres> {
  const user = serverUser();
  const data = join(directory, 'data');
  mkdirSync(data, { mode: 0o700 });
  if (user !== null) for (const path of [directory, data]) chownSync(path, user.uid, user.gid);
  const as = user ?? {};
  execFileSync(program('initdb'), ['-D', data, '-U', 'bench', '--auth=trust', '--no-sync'], { ...as, stdio: 'ignore' });
  const options = settings.flatMap(setting => ['-c', setting]);
  const server = new Server(program('postgres'), ['-D', data, '-k', directory, ...options], directory, as);
  const url = `postgres://bench@/postgres?host=${directory}`;
  const ask = async (query: string) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query(query);
    await client.end();
    return rows;
  };
  let version = '';
  await server.ready(async () => {
    version = (await ask('show server_version'))[0].server_version.split(' ')[0];
  });
  const vacuum = async () => void (await ask('vacuum (analyze)'));
  return { url, version, vacuum, stop: () => server.stop('SIGINT') };
}

function program(name: string): string {
  const versions = existsSync(debianRoot) ? readdirSync(debianRoot).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions.map(version => join(debianRoot, version, 'bin', name)).find(existsSync);
  return found ?? name;
}

/**
 * The user that the server runs as; null: the current user. PostgreSQL refuses to run as root, so root uses the user
 * that PostgreSQL's package has created.
 */
function serverUser(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const idOf = (what: string) => Number(execFileSync('id', [what, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}
