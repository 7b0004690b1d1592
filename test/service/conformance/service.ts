// The service that the conformance suite asks: something of everything, a token for each scope, and shapes of answers.
import { expect } from 'vitest';
import { everythingToken } from '../gateway/configuration.ts';
import type { Answer, Gateway } from '../gateway/gateway.ts';
import { failing, worker } from '../gateway/sources.ts';

const scopes = [
  ...['plugin:ro', 'plugin:rw', 'plugin:catalog:ro', 'jobs:ro', 'jobs:rw', 'jobs:status:ro'],
  ...['events:ro', 'events:rw', 'system:ro', 'system:rw'],
];

/** The value of the token that has this scope and no other. */
export const tokenOf = (scope: string) => (scope === '*' ? everythingToken : `token-with-${scope}`);

export const sum = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } };

const echo = {
  description: 'Hands back what it is given.',
  commands: {
    look: { type: 'read', description: 'Evaluations.' },
    measure: { description: 'Measures.', input_schema: sum },
  },
  code: `
export const handle = ({ event }) => ({ result: event });
export const look = ({ payload }) => ({ result: payload });
export const measure = ({ payload }) => ({ result: 'measured ' + payload.n });
`,
};

const speaker = {
  commands: { handle: { values: { emit: [{ event: 'word.said', values: [] }] } } },
  code: `
export const handle = (request, { span }) => {
  span('breath')();
  return {
    result: { said: true },
    events: [{ type: 'word.said', payload: { word: 'hello' } }],
    state_updates: { words: 1 },
    logs: [{ level: 'info', message: 'it was said' }],
  };
};
`,
};

const noisy = {
  entrypoint: 'noisy.sh',
  runtime: 'process',
  commands: { handle: {} },
  code: `#!/bin/sh
cat > /dev/null
echo 'a murmur in the pipe' >&2
echo '{"status":"ok","result":"done"}'
`,
};

/** The HMAC keys of its webhook endpoints, by the name of the endpoint. */
export const hookKeys = { push: 'the-key-of-those-who-push', other: 'the-key-of-all-others' };
const hook = (name: keyof typeof hookKeys, more: object = {}) => ({
  ...{ name, path: `/webhook/${name}`, plugin: 'echo', secret_ref: `${name}_key`, signature_header: 'X-Signature' },
  ...more,
});

const waits = { execution_mode: 'synchronous' };

export const settings = {
  service: { name: 'conformance', max_workers: 2 },
  plugins: { echo, speaker, noisy, worker, failing, looping: 'export const handle = () => { for (;;); };' },
  instances: {
    echo: { config: { greeting: 'hello', api_key: 'hidden-1', deep: { clientSecret: 'hidden-2', monkey: 'shown' } } },
    failing: { retry: { max_attempts: 2, backoff_base: '1ms', backoff_max: '1ms' } },
    looping: { timeouts: { handle: '60ms' }, retry: { max_attempts: 1 } },
    worker: { parallelism: 1 },
  },
  pipelines: [
    { name: 'hear', on: 'word.said', steps: [{ id: 'ear', uses: 'echo' }] },
    {
      name: 'prompt',
      on: 'prompt.asked',
      ...waits,
      timeout_secs: 120,
      steps: [{ uses: 'echo' }, { uses: 'echo.look' }],
    },
    { name: 'slow', on: 'slow.asked', ...waits, timeout_secs: 1, steps: [{ uses: 'worker' }] },
    { name: 'forked', on: 'forked.asked', ...waits, steps: [{ split: [[{ uses: 'echo' }], [{ uses: 'echo.look' }]] }] },
    { name: 'broken', on: 'broken.asked', ...waits, steps: [{ uses: 'failing' }] },
  ],
  webhooks: { endpoints: [hook('push', { max_body_size: '2KB' }), hook('other')] },
  tokens: Object.entries(hookKeys).map(([name, key]) => ({ name: `${name}_key`, key })),
  api: {
    auth: {
      tokens: ['*', ...scopes].map(scope => ({
        name: scope === '*' ? 'test' : scope.replaceAll(':', '_'),
        token: tokenOf(scope),
        scopes: [scope],
      })),
    },
  },
} as const;

export const uuid = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
export const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
export const text = expect.any(String);
export const whole = expect.toSatisfy(Number.isInteger, 'a whole number');
export const noJob = '0198c0de-0000-7000-8000-000000000000';

/** The body of the answer to a GET, which must have the status 200. */
export async function read(gateway: Gateway, path: string, scope = '*'): Promise<Answer['body']> {
  const { status, body } = await gateway.call('GET', path, undefined, { token: tokenOf(scope) });
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** The scopes whose token the route accepts. A stream that opens is closed at once. */
export async function scopesThatMay(gateway: Gateway, method: string, path: string): Promise<string[]> {
  const found: string[] = [];
  for (const scope of ['*', ...scopes]) {
    const headers = { Authorization: `Bearer ${tokenOf(scope)}` };
    const { status, body } = await fetch(gateway.url + path, { method, headers });
    await body?.cancel();
    if (status < 300) found.push(scope);
  }
  return found;
}
