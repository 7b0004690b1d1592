// Calls over TLS as a careful client makes them: the certificate must be the trusted one, and name the host.
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { type PairName, pem } from './pairs.ts';

export type SecureCall = {
  readonly url: string;
  /** The name for which the certificate must be valid; by default the host of the URL. */
  readonly name?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
};

const pairNames: readonly PairName[] = ['one', 'two', 'three', 'named', 'common'];
export const authorities = pairNames.map(name => pem(`${name}.crt`));

/** Sends a call; resolves with the response, whose body the caller reads, and the common name of the certificate. */
export function openSecurely({ url, name, path = '/healthz', method = 'GET', headers = {}, body }: SecureCall) {
  return new Promise<{ answer: IncomingMessage; certificate: string }>((resolve, reject) => {
    const options = { method, headers, ca: authorities, agent: false, ...(name !== undefined && { servername: name }) };
    const sent = request(url + path, options, answer => {
      const certificate = (answer.socket as TLSSocket).getPeerCertificate().subject.CN;
      resolve({ answer, certificate: String(certificate) });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Sends a call, and reads the response. `certificate`: the common name of the server's certificate. */
export async function callSecurely(call: SecureCall) {
  const { answer, certificate } = await openSecurely(call);
  answer.setEncoding('utf8');
  let text = '';
  for await (const chunk of answer) text += chunk;
  return { certificate, status: answer.statusCode, text };
}
