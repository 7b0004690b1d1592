// The routes of the vault: every rule, status and code, against a real gateway (docs/contract.md#vault).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AuditLine } from '../../../cli/vault/audit.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { until } from '../../service/gateway/until.ts';
import { can, server } from '../../unit/http/differences.ts';
import { untilClosed } from '../../unit/http/raw.ts';
import { headgate } from '../cli/headgate.ts';
import { shareVaultGateway } from './service.ts';

const worker = 'export const handle = ({ secrets }) => ({ result: { names: Object.keys(secrets ?? {}) } });';
const vault = shareVaultGateway({ plugins: { alpha: worker, beta: worker, gamma: worker } });
const { gateway } = vault;

async function granted(plugin: string): Promise<readonly string[]> {
  const { result } = await gateway.finished(`${plugin}/handle`);
  return (result!.result as { names: string[] }).names;
}

test('a principal is registered, again as what it is, revoked and purged', async () => {
  expect(await vault.do('principal', { name: 'p1', kind: 'plugin' })).toEqual({ name: 'p1', status: 'registered' });
  expect(await vault.said('principal', { name: 'p1', kind: 'plugin' })).toBe('200 registered');
  expect(await vault.said('principal', { name: 'p1', kind: 'consumer' })).toBe('400 invalid_kind');
  expect(await vault.said('principal/revoke', { name: 'p1' })).toBe('200 revoked');
  expect(await vault.said('principal/revoke', { name: 'p1' })).toBe('200 revoked');
  expect(await vault.said('principal', { name: 'p1', kind: 'plugin' })).toBe('400 revoked_principal');
  expect(await vault.said('principal/purge', { name: 'p1' })).toBe('200 purged');
  expect(await vault.said('principal/purge', { name: 'p1' })).toBe('400 unknown_principal');
  expect(await vault.said('principal', { name: 'p1', kind: 'gateway' })).toBe('200 registered');
});

test('a secret is set, rolled and revoked for ever', async () => {
  expect(await vault.do('secret', { name: 's1', value: 'v' })).toEqual({ name: 's1', status: 'set' });
  expect(await vault.do('secret/roll', { name: 's1', value: 'w' })).toEqual({ name: 's1', status: 'rolled' });
  expect(await vault.said('secret/roll', { name: 's1' })).toBe('400 missing_value');
  expect(await vault.do('secret/revoke', { name: 's1' })).toEqual({ name: 's1', status: 'revoked' });
  expect(await vault.said('secret/revoke', { name: 's1' })).toBe('200 revoked');
  expect(await vault.said('secret', { name: 's1', value: 'x' })).toBe('400 revoked_secret');
  expect(await vault.said('secret/roll', { name: 's1', value: 'x' })).toBe('400 revoked_secret');
});

test('an upsert keeps what it leaves out, clears and replaces grants', async () => {
  await vault.do('principal', { name: 'alpha', kind: 'plugin' });
  await vault.do('principal', { name: 'beta', kind: 'plugin' });
  await vault.do('secret', { name: 'up', value: 'v', authorized_principals: ['alpha', 'alpha'] });
  await vault.do('secret', { name: 'up', value: 'w' });
  expect(await granted('alpha')).toEqual(['up']);
  await vault.do('secret', { name: 'up', authorized_principals: ['beta'] });
  expect([await granted('alpha'), await granted('beta')]).toEqual([[], ['up']]);
  await vault.do('secret', { name: 'up', authorized_principals: [] });
  expect(await granted('beta')).toEqual([]);
});

test('rolling a principal rolls its auto secrets and names the manual ones', async () => {
  await vault.do('principal', { name: 'roller', kind: 'consumer' });
  const authorized_principals = ['roller'];
  for (const name of ['z-auto', 'a-auto']) await vault.do('secret', { name, pattern: 'auto', authorized_principals });
  await vault.do('secret', { name: 'by-hand', value: 'v', authorized_principals });
  await vault.do('secret', { name: 'gone', value: 'v', authorized_principals });
  await vault.do('secret/revoke', { name: 'gone' });
  const told = await vault.do('principal/roll', { name: 'roller' });
  expect(told).toEqual({ name: 'roller', rolled: ['a-auto', 'z-auto'], skipped: ['by-hand'] });
});

