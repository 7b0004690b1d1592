// `fetch` of a service whose certificate names a host, and not the address of this machine that it is called at.
//
// The certificate is checked as always, but for its own name: the caller knows that name from the service's state directory.
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
    // As those of `fetch`, which hides what happened in its cause.
    request.on('error', cause => reject(signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause })));
    request.on('response', answer => {
      const { statusCode = 0, statusMessage = '' } = answer;
      const hasBody = statusCode !== 204 && statusCode !== 304;
      const fields = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string]);
      const stream = hasBody ? (Readable.toWeb(answer) as ReadableStream) : null;
      const response = new Response(stream, { status: statusCode, statusText: statusMessage, headers: fields });
      // Of a response that was made by hand it is empty.
      resolve(Object.defineProperty(response, 'url', { value: url }));
    });
    request.end(body as string | undefined);
  });
}
