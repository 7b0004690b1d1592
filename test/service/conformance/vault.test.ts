// Section 4.6 of sentences.ts: vault management.
import { expect, test } from 'vitest';
import { shareVaultGateway } from '../../feature/vault/service.ts';

const names = 'export const handle = ({ secrets = {} }) => ({ result: { names: Object.keys(secrets) } });';
const keeps = `
let before = null;
export const handle = ({ secrets }) => {
  const isNew = before !== null && secrets.minted !== before;
  before = secrets.minted;
  return { result: { isNew, isGiven: secrets.given === 'the-new-value', isIgnored: secrets.minted !== 'no-such-value' } };
};`;
const vault = shareVaultGateway({ plugins: { alpha: names, beta: names, keeper: keeps }, service: { max_workers: 1 } });

/** Names of the secrets that the plugin gets. */
async function got(plugin: string): Promise<unknown> {
  return (await vault.gateway.finished(`${plugin}/handle`)).result!.result;
}

test('POST /vault/principal registers a principal, and answers name and status', async () => {
  for (const name of ['alpha', 'beta', 'keeper'])
    expect(await vault.do('principal', { name, kind: 'plugin' })).toEqual({ name, status: 'registered' });
});

test('POST /vault/secret is an upsert, and answers name and status', async () => {
  for (const value of ['first-value', 'second-value'])
    expect(await vault.do('secret', { name: 's', value })).toEqual({ name: 's', status: 'set' });
});

test('each listed principal must already exist', async () => {
  const both = { name: 's', authorized_principals: ['alpha', 'nobody'] };
  expect(await vault.said('secret', both)).toBe('400 orphan_grant');
  expect(await got('alpha')).toEqual({ names: [] });
});

test('authorized_principals that is a list replaces the grants', async () => {
  await vault.do('secret', { name: 's', authorized_principals: ['alpha'] });
  await vault.do('secret', { name: 's', authorized_principals: ['beta'] });
  expect([await got('alpha'), await got('beta')]).toEqual([{ names: [] }, { names: ['s'] }]);
});

test('authorized_principals that is omitted leaves the grants unchanged', async () => {
  await vault.do('secret', { name: 's', value: 'third-value' });
  expect(await got('beta')).toEqual({ names: ['s'] });
});

test('authorized_principals that is empty clears the grants', async () => {
  await vault.do('secret', { name: 's', authorized_principals: [] });
  expect(await got('beta')).toEqual({ names: [] });
});

test('POST /vault/secret/roll takes the value of a manual secret from the body', async () => {
  const authorized_principals = ['keeper'];
  await vault.do('secret', { name: 'given', value: 'the-old-value', authorized_principals });
  await vault.do('secret', { name: 'minted', pattern: 'auto', authorized_principals });
  expect(await got('keeper')).toMatchObject({ isNew: false, isGiven: false });
  expect(await vault.do('secret/roll', { name: 'given', value: 'the-new-value' })).toMatchObject({ status: 'rolled' });
  expect(await got('keeper')).toMatchObject({ isNew: false, isGiven: true });
});

test('POST /vault/secret/roll mints the value of an auto secret, and ignores any value', async () => {
  await vault.do('secret/roll', { name: 'minted', value: 'no-such-value' });
  expect(await got('keeper')).toMatchObject({ isNew: true, isIgnored: true });
});

test('POST /vault/principal/roll rolls every auto secret of the principal, and skips manual ones', async () => {
  const told = await vault.do('principal/roll', { name: 'keeper' });
  expect(told).toEqual({ name: 'keeper', rolled: ['minted'], skipped: ['given'] });
  expect(await got('keeper')).toMatchObject({ isNew: true, isGiven: true });
});

test('no route reads a value back', async () => {
  const said = [
    await vault.do('secret', { name: 's', value: 'the-value-of-s' }),
    await vault.do('secret/roll', { name: 's', value: 'the-value-of-s' }),
    await vault.do('secret/revoke', { name: 's' }),
    (await vault.gateway.call('GET', '/vault/secret', undefined, { token: vault.adminToken })).body,
  ];
  expect(JSON.stringify(said)).not.toContain('the-value-of-s');
});

test('every call is recorded in the audit log vault_audit', async () => {
  const before = vault.trail().length;
  await vault.said('secret', { name: 'audited', value: 'a-value' });
  await vault.said('secret/revoke', { name: 'nothing' });
  expect(vault.trail().slice(before)).toMatchObject([
    { op: 'secret.set', secret: 'audited', outcome: 'ok', code: null },
    { op: 'secret.revoke', secret: 'nothing', outcome: 'refused', code: 'unknown_secret' },
  ]);
});