test('a purged principal loses its grants: registered again it holds nothing', async () => {
  await vault.do('principal', { name: 'gamma', kind: 'plugin' });
  await vault.do('secret', { name: 'for-gamma', value: 'v', authorized_principals: ['gamma'] });
  expect(await granted('gamma')).toEqual(['for-gamma']);
  await vault.do('principal/purge', { name: 'gamma' });
  await vault.do('principal', { name: 'gamma', kind: 'plugin' });
  expect(await granted('gamma')).toEqual([]);
});

test.each<[path: string, body: unknown, said: string]>([
  ['principal', { name: 'core', kind: 'plugin' }, '400 reserved_entity'],
  ['principal/revoke', { name: 'core' }, '400 reserved_entity'],
  ['principal/purge', { name: 'core' }, '400 reserved_entity'],
  ['principal/roll', { name: 'core' }, '400 reserved_entity'],
  ['secret', { name: 'r', value: 'v', authorized_principals: ['core'] }, '400 reserved_entity'],
  ['secret', { name: 'core-admin-token' }, '400 reserved_entity'],
  ['secret', { name: 'core-admin-token', value: 'v'.repeat(40), pattern: 'manual' }, '400 reserved_entity'],
  ['secret', { name: 'core-admin-token', value: 'v'.repeat(40), authorized_principals: [] }, '400 reserved_entity'],
  ['secret', { name: 'core-admin-token', value: 'short' }, '400 invalid_value'],
  ['secret', { name: 'core-admin-token', value: `${'v'.repeat(40)} v` }, '400 invalid_value'],
  ['secret/roll', { name: 'core-admin-token', value: 'v'.repeat(40) }, '400 reserved_entity'],
  ['secret/revoke', { name: 'core-admin-token' }, '400 reserved_entity'],
  ['secret', { name: 'r', value: 'v', authorized_principals: ['nobody'] }, '400 orphan_grant'],
  ['secret', { name: 'r', value: 'v', authorized_principals: ['no name'] }, '400 orphan_grant'],
  ['secret', { name: 'r' }, '400 missing_value'],
  ['secret', { name: 'r', value: '' }, '400 missing_value'],
  ['secret', { name: 'r', value: '\ud800' }, '400 invalid_json'],
  ['secret', { name: 'r', value: 'v', pattern: 'other' }, '400 invalid_pattern'],
  ['secret/roll', { name: 'nothing', value: 'v' }, '400 unknown_secret'],
  ['secret/revoke', { name: 'nothing' }, '400 unknown_secret'],
  ['principal/revoke', { name: 'nobody' }, '400 unknown_principal'],
  ['principal/roll', { name: 'nobody' }, '400 unknown_principal'],
  ['principal', { name: 'r', kind: 'other' }, '400 invalid_kind'],
  ...['', ' ', '-a', '_a', 'a b', 'a/b', 'a.b', 'é', 'a\n', 'a'.repeat(129)].map(
    name => ['principal', { name, kind: 'plugin' }, '400 invalid_name'] as [string, unknown, string],
  ),
  ['principal', { name: 'a'.repeat(128), kind: 'plugin' }, '200 registered'],
  ['principal', undefined, '400 invalid_request'],
  ['principal', {}, '400 invalid_request'],
  ['principal', { name: 'r' }, '400 invalid_request'],
  ['principal', { name: 1, kind: 'plugin' }, '400 invalid_request'],
  ['principal', { name: 'r', kind: 'plugin', more: 1 }, '400 invalid_request'],
  ['principal', { name: 'r', kind: null }, '400 invalid_request'],
  ['secret', { name: 'r', value: null }, '400 invalid_request'],
  ['secret', { name: 'r', value: 5 }, '400 invalid_request'],
  ['secret', { name: 'r', value: 'v', authorized_principals: null }, '400 invalid_request'],
  ['secret', { name: 'r', value: 'v', authorized_principals: 'alpha' }, '400 invalid_request'],
  ['secret', { name: 'r', value: 'v', pattern: null }, '400 invalid_request'],
  ['secret', [], '400 invalid_request'],
  ['secret', '{"name":', '400 invalid_json'],
  ['secret?x=1', { name: 'r', value: 'v' }, '400 invalid_query'],
  ['nothing', {}, '404 unknown_route'],
  ['audit/prune', { before: '2020-01-01T00:00:00Z' }, '200 pruned'],
  ['audit/prune', { before: '2020-01-01T00:00:00Z', through: 3 }, '200 pruned'],
  ['audit/prune', {}, '400 invalid_request'],
  ['audit/prune', { before: '90d' }, '400 invalid_request'],
  ['audit/prune', { before: '2020-01-01T00:00:00Z', through: -1 }, '400 invalid_request'],
  ['audit/prune', { before: '2020-01-01T00:00:00Z', name: 'n' }, '400 invalid_request'],
])('%s %j: %s', async (path, body, said) => {
  const before = vault.trail().length;
  expect(await vault.said(path, body)).toBe(said);
  // Each call is one record, a refused one too.
  const [record, ...more] = vault.trail().slice(before);
  expect(more).toEqual([]);
  const code = said.startsWith('2') ? null : said.slice(4);
  expect(record).toMatchObject({ actor: 'admin', outcome: code === null ? 'ok' : 'refused', code });
});

