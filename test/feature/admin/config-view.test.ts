// GET /config/view: the configuration in force, without anything secret.
import { expect, test } from 'vitest';
import { isSecretKey, redact } from '../../../config/view.ts';
import { startGateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';

test('it has service, api, plugins, pipelines and schedules, and nothing else', async () => {
  const config = {
    url: 'https://example.org',
    api_key: 'hidden',
    nested: [{ authToken: { deep: 1 }, monkey: 'shown' }],
  };
  const gateway = await startGateway({
    plugins: { echo },
    instances: { echo: { config }, absent: { uses: 'echo', enabled: false, config: { a: 1, db_password: 'x' } } },
    pipelines: [
      { name: 'p', on: 'e', steps: [{ uses: 'echo' }] },
      { name: 'q', on_hook: 'job.failed', steps: [{ uses: 'echo' }] },
    ],
    schedules: [
      { id: 'nightly', pipeline: 'p', cron: '30 2 * * *', timezone: 'Europe/Berlin', payload: { shown: 'elsewhere' } },
      { id: 'often', plugin: 'echo', every: '15m', enabled: false },
      { id: 'once', plugin: 'echo', at: '2999-01-01T00:00:00Z' },
    ],
  });
  const { status, body } = await gateway.call('GET', '/config/view');
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      service: { name: 'headgate', log_level: 'debug' },
      api: { enabled: true, listen: '127.0.0.1:0', tokens: [{ scopes: ['*'] }] },
      plugins: {
        absent: { enabled: false, config: { a: 1, db_password: '[REDACTED]' } },
        echo: {
          enabled: true,
          config: {
            url: 'https://example.org',
            api_key: '[REDACTED]',
            nested: [{ authToken: '[REDACTED]', monkey: 'shown' }],
          },
        },
      },
      pipelines: [
        { name: 'p', on: 'e' },
        { name: 'q', on: null },
      ],
      schedules: [
        { id: 'nightly', pipeline: 'p', cron: '30 2 * * *', timezone: 'Europe/Berlin', enabled: true },
        { id: 'often', plugin: 'echo', command: 'handle', every_ms: 900_000, enabled: false },
        { id: 'once', plugin: 'echo', command: 'handle', at: '2999-01-01T00:00:00.000Z', enabled: true },
      ],
    },
  });
  expect((await gateway.call('GET', '/plugins')).body['plugins']).toEqual([expect.objectContaining({ name: 'echo' })]);
  expect((await gateway.call('GET', '/plugin/absent')).status).toBe(404);
});

test('no token and no key of the configuration is in it', async () => {
  const secrets = ['a-token-of-the-api', 'an-hmac-key-of-a-webhook', 'a-value-from-the-environment'];
  const [token, key, value] = secrets as [string, string, string];
  const gateway = await startGateway(
    {
      plugins: { echo },
      instances: { echo: { config: { db: { password: '$' + '{HIDDEN_VALUE}' } } } },
      api: { auth: { tokens: [{ name: 'x', token, scopes: ['*'] }] } },
    },
    { environment: { HIDDEN_VALUE: value } },
  );
  const { body } = await gateway.call('GET', '/config/view', undefined, { token });
  for (const secret of [token, key, value]) expect(JSON.stringify(body)).not.toContain(secret);
  expect(JSON.stringify(body)).toContain('[REDACTED]');
});

test.each([
  ...[
    'secret',
    'TOKEN',
    'Password',
    'passwd',
    'key',
    'credential',
    'auth',
    'Authorization',
    'private',
    'cookie',
    'session',
  ],
  ...['api_key', 'apiKey', 'APIKey', 'API_KEY', 'api-keys', 'accessTokens', 'clientSecret', 'x.auth.y', 'keyId'],
  ...['sessions', 'credentials', 'tokenValue', 'token2', 'key_1', 'PRIVATE-data', 'KEYFile', 'Api Key'],
])('the key %s is redacted', key => expect(isSecretKey(key)).toBe(true));

test.each([
  ...['monkey', 'tokenizer', 'keyboard', 'author', 'authority', 'secretary'],
  ...['monkeys', 'sessional', 'cookiecutter', 'privateer', 'donkeyId', 'hockeyKit', 'url', '', '_', '7'],
])('the key "%s" stays', key => expect(isSecretKey(key)).toBe(false));

test('whatever stands under a telling key goes, at any depth', () => {
  const value = { a: [{ keys: ['x', 'y'] }, { b: { token: null, session: { c: 1 }, d: 0 } }], password: 7 };
  expect(redact(value)).toEqual({
    a: [{ keys: '[REDACTED]' }, { b: { token: '[REDACTED]', session: '[REDACTED]', d: 0 } }],
    password: '[REDACTED]',
  });
});

test('the rule looks at keys: an address with a password in it, under another key, is shown', () => {
  expect(redact({ url: 'https://user:pass@example.org' })).toEqual({ url: 'https://user:pass@example.org' });
});
