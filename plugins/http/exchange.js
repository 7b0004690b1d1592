// Sends one request and reads its response, up to a limit. The guard (guard.js) decides to which addresses the request may connect.
import http from 'node:http';
import https from 'node:https';
import { checkedLookup, checkLiteral, isNamed } from './guard.js';

/**
 * @typedef {{ url: URL, method: string, headers: { [name: string]: string }, body: Buffer | null }} Sent
 * @typedef {{ status: number, headers: http.IncomingHttpHeaders, body: Buffer }} Received
 */

/**
 * Rejects with a ForbiddenAddress, with an error with `retry === false` if the response is too large, or with a network error.
 * @param {Sent} sent
 * @param {import('./settings.js').Settings} settings
 * @param {AbortSignal} signal
 * @param {import('./guard.js').Resolve} [resolve] replaces the system's resolver
 * @returns {Promise<Received>}
 */
export function exchange({ url, method, headers, body }, { allowedHosts, responseBytesMax }, signal, resolve) {
  return new Promise((settle, reject) => {
    /** @type {http.RequestOptions} */
    const options = { method, headers, signal, agent: false };
    if (!isNamed(url, allowedHosts)) {
      checkLiteral(url);
      options.lookup = checkedLookup(resolve);
    }
    const request = (url.protocol === 'https:' ? https : http).request(url, options, response => {
      /** @type {Buffer[]} */
      const chunks = [];
      let bytes = 0;
      response.on('data', chunk => {
        bytes += chunk.length;
        if (bytes <= responseBytesMax) return void chunks.push(chunk);
        reject(Object.assign(new Error(`the response has more than ${responseBytesMax} bytes`), { retry: false }));
        request.destroy();
      });
      response.on('end', () =>
        settle({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
      response.on('error', reject);
    });
    request.on('error', reject);
    // Without this listener, the connection would end without an error if the server switches to another protocol.
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(Object.assign(new Error('the server switched to another protocol'), { retry: false }));
    });
    request.end(body ?? undefined);
  });
}