test('what the vault holds is listed, without a value', async () => {
  await vault.do('principal', { name: 'listed', kind: 'consumer' });
  await vault.do('secret', { name: 'in-list', value: 'the-value-in-list', authorized_principals: ['listed'] });
  await vault.do('secret', { name: 'no-more', pattern: 'auto' });
  await vault.do('secret/revoke', { name: 'no-more' });
  const body = await vault.do('list', {});
  const { principals, secrets, damaged } = body as { readonly [part: string]: readonly object[] };
  const at = /^\d{4}-\d\d-\d\dT.*\d{6}Z$/;
  const times = { created_at: expect.stringMatching(at), changed_at: expect.stringMatching(at) };
  expect(principals).toContainEqual({ name: 'listed', kind: 'consumer', status: 'active', ...times });
  const manual = { name: 'in-list', pattern: 'manual', status: 'active', authorized_principals: ['listed'], ...times };
  const auto = { name: 'no-more', pattern: 'auto', status: 'revoked', authorized_principals: [], ...times };
  expect(secrets).toContainEqual(manual);
  expect(secrets).toContainEqual(auto);
  expect(damaged).toEqual({ principals: [], secrets: [] });
  expect(JSON.stringify(body)).not.toContain('the-value-in-list');
  expect(vault.trail().at(-1)).toMatchObject({ op: 'list', actor: 'admin', principal: null, secret: null });
  expect(await vault.said('list', { name: 'in-list' })).toBe('400 invalid_request');
  expect(await vault.said('list', {}, everythingToken)).toBe('401 unauthorized');
});

test('the admin token is rotated by an ordinary write, and the old one is refused at once', async () => {
  const old = vault.adminToken;
  const fresh = 'a-token-of-more-than-32-characters!';
  expect(await vault.do('secret', { name: 'core-admin-token', value: fresh })).toMatchObject({ status: 'set' });
  expect(await vault.said('principal', { name: 'p2', kind: 'plugin' }, old)).toBe('401 unauthorized');
  expect(await vault.said('principal', { name: 'p2', kind: 'plugin' }, fresh)).toBe('200 registered');
  vault.adminToken = fresh;
});

test('calls without the admin token are counted in the audit', async () => {
  const counted = () =>
    vault
      .trail()
      .filter(({ actor }) => actor === 'unknown')
      .reduce((sum, { count = 1 }) => sum + count, 0);
  const before = counted();
  await Promise.all(Array.from({ length: 50 }, () => vault.said('secret', {}, everythingToken)));
  await until('all are in the trail', () => counted() >= before + 50);
  // Unauthorized calls are committed at most once a second, with one record for all calls of an operation: far fewer records than calls.
  expect(vault.trail().filter(({ code }) => code === 'unauthorized').length).toBeLessThan(40);
});

