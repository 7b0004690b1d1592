// Where the service is, and with what token it is called: by option, environment, or the configuration that is found.
import { hostname, networkInterfaces } from 'node:os';
import { isLoopback } from '../../config/address.ts';
import type { Config } from '../../config/config.ts';
import { readConfiguration } from '../configuration.ts';
import { usageFailure } from '../failure.ts';
import type { Io } from '../io.ts';

export type AddressOptions = { readonly url?: string; readonly config?: string };

export type Address = {
  /** Without a slash at its end. */
  readonly url: string;
  /** Null: none is known. */
  readonly token: string | null;
};

/**
 * `--url`, `HEADGATE_URL`, else `api.listen` of the configuration. The token is `HEADGATE_TOKEN`, else the token file of
 * that configuration; it goes only to the address of the same configuration, never to one that was named otherwise.
 */
export async function findAddress({ url, config: path }: AddressOptions, io: Io): Promise<Address> {
  const named = url ?? (io.env['HEADGATE_URL'] || undefined);
  const token = io.env['HEADGATE_TOKEN'] || null;
  if (named !== undefined) return { url: checkedUrl(named, url === undefined ? 'HEADGATE_URL' : '--url'), token };
  const config = await readConfiguration(path, io, 'the service can also be named with --url or HEADGATE_URL');
  return { url: listenUrl(config), token: token ?? (await fileToken(config)) };
}

function checkedUrl(text: string, source: string): string {
  const url = parsed(text);
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  if (!isPlain) throw usageFailure(`${source} must be like http://127.0.0.1:8080, without user, query or fragment`);
  return url.href.replace(/\/+$/, '');
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/**
 * An address that stands for all of the machine's is asked at loopback. A configuration that lies in a working directory
 * may be anybody's: it cannot have tokens sent to another machine.
 */
function listenUrl({ api: { enabled, listen }, mainFile }: Config): string {
  if (!enabled) throw usageFailure(`${mainFile} has api.enabled: false; name another service with --url`);
  if (listen.port === 0) throw usageFailure(`${mainFile} lets the service choose its port; name it with --url`);
  if (!isOwn(listen.host))
    throw usageFailure(
      `${mainFile} listens at ${listen.host}, no address of this machine; name the service with --url`,
    );
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[listen.host] ?? listen.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${listen.port}`;
}

function isOwn(host: string): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap(them => them ?? []);
  return (
    isLoopback(host) ||
    ['0.0.0.0', '::', hostname()].includes(host) ||
    addresses.some(({ address }) => address === host)
  );
}

/** What the first start, or `init`, has made; null where the configuration names tokens of its own. */
async function fileToken({ api, state }: Config): Promise<string | null> {
  if (api.tokens.length > 0) return null;
  const { knownToken } = await import('../token.ts');
  return knownToken(state.path);
}
