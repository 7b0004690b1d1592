// Finds out at which address, and with which API tokens, the command line calls the service.
import { lstatSync, statSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { ClientAccess } from '../../config/access.ts';
import { isLoopback } from '../../config/address.ts';
import { formatListen } from '../../config/quantity.ts';
import { knownToken } from '../../service/local-token.ts';
import { exitStatus } from '../exit-status.ts';
import { failure, usageFailure } from '../failure.ts';
import type { Io } from '../io.ts';
import { runningAddress, type ServiceAddress } from '../start/running.ts';

export type AddressOptions = { readonly url?: string; readonly config?: string };

export type Address = {
  /** The URL of the service, without a trailing slash. */
  readonly url: string;
  /** The host name for which the certificate of the service must be valid. Absent: the host in the URL. */
  readonly serverName?: string;
  /** The API tokens to try, in this order. If there are none, calls carry no token. */
  readonly tokens: readonly string[];
  /** Messages about settings that could not be read, each with the value that is used instead. */
  readonly notes: readonly string[];
  /** Why API tokens may be missing; shown if the service refuses the call with 401 or 403. Null if none is missing. */
  readonly tokenHint: string | null;
};

/**
 * The maximum number of API tokens that are taken from a configuration, the local token included. For one call, each token is
 * sent at most once.
 */
const tokensMax = 8;

/**
 * The address comes from the first of these sources that is present: `--url`, `HEADGATE_URL`, the configuration (`locate`). The only token
 * is `token`, by default `HEADGATE_TOKEN`. Without it, the tokens from the configuration (`tokensOf`) are tried, but only at the address
 * from the same configuration. A configuration of another user that nobody named (`isForeign`) gets no token at all. Throws a
 * `CommandFailure` if no source has a usable address.
 */
export async function findAddress(
  { url, config: path }: AddressOptions,
  io: Io,
  token = io.env['HEADGATE_TOKEN'] || null,
): Promise<Address> {
  const named = url ?? (io.env['HEADGATE_URL'] || undefined);
  if (named !== undefined) {
    const source = url === undefined ? 'HEADGATE_URL' : '--url';
    const tokenHint = `no token was sent to the service that ${source} names: set HEADGATE_TOKEN`;
    return {
      url: checkedUrl(named, source),
      notes: [],
      ...(token === null ? { tokens: [], tokenHint } : given(token)),
    };
  }
  const { readAccess } = await import('../../config/access.ts');
  const access = readAccess({ path, env: io.env, cwd: io.cwd });
  if (typeof access === 'string') {
    const detail = `${access}\nyou can also name the service with --url or HEADGATE_URL`;
    throw failure(exitStatus.config, 'invalid_configuration', 'There is no configuration', detail);
  }
  if (path === undefined && isForeign(access.mainFile, io)) {
    const way = token === null ? 'or set HEADGATE_TOKEN and name the service with --url' : 'or the service with --url';
    const tokenHint = `no token was sent: ${access.mainFile} belongs to another user; name it with --config, ${way}`;
    return { ...locate(access), tokens: [], tokenHint };
  }
  return { ...locate(access), ...(token === null ? tokensOf(access) : given(token)) };
}

type Tokens = Pick<Address, 'tokens' | 'tokenHint'>;

function given(token: string): Tokens {
  return { tokens: [token], tokenHint: null };
}

function checkedUrl(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  if (!isPlain) throw usageFailure(`${source} must be like http://127.0.0.1:8080, without user, query or fragment`);
  return url.href.replace(/\/+$/, '');
}

/** The address that the running service has written to its state directory. If no service is running there, `api.listen`. */
function locate({
  mainFile,
  enabled,
  listen,
  hasTls,
  statePath,
}: ClientAccess): Pick<Address, 'url' | 'serverName' | 'notes'> {
  const running = runningAddress(statePath.value);
  if (running !== null) {
    const serverName = running.tls?.name;
    return { url: ownUrl(running, statePath.value), notes: [], ...(serverName !== undefined && { serverName }) };
  }
  if (!enabled) throw usageFailure(`${mainFile} has api.enabled: false; name another service with --url`);
  const guess = `cannot read api.listen, assuming ${formatListen(listen.value)}`;
  const notes = listen.doubts.length === 0 ? [] : [`${guess}: ${summary(listen.doubts)}`];
  if (listen.value.port > 0) return { url: ownUrl({ ...listen.value, ...(hasTls && { tls: {} }) }, mainFile), notes };
  const detail = `no service is running on ${statePath.value}, and ${mainFile} sets no fixed port; run "headgate start", or name another service with --url`;
  throw failure(exitStatus.unavailable, 'unreachable', 'The service cannot be reached', detail);
}

/**
 * The URL of a listener on this machine. Loopback replaces a wildcard address. An address of another machine is
 * refused. The reason is that a configuration in the working directory may come from another user, and must not make
 * the command send API tokens to another machine.
 */
function ownUrl(listen: ServiceAddress, source: string): string {
  if (!isOwn(listen.host))
    throw usageFailure(
      `${source} names ${listen.host}, which is not an address of this machine; name the service with --url`,
    );
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[listen.host] ?? listen.host;
  return `${listen.tls ? 'https' : 'http'}://${formatListen({ ...listen, host })}`;
}

function isOwn(host: string): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap(them => them ?? []);
  return (
    isLoopback(host) ||
    ['0.0.0.0', '::', hostname()].includes(host) ||
    addresses.some(({ address }) => address === host)
  );
}

/**
 * At most `tokensMax` API tokens: the unexpired tokens of the configuration, with scope `*` first, then the local token
 * from the state directory.
 */
function tokensOf({ mainFile, statePath, tokens: { value, doubts } }: ClientAccess): Tokens {
  const current = value.filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > Date.now());
  const ordered = [...current].sort((a, b) => Number(b.scopes.includes('*')) - Number(a.scopes.includes('*')));
  const tokens = ordered.slice(0, tokensMax - 1).map(({ token }) => token);
  const unread = [...doubts, ...statePath.doubts];
  try {
    const local = knownToken(statePath.value);
    if (local !== null) tokens.push(local);
  } catch (error) {
    unread.push((error as Error).message);
  }
  if (unread.length > 0) return { tokens, tokenHint: `cannot read a token: ${summary(unread)}; or set HEADGATE_TOKEN` };
  const nowhere = `no token was sent: neither ${mainFile} nor ${statePath.value} has a valid one; set HEADGATE_TOKEN`;
  return { tokens, tokenHint: tokens.length > 0 ? null : nowhere };
}

function summary(doubts: readonly string[]): string {
  return doubts.length === 1 ? doubts[0]! : `${doubts[0]} (and ${doubts.length - 1} more)`;
}

/**
 * Whether the configuration was found in the working directory, and the file, or a link in its place, belongs to neither the caller nor
 * root. The owner decides where the calls go, and which environment variable of the caller or which state directory is the source of an
 * API token: includes are found beside a link, and not beside the file that it leads to.
 */
function isForeign(mainFile: string, { cwd, env }: Io): boolean {
  const own = process.geteuid?.();
  if (own === undefined || env['HEADGATE_CONFIG'] || mainFile !== join(cwd, 'config.yaml')) return false;
  return [lstatSync(mainFile), statSync(mainFile)].some(({ uid }) => uid !== 0 && uid !== own);
}
