// Senders of webhooks for tests: a service with endpoints of every shape, what they sign, and how they send it.
import { createHmac } from 'node:crypto';
import type { Answer, Gateway } from '../../service/gateway/gateway.ts';

export const keys = {
  plain: 'a-key-of-the-plain-endpoint',
  other: 'a-key-of-another-endpoint',
  standard: `whsec_${Buffer.from('a-key-of-the-standard-endpoint').toString('base64')}`,
};

export const smallBytesMax = 1024;

const plain = { plugin: 'teller', secret_ref: 'plain', signature_header: 'X-Signature' };

export const webhooks = {
  endpoints: [
    { name: 'plain', path: '/webhook/plain', ...plain },
    { name: 'lenient', path: '/webhook/lenient', ...plain, big_integers: 'text' },
    { name: 'other', path: '/webhook/other', ...plain, secret_ref: 'other' },
    { name: 'small', path: '/webhook/small', ...plain, max_body_size: smallBytesMax },
    { name: 'github', path: '/webhook/from/github', ...plain, signature_header: 'X-Hub-Signature-256' },
    { name: 'measured', path: '/webhook/measured', ...plain, plugin: 'measure' },
    { name: 'once', path: '/webhook/once', ...plain, id_header: 'X-Delivery' },
    { name: 'twin', path: '/webhook/twin', ...plain, id_header: 'X-Delivery' },
    { name: 'timed', path: '/webhook/timed', ...plain, timestamp_header: 'X-Time', tolerance: '2m' },
    { name: 'std', path: '/webhook/std', plugin: 'teller', secret_ref: 'standard', scheme: 'standard-webhooks' },
  ],
};

/** The service for senders: a plugin that returns its event, one that requires a number, and a pipeline that runs for deliveries to `plain`. */
export const settings = {
  plugins: {
    teller: 'export const handle = ({ event }) => ({ result: event });',
    measure: {
      code: 'export const handle = ({ event }) => ({ result: event.payload.n });',
      commands: {
        handle: { input_schema: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } },
      },
    },
  },
  pipelines: [{ name: 'eager', on: 'webhook.plain', steps: [{ uses: 'teller' }] }],
  webhooks,
  tokens: Object.entries(keys).map(([name, key]) => ({ name, key })),
};

/** The HMAC-SHA256 of all parts in sequence, in hexadecimal. */
export function sign(key: string, ...parts: readonly (string | Uint8Array)[]): string {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
}

export type Headers = { readonly [name: string]: string };

/** A POST to the webhook listener, with exactly these bytes. */
export async function send(
  gateway: Gateway,
  path: string,
  body: string | Uint8Array,
  headers: Headers,
): Promise<Answer> {
  return ask(gateway, 'POST', path, {
    body: Buffer.from(body),
    headers: { 'Content-Type': 'application/json', ...headers },
  });
}

/** Any request to the webhook listener. */
export async function ask(gateway: Gateway, method: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(gateway.webhooks + path, { method, ...init });
  const said = await answer.text();
  return { status: answer.status, headers: answer.headers, body: said === '' ? {} : JSON.parse(said) };
}

/** The headers with a signature as the endpoint `plain`, and similar ones, require it. */
export function signed(body: string | Uint8Array, key = keys.plain): Headers {
  return { 'X-Signature': `sha256=${sign(key, body)}` };
}
