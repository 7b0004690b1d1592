// A `fetch` for a service that is called at an address of this machine, but has a certificate for a host name.
//
// The certificate is verified for the host name that the caller has read from the service's state directory.
import { request as send } from 'node:https';
import { Readable } from 'node:stream';

export function fetchNamed(url: string, init: RequestInit, serverName: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers, signal, body } = init;
    const request = send(url, {
      method,
      headers: headers as Record<string, string>,
      servername: serverName,
      agent: false,
      ...(signal && { signal }),
    });
    // The error has its reason in `cause`, like the errors of `fetch`.
    request.on('error', cause => reject(signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause })));
    request.on('response', answer => {
      const { statusCode = 0, statusMessage = '' } = answer;
      const hasBody = statusCode !== 204 && statusCode !== 304;
      const fields = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string]);
      const stream = hasBody ? (Readable.toWeb(answer) as ReadableStream) : null;
      const response = new Response(stream, { status: statusCode, statusText: statusMessage, headers: fields });
      // Sets the URL, which the constructor of `Response` leaves empty.
      resolve(Object.defineProperty(response, 'url', { value: url }));
    });
    request.end(body as string | undefined);
  });
}
