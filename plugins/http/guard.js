// Who may be reached: what was checked is what is connected to, since the lookup itself checks.
import dns from 'node:dns';
import net from 'node:net';
import { kindOfAddress } from './address.js';

/** @typedef {(host: string, options: dns.LookupAllOptions, done: (error: Error | null, found: dns.LookupAddress[]) => void) => void} Resolve */

/** An address that must not be reached. Another attempt is of no use. */
export class ForbiddenAddress extends Error {
  retry = false;
}

/**
 * Whether `allowed_hosts` names the URL's host, as a name or address, or as one with a port.
 * @param {URL} url
 * @param {readonly string[]} allowedHosts
 */
export function isNamed(url, allowedHosts) {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const host = url.hostname.replace(/\.$/, '');
  const names = [host, host.replace(/^\[(.*)\]$/, '$1'), `${host}:${port}`];
  return allowedHosts.some(allowed => names.includes(allowed.toLowerCase()));
}

/**
 * Throws a ForbiddenAddress where the URL's host is an address that is not public. A name is left to `checkedLookup`.
 * @param {URL} url
 */
export function checkLiteral(url) {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (net.isIP(host) !== 0) refuseUnlessPublic(url.hostname, host);
}

/**
 * For `http.request`: resolves a name once, and hands on the addresses only when all of them are public.
 * @param {Resolve} resolve
 * @returns {net.LookupFunction}
 */
export function checkedLookup(resolve = dns.lookup) {
  return (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '');
      try {
        for (const { address } of found) refuseUnlessPublic(host, address);
      } catch (refused) {
        return done(/** @type {Error} */ (refused), '');
      }
      const [first] = found;
      if (first === undefined) return done(new Error(`${host} has no address`), '');
      return options.all ? done(null, found) : done(null, first.address, first.family);
    });
  };
}

/** @param {string} host @param {string} address */
function refuseUnlessPublic(host, address) {
  const kind = kindOfAddress(address);
  if (kind === 'public') return;
  const place = host === address || host === `[${address}]` ? host : `${host} is ${address}, which`;
  const verb = place === host ? `${host} is` : `${place} is`;
  throw new ForbiddenAddress(`${verb} not a public address (${kind}); allowed_hosts would have to name it`);
}
