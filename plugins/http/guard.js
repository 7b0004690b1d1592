// Decides which addresses may be reached. The check is part of the lookup, so that a connection always uses a checked address.
import dns from 'node:dns';
import net from 'node:net';
import { kindOfAddress } from './address.js';

/** @typedef {(host: string, options: dns.LookupAllOptions, done: (error: Error | null, found: dns.LookupAddress[]) => void) => void} Resolve */

/** An address that must not be reached. A retry would not help. */
export class ForbiddenAddress extends Error {
  retry = false;
}

/**
 * Whether `allowed_hosts` names the URL's host: a name or address, with or without a port.
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
 * Throws a ForbiddenAddress if the URL's host is an address that is not public. `checkedLookup` checks names.
 * @param {URL} url
 */
export function checkLiteral(url) {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (net.isIP(host) !== 0) refuseUnlessPublic(url.hostname, host);
}

/**
 * For `http.request`: resolves a name once, and returns its addresses only if all of them are public.
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
  throw new ForbiddenAddress(`${verb} not a public address (${kind}); to allow it, add it to allowed_hosts`);
}
