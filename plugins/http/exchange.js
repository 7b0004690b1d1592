// One request and its response, within bounds: the connection goes only where the guard lets it.
import http from 'node:http';
import https from 'node:https';
import { checkedLookup, checkLiteral, isNamed } from './guard.js';

/**
 * @typedef {{ url: URL, method: string, headers: { [name: string]: string }, body: Buffer | null }} Sent
 * @typedef {{ status: number, headers: http.IncomingHttpHeaders, body: Buffer }} Received
 */

/**
 * Rejects with a ForbiddenAddress, an error with `retry === false` for what is too large, or the error of the network.
 * @param {Sent} sent
 * @param {import('./settings.js').Settings} settings
 * @param {AbortSignal} signal
 * @param {import('./guard.js').Resolve} [resolve] instead of the system's resolver
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
    // Without a listener the connection ends, and nobody is told.
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(Object.assign(new Error('the server went over to another protocol'), { retry: false }));
    });
    request.end(body ?? undefined);
  });
}
