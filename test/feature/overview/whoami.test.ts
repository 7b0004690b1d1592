// GET /whoami: what a token is told of itself, and never the token.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { headgate } from '../cli/headgate.ts';

const gateway = shareGateway({
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        {
          name: 'ci',
          token: 'token-of-ci',
          scopes: ['plugin:rw', 'jobs:status:ro'],
          expires_at: '2999-01-01T01:00:00+01:00',
        },
        { name: 'nothing', token: 'token-for-nothing', scopes: [] },
      ],
    },
  },
});

const whoami = async (token: string) => (await gateway.call('GET', '/whoami', undefined, { token })).body;

test('it has the name, the scopes with those that they imply, and when the token expires', async () => {
  expect(await whoami('token-of-ci')).toEqual({
    name: 'ci',
    scopes: ['plugin:rw', 'jobs:status:ro', 'plugin:ro'],
    expires_at: '2999-01-01T00:00:00.000000Z',
  });
  expect(await whoami(everythingToken)).toEqual({ name: 'test', scopes: ['*'], expires_at: null });
});

test('any valid token may ask, also one without scopes, and no other', async () => {
  expect(await whoami('token-for-nothing')).toEqual({ name: 'nothing', scopes: [], expires_at: null });
  const refused = await gateway.call('GET', '/whoami', undefined, { token: 'token-of-nobody' });
  expect([refused.status, refused.body['code']]).toEqual([401, 'unauthorized']);
});

test('the token that the first start makes is called local, and may do everything', async () => {
  const fresh = await startGateway({ api: { auth: { tokens: [] } } });
  const token = readFileSync(`${fresh.directory}/data/api-token`, 'utf8').trim();
  const { status, body } = await fresh.call('GET', '/whoami', undefined, { token });
  expect([status, body]).toEqual([200, { name: 'local', scopes: ['*'], expires_at: null }]);
});

test('the command shows it', async () => {
  const env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: 'token-of-ci' };
  expect((await headgate(['whoami'], { env })).stdout).toBe(
    [
      `token    ci, at ${gateway.url}`,
      'scopes   plugin:rw jobs:status:ro plugin:ro',
      'expires  2999-01-01 00:00:00.000',
      '',
    ].join('\n'),
  );
  expect((await headgate(['whoami', '--json'], { env })).json).toMatchObject({ name: 'ci' });
  expect((await headgate(['whoami'], { env: { ...env, HEADGATE_TOKEN: 'token-of-nobody' } })).status).toBe(3);
});