test('calls that are refused for their framing are in the audit too', async () => {
  const port = Number(new URL(gateway.url).port);
  const send = (token: string, headers: readonly string[]) => {
    const head = ['POST /vault/list HTTP/1.1', `Authorization: Bearer ${token}`, ...headers, '', ''];
    return untilClosed(port, `${head.join('\r\n')}{}`);
  };
  const framings: readonly (readonly [code: string, headers: readonly string[]])[] = [
    ['malformed_request', ['Host: x', 'Host: y', 'Content-Length: 2']],
    // The parser of uWebSockets.js refuses a request without a Host by itself.
    ...(server === 'node' ? [['malformed_request', ['Content-Length: 2']] as const] : []),
    ...(can('a body in chunks') ? [] : [['length_required', ['Host: x', 'Transfer-Encoding: chunked']] as const]),
  ];
  for (const [code, headers] of framings) {
    const before = vault.trail().length;
    const recorded = (wanted: string) =>
      until(wanted, () =>
        vault
          .trail()
          .slice(before)
          .find(record => record.op === 'list' && record.code === wanted),
      );
    expect((await send(vault.adminToken, headers)).text).toContain(`"code":"${code}"`);
    expect(await recorded(code)).toMatchObject({ actor: 'admin', outcome: 'refused' });
    expect((await send(everythingToken, headers)).text).toContain(`"code":"${code}"`);
    expect(await recorded('unauthorized')).toMatchObject({ actor: 'unknown', outcome: 'refused' });
  }
});

test('what changes is observed, never with a value', async () => {
  const url = `${gateway.url}/events?types=vault.changed`;
  const stream = await fetch(url, { headers: { Authorization: `Bearer ${everythingToken}` } });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  await vault.do('secret', { name: 'seen', value: 'the-value-of-seen' });
  let text = '';
  while (!text.includes('"secret":"seen"')) text += (await reader.read()).value ?? '';
  await reader.cancel();
  expect(text).toContain('event: vault.changed');
  expect(text).toContain('"op":"secret.set"');
  expect(text).not.toContain('the-value-of-seen');
});

test('the command exports verified records, has the service prune it, and verifies the file afterwards', async () => {
  const file = join(gateway.directory, 'trail.ndjson');
  const audit = (words: readonly string[], token = vault.adminToken) => {
    const env = { SERVICE_VAULT_TOKEN: token };
    return headgate(['vault', 'audit', ...words, '--config', gateway.directory, '--json'], { env });
  };
  const before = vault.trail();
  const [first, last] = [before[0]!.seq, before.at(-3)!.seq];
  const time = new Date(before.at(-2)!.at / 1000 + 1).toISOString();
  const prune = ['--export', file, '--before', time, '--prune'];
  expect((await audit(prune, 'another-admin-token-of-32-characters')).status).toBe(3);
  // The command writes the whole file before it asks the service to prune.
  expect([existsSync(file), vault.trail()[0]!.seq]).toEqual([true, first]);
  // The record of this call may come a second later, and would then be behind that of the pruning.
  const isRefusal = ({ op, code }: AuditLine) => op === 'audit.prune' && code === 'unauthorized';
  await until('the refused call is in the trail', () => vault.trail().some(isRefusal));
  expect((await audit(prune)).stderr).toContain('already exists');

  const other = `${file}.2`;
  const { status, json } = await audit(prune.with(1, other));
  expect([status, json]).toMatchObject([0, { file: other, first, verified: true }]);
  expect(json.last).toBeGreaterThanOrEqual(last);
  expect(json.pruned).toBe(json.records);
  const after = vault.trail();
  expect(after[0]!.seq).toBe(json.last + 1);
  expect(after.at(-1)).toMatchObject({ actor: 'admin', op: 'audit.prune', count: json.records, through: json.last });

  const kept = await audit(['--file', other]);
  expect([kept.status, kept.json.verified, kept.json.records.length]).toEqual([0, true, json.records]);
  expect((await audit(['--file', other, '--op', 'secret.roll'])).json.records.length).toBeLessThan(json.records);
  expect((await audit(['--file', `${file}.3`])).status).toBe(74);
  const half = await audit(['--file', other, '--file', `${file}.3`]);
  expect([half.status, half.json.verified, half.json.problem.code]).toEqual([74, false, 'io_error']);
  expect(half.json.records).toEqual(kept.json.records);
  expect((await audit(['--export', join(file, 'below')])).status).toBe(74);
  expect((await audit(['--export', `${file}.3`, '--before', '2020-01-01T00:00:00Z'])).json).toEqual({
    file: null,
    records: 0,
    verified: true,
  });
  expect(existsSync(`${file}.3`)).toBe(false);
  for (const words of [
    ['--prune'],
    ['--before', '1h'],
    ['--export', file, '--op', 'list'],
    ['--export', file, '--prune'],
  ])
    expect((await audit(words)).status).toBe(2);

  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok', failures: [] });
  const { body } = await gateway.call('GET', '/system/doctor');
  expect(body['checks']).toContainEqual(expect.objectContaining({ name: 'vault', passed: true }));
});
