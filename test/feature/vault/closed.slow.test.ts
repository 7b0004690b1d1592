// A vault that does not open: the service starts, says what is wrong, and dispatches no job until the vault opens.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { readUnlock } from '../../../actors/vault/unlock-key.ts';
import { examineVault } from '../../../actors/vault/vault-check.ts';
import { openReaderBeside } from '../../../runtime/store/ledger-store.ts';
import type { Table } from '../../../runtime/store/store.ts';
import { canary } from '../../service/canary/canary.ts';
import { tamper } from '../../service/gateway/tamper.ts';
import { shareVaultGateway } from './service.ts';

const vault = shareVaultGateway({
  plugins: { keeper: 'export const handle = ({ secrets }) => ({ result: { names: Object.keys(secrets) } });' },
  instances: { keeper: { retry: { max_attempts: 1 } } },
});
const { gateway, place } = vault;

beforeAll(async () => {
  await vault.do('principal', { name: 'keeper', kind: 'plugin' });
  await vault.do('secret', { name: 'kept', value: canary('kept'), authorized_principals: ['keeper'] });
  await gateway.finished('keeper/handle');
  await gateway.term();
});

/** Changes the newest record of the table; returns a function that restores it. */
function change(table: Table, how: (value: Buffer) => Buffer): () => void {
  let way: { readonly key: Buffer; readonly value: Buffer } | undefined;
  tamper(gateway, (batch, reader) => {
    const [newest] = reader.scan(table, { reverse: true });
    way = { key: Buffer.from(newest!.key), value: Buffer.from(newest!.value) };
    batch.put(table, way.key, how(Buffer.from(way.value)));
  });
  return () => tamper(gateway, batch => batch.put(table, way!.key, way!.value));
}

const flipped = (value: Buffer): Buffer => {
  value[0]! ^= 1;
  return value;
};

const unavailable = '503 vault_unavailable';
const waiting: string[] = [];

test.each<[table: Table, how: (value: Buffer) => Buffer, told: RegExp, said: string, logged: RegExp]>([
  ['vault', flipped, /keyring does not open.*headgate vault abandon/, unavailable, /the vault does not open/],
  [
    'vault_secrets',
    value => value.subarray(0, -1),
    /vault_secrets: kept is not the record that was written last; set these secrets again/,
    '400 unknown_secret',
    /records of the vault cannot be decrypted/,
  ],
  ['vault_audit', flipped, /vault_audit: /, unavailable, /the vault does not open/],
])('a changed record of %s', async (table, how, told, said, logged) => {
  const putBack = change(table, how);
  await gateway.start();
  expect(await vault.said('secret/revoke', { name: 'kept' })).toBe(said);
  expect(gateway.log.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(logged));
  const held = await gateway.submit('keeper/handle');
  expect(await gateway.job(held)).toMatchObject({ status: 'queued' });
  const { body } = await gateway.call('GET', '/system/doctor');
  const checks = body['checks'] as readonly { readonly name: string }[];
  const found = checks.find(({ name }) => name === 'vault');
  expect(found).toMatchObject({ passed: false, detail: expect.stringMatching(told) });
  await gateway.term();
  putBack();
  waiting.push(held);
});

test('where every record is as it was, what has waited runs', async () => {
  await gateway.start();
  // The held jobs were not charged: each has only one attempt.
  for (const held of waiting)
    expect(await gateway.settled(held)).toMatchObject({ status: 'succeeded', result: { result: { names: ['kept'] } } });
  await gateway.term();
});

test('an unlock key that is not the one opens nothing, and it is said why', () => {
  const { file } = place.keys;
  const key = readFileSync(file);
  const reader = openReaderBeside(place.statePath);
  const examined = () => examineVault(reader, readUnlock(place.keys));
  for (const [wrong, told] of [
    [flipped(Buffer.from(key)), /keyring does not open/],
    [key.subarray(0, 31), /must hold 32 raw bytes; it has 31/],
    [Buffer.concat([key, Buffer.of(10)]), /must hold 32 raw bytes; it has 33/],
    [Buffer.from(key.toString('hex')), /must hold 32 raw bytes; it has 64/],
    [Buffer.alloc(0), /must hold 32 raw bytes; it has 0/],
  ] as const) {
    writeFileSync(file, wrong);
    expect(examined()).toMatchObject({ kind: 'sealed', problems: [expect.stringMatching(told)] });
  }
  rmSync(file);
  expect(examined()).toMatchObject({ kind: 'sealed', problems: [expect.stringContaining('ENOENT')] });
  mkdirSync(file);
  expect(examined()).toMatchObject({ kind: 'sealed', problems: [expect.stringContaining('EISDIR')] });
  rmSync(file, { recursive: true });
  writeFileSync(file, key, { mode: 0o600 });
  expect(examined()).toMatchObject({ kind: 'open' });
  reader.close();
});
