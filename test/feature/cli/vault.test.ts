// The commands that manage the vault: what they send, where values come from, and where they never are.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { headgate } from './headgate.ts';

const admin = 'the-admin-token';
const at = '2026-01-02T03:04:05.000006Z';
const listing = {
  principals: [{ name: 'greet', kind: 'plugin', status: 'active', created_at: at, changed_at: at }],
  secrets: [
    {
      name: 's',
      pattern: 'auto',
      status: 'revoked',
      authorized_principals: ['greet', 'other'],
      created_at: at,
      changed_at: at,
    },
  ],
  damaged: { principals: ['p'], secrets: ['q'] },
};
type Sent = { readonly path: string; readonly authorization: string | undefined; readonly body: unknown };
let url = '';
let sent: Sent[] = [];

/** A server that records requests, and answers as the routes do. */
beforeAll(async () => {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text);
    sent.push({ path: request.url!, authorization: request.headers.authorization, body });
    if (request.url === '/vault/list') return void response.end(JSON.stringify(listing));
    const rolled = request.url === '/vault/principal/roll' ? { rolled: ['a', 'b'], skipped: ['c'] } : { status: 'set' };
    response.end(JSON.stringify({ name: body.name, ...rolled }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return () => void server.close();
});

beforeEach(() => {
  sent = [];
});

test.each([
  ['principal add greet', '', '/vault/principal', { name: 'greet', kind: 'plugin' }],
  ['principal add gw --kind gateway', '', '/vault/principal', { name: 'gw', kind: 'gateway' }],
  ['principal revoke greet', '', '/vault/principal/revoke', { name: 'greet' }],
  ['principal purge greet', '', '/vault/principal/purge', { name: 'greet' }],
  ['secret set s', 'value\n', '/vault/secret', { name: 's', value: 'value' }],
  ['secret set s', 'two\nlines\n\n', '/vault/secret', { name: 's', value: 'two\nlines\n' }],
  ['secret set s', 'no newline', '/vault/secret', { name: 's', value: 'no newline' }],
  [
    'secret set s --grant a --grant b',
    'v',
    '/vault/secret',
    { name: 's', value: 'v', authorized_principals: ['a', 'b'] },
  ],
  [
    'secret set s --grant a --pattern auto',
    'ignored',
    '/vault/secret',
    { name: 's', authorized_principals: ['a'], pattern: 'auto' },
  ],
  ['secret set s --keep-value --no-grants', '', '/vault/secret', { name: 's', authorized_principals: [] }],
  ['secret roll s', 'new', '/vault/secret/roll', { name: 's', value: 'new' }],
  ['secret roll s --auto', '', '/vault/secret/roll', { name: 's' }],
  ['secret revoke s', '', '/vault/secret/revoke', { name: 's' }],
])('vault %s', async (line, stdin, path, body) => {
  const { status, json } = await vault(line, stdin, '--json');
  expect([status, json.name, json.status]).toEqual([0, body.name, 'set']);
  expect(sent).toEqual([{ path, authorization: `Bearer ${admin}`, body }]);
});

test('vault principal roll says what was rolled and what was skipped', async () => {
  expect((await vault('principal roll greet')).stdout).toBe('a rolled\nb rolled\nc skipped: it is a manual secret\n');
  expect((await vault('principal roll greet', '', '--json')).json).toMatchObject({
    rolled: ['a', 'b'],
    skipped: ['c'],
  });
});

test('vault list shows what the vault holds, and which records do not open', async () => {
  const { stdout, stderr } = await vault('list');
  expect(stdout).toMatch(/^principal +kind +status +changed\ngreet +plugin +active .*\n\nsecret +pattern/);
  expect(stdout).toMatch(/^s +auto +revoked .* greet other$/m);
  expect(stderr).toContain('the record of the principal p does not open: register it again');
  expect(stderr).toContain('the record of the secret q does not open: set it again');
  expect((await vault('list', '', '--json')).json).toEqual(listing);
  expect(sent).toEqual(Array(2).fill({ path: '/vault/list', authorization: `Bearer ${admin}`, body: {} }));
});

test.each([
  ['no value', 'secret set s', ''],
  ['a value that is only a newline', 'secret set s', '\n'],
  ['a value that is no text', 'secret roll s', new Uint8Array([0xff, 0xfe])],
  ['a value as an argument', 'secret set s my-value', ''],
  ['grants and no grants', 'secret set s --grant a --no-grants', 'v'],
  ['an unknown kind', 'principal add x --kind person', ''],
])('%s is wrong use, and nothing is sent', async (_, line, stdin) => {
  expect((await vault(line, stdin)).status).toBe(2);
  expect(sent).toEqual([]);
});

test('without an admin token nothing is sent, and no API token takes its place', async () => {
  const { status, json } = await headgate(['vault', 'secret', 'revoke', 's', '--json', '--url', url], {
    env: { HEADGATE_TOKEN: 'an-api-token' },
  });
  expect([status, json.code, sent]).toEqual([3, 'no_admin_token', []]);
});

test.each(['secret set s', 'secret roll s'])('%s asks for no value where there is no admin token', async line => {
  const typed = await headgate(['vault', ...line.split(' '), '--url', url], {
    isTyped: true,
    isTerminal: true,
    stdin: 'typed for nothing\r',
  });
  expect([typed.status, sent]).toEqual([3, []]);
  expect(typed.stderr).toMatch(/^headgate: set SERVICE_VAULT_TOKEN/);
  expect(typed.stderr).not.toContain('value:');
});

test('the value is in nothing that is written out', async () => {
  const { stdout, stderr } = await vault('secret set s', 'canary-value', '--json');
  expect(stdout + stderr).not.toContain('canary');
});

test('at a terminal the value is asked for, and what is typed is not shown', async () => {
  const words = ['vault', 'secret', 'set', 's', '--url', url];
  const surroundings = { isTyped: true, isTerminal: true, env: { SERVICE_VAULT_TOKEN: admin } };
  const typed = await headgate(words, { ...surroundings, stdin: 'canarx\u007fy with spaces\r' });
  expect([typed.status, typed.stdout]).toEqual([0, 's set\n']);
  expect(typed.stderr).toBe('value: \n');
  expect(sent[0]?.body).toEqual({ name: 's', value: 'canary with spaces' });
  for (const stdin of ['half\u0003', '\u0004', '\r', ''])
    expect((await headgate(words, { ...surroundings, stdin })).status).toBe(2);
  expect(sent).toHaveLength(1);
});

function vault(line: string, stdin: string | Uint8Array = '', ...more: string[]) {
  const words = ['vault', ...line.split(' '), ...more, '--url', url];
  return headgate(words, { stdin, env: { SERVICE_VAULT_TOKEN: admin } });
}
