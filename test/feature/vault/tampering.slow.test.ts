// Tampering by somebody who can write the store: each record that is changed, moved, restored from a copy, cut, removed or added is found.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startVaultActor } from '../../../actors/vault/actor.ts';
import type { VaultRequest } from '../../../actors/vault/protocol.ts';
import { readUnlock } from '../../../actors/vault/unlock-key.ts';
import { checkTrail, examineVault } from '../../../actors/vault/vault-check.ts';
import { auditPages } from '../../../cli/vault/audit.ts';
import { initVault } from '../../../cli/vault/init.ts';
import { jobId, makeBlockKeys } from '../../../runtime/ids.ts';
import { startLoop } from '../../../runtime/loop.ts';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import type { Store, Table } from '../../../runtime/store/store.ts';
import { inSlices } from '../../support/slices.ts';
import { placeIn, wholeTrail } from './service.ts';

const statePath = mkdtempSync(join(tmpdir(), 'headgate-vault-'));
afterAll(() => rmSync(statePath, { recursive: true, force: true }));
const place = placeIn(statePath);
initVault(place);
const unlock = readUnlock(place.keys);
const store: Store = openStore(statePath);
const jobs = jobId(makeBlockKeys(() => 7).next(Date.now()), 0);

/** One turn of the actor, which opens the vault again, as a start does. `waits`: why the jobs of the instance wait. */
function turnOf(requests: readonly VaultRequest[], instance: string | null = null) {
  const actor = startVaultActor({
    reader: store,
    readUnlock: () => unlock,
    random: randomBytes,
    onOpened: () => {},
    tell: () => {},
    exportDirectory: () => null,
    onBrokenTrail: () => {},
    onExportFailed: () => {},
  });
  const presented = actor.state.adminDigest ?? '';
  const replies: unknown[] = [];
  let delivery: unknown = null;
  const loop = startLoop({
    store,
    clock: { nowUs: () => Date.now() * 1000 },
    schedule: () => {},
    send: () => {},
    reply: (_, value) => replies.push(value),
    onFailure: error => {
      throw error;
    },
  });
  loop.setHandler({
    receive: (_, message, turn) => actor.receive(message, turn),
    end(turn) {
      if (instance !== null && actor.waitsFor(instance) === null) {
        delivery = actor.deliver(turn, instance, jobs) ?? 'nothing';
      }
      actor.close(turn);
    },
  });
  for (const request of requests) {
    loop.deliver('vault', { kind: 'call', replyTo: { ask: 1 }, presented, request });
  }
  loop.turn();
  return { replies, delivery, waits: instance && actor.waitsFor(instance) };
}

turnOf([
  { op: 'principal.register', name: 'alpha', principalKind: 'plugin' },
  { op: 'principal.register', name: 'beta', principalKind: 'plugin' },
  { op: 'secret.set', name: 'one', value: 'value-one', grants: ['alpha'] },
  { op: 'secret.set', name: 'two', value: 'value-two', grants: ['beta'] },
]);

const tables: readonly Table[] = ['vault', 'vault_principals', 'vault_secrets', 'vault_audit'];
type Sheet = { readonly table: Table; readonly key: Buffer; readonly value: Buffer };

function all(): Sheet[] {
  return tables.flatMap(table =>
    Array.from(store.scan(table, {}), one => ({ table, key: Buffer.from(one.key), value: Buffer.from(one.value) })),
  );
}

function write(changes: readonly (Omit<Sheet, 'value'> & { readonly value: Buffer | null })[]): void {
  const batch = store.batch();
  for (const { table, key: at, value } of changes) {
    if (value === null) batch.remove(table, at);
    else batch.put(table, at, value);
  }
  store.commit(batch);
}

/** The state of the vault as the doctor, the selfcheck, the command and the service report it. */
async function found() {
  const condition = examineVault(store, unlock);
  const trail = await inSlices(checkTrail(store, unlock, 1_000), () => {});
  let command: string | null = null;
  try {
    command = wholeTrail(auditPages(store, place.keys, {})).broken;
  } catch (error) {
    command = (error as Error).message;
  }
  const sealed = condition.kind === 'sealed' ? condition.problems : [];
  const damaged = condition.kind === 'open' ? condition.problems : [];
  return { sealed, damaged, trail, command };
}
const nothing = { sealed: [], damaged: [], trail: null, command: null };

/**
 * Expects that the change is found. A vault that does not open delivers nothing and takes no call; a record that does not open holds the jobs
 * that may need it, also those of alpha, unless the record is another principal. After the change is undone, all is as before.
 */
async function expectFound(what: string, change: Parameters<typeof write>[0], before: readonly Sheet[]): Promise<void> {
  write(change);
  const { sealed, damaged, trail, command } = await found();
  const said = [...sealed, ...damaged, trail, command].filter(one => one !== null);
  expect(said, what).not.toEqual([]);
  for (const line of said) expect(line, what).toMatch(/^vault(_principals|_secrets|_audit)?: |keyring/);
  const concerned = damaged.some(line => !/^vault_principals: "?(?!alpha)/.test(line));
  if (sealed.length > 0 || concerned) {
    expect(turnOf([], 'alpha'), what).toMatchObject({
      delivery: null,
      waits: expect.stringContaining('does not open'),
    });
  }
  if (sealed.length > 0) {
    expect(turnOf([{ op: 'secret.revoke', name: 'one' }]).replies, what).toMatchObject([
      { refusal: 'vault_unavailable' },
    ]);
  }
  const after = all().filter(({ table, key: at }) => !before.some(one => one.table === table && one.key.equals(at)));
  write([...after.map(one => ({ ...one, value: null })), ...before]);
  expect(await found(), what).toEqual(nothing);
}

const label = ({ table, key: at }: Sheet) => `${table} ${table === 'vault_audit' ? at.toString('hex') : at}`;

test('an untouched vault opens, delivers and has a whole trail', async () => {
  expect(await found()).toEqual(nothing);
  expect(turnOf([], 'alpha').delivery).toMatchObject({ kind: 'secrets' });
});

test('each record with a changed bit, cut, emptied, or removed is found', async () => {
  const before = all();
  expect(before.length).toBeGreaterThan(10);
  for (const sheet of before) {
    for (const at of [0, 20, 40, sheet.value.length - 1]) {
      const value = Buffer.from(sheet.value);
      value[at]! ^= 1;
      await expectFound(`${label(sheet)} changed at ${at}`, [{ ...sheet, value }], before);
    }
    for (const length of [0, 10, sheet.value.length - 1]) {
      await expectFound(
        `${label(sheet)} cut to ${length}`,
        [{ ...sheet, value: sheet.value.subarray(0, length) }],
        before,
      );
    }
    await expectFound(`${label(sheet)} removed`, [{ ...sheet, value: null }], before);
  }
});

test('any two records swapped are found', async () => {
  const before = all();
  for (const [i, one] of before.entries()) {
    for (const other of before.slice(i + 1)) {
      const change = [
        { ...one, value: other.value },
        { ...other, value: one.value },
      ];
      await expectFound(`${label(one)} and ${label(other)} swapped`, change, before);
    }
  }
});

test('a record that was added is found', async () => {
  const before = all();
  const audit = before.findLast(({ table }) => table === 'vault_audit')!;
  const beyond = Buffer.from(audit.key);
  beyond.writeUInt8(beyond[7]! + 1, 7);
  for (const sheet of [
    {
      table: 'vault_secrets',
      key: Buffer.from('other'),
      value: before.find(({ table }) => table === 'vault_secrets')!.value,
    },
    { table: 'vault_audit', key: beyond, value: audit.value },
    { table: 'vault_audit', key: Buffer.from('x'), value: audit.value },
    { table: 'vault_audit', key: Buffer.alloc(9, 255), value: audit.value },
  ] as const) {
    await expectFound(`${label(sheet)} added`, [sheet], before);
  }
});

test('each record put back from an older copy is found, and so is a part of them', async () => {
  const old = all();
  turnOf([
    { op: 'principal.revoke', name: 'beta' },
    { op: 'secret.roll', name: 'one', value: 'value-one-new' },
    { op: 'secret.set', name: 'two', grants: [] },
  ]);
  const now = all();
  const changed = old.filter(({ table, key: at, value }) => {
    return now.some(one => one.table === table && one.key.equals(at) && !one.value.equals(value));
  });
  expect(changed.map(label).sort()).toEqual([
    'vault contents',
    'vault keyring',
    'vault_principals beta',
    'vault_secrets one',
    'vault_secrets two',
  ]);
  for (const sheet of changed) await expectFound(`${label(sheet)} put back`, [sheet], now);
  for (const left of changed) {
    const change = changed.filter(one => one !== left);
    await expectFound(`all but ${label(left)} put back`, change, now);
  }
  // Restoring all but the trail is found, because the trail goes on beyond what the old keyring knows.
  await expectFound('all but the trail put back', changed, now);
});

test('a delivery anchors the trail too: it cannot be cut behind an older keyring', async () => {
  turnOf([{ op: 'principal.purge', name: 'beta' }]);
  const old = all();
  turnOf([
    { op: 'principal.register', name: 'beta', principalKind: 'plugin' },
    { op: 'secret.set', name: 'two', grants: ['beta'] },
  ]);
  const before = all();
  expect(turnOf([], 'beta').delivery).toMatchObject({ kind: 'secrets' });
  const now = all();
  expect(now.length).toBe(before.length + 1);
  const newest = now.findLast(({ table }) => table === 'vault_audit')!;
  await expectFound('the delivery cut', [{ ...newest, value: null }], now);
  const keyring = old.find(({ key: at }) => at.equals(Buffer.from('keyring')))!;
  await expectFound('an older keyring', [keyring], now);
});

test('a record that does not open holds the jobs of its principals alone, until it is written again', () => {
  turnOf([{ op: 'principal.register', name: 'retired', principalKind: 'plugin' }]);
  turnOf([{ op: 'principal.revoke', name: 'retired' }]);
  const before = all();
  const broken = (table: Table, name: string): void => {
    const sheet = before.find(one => one.table === table && one.key.equals(Buffer.from(name)))!;
    write([{ ...sheet, value: Buffer.from(sheet.value).fill(7, 30, 40) }]);
  };
  const waits = (instance: string) => turnOf([], instance).waits;
  const replies = (request: VaultRequest) => turnOf([request]).replies[0];

  broken('vault_principals', 'beta');
  expect([waits('alpha'), waits('plain'), waits('beta')]).toEqual([
    null,
    null,
    'the record of the principal beta does not open',
  ]);
  expect(replies({ op: 'principal.revoke', name: 'beta' })).toMatchObject({
    refusal: 'unknown_principal',
    detail: 'the record of the principal beta does not open: register it again',
  });
  expect(replies({ op: 'list' })).toMatchObject({ listing: { damaged: { principals: ['beta'], secrets: [] } } });
  expect(replies({ op: 'principal.register', name: 'beta', principalKind: 'plugin' })).toMatchObject({
    status: 'registered',
  });
  expect(turnOf([], 'beta')).toMatchObject({ waits: null, delivery: { kind: 'secrets' } });

  // The record says to whom the secret is granted, so all plugins that might have a grant wait.
  broken('vault_secrets', 'one');
  for (const instance of ['alpha', 'beta'])
    expect(waits(instance)).toContain('the record of the secret one does not open');
  expect(waits('plain')).toBeNull();
  expect(turnOf([], 'retired')).toMatchObject({ waits: null, delivery: { kind: 'revoked' } });
  // The grants of the secret are lost, so a write has to name them; otherwise alpha would run without the secret.
  expect(replies({ op: 'secret.set', name: 'one', value: 'again' })).toMatchObject({ refusal: 'missing_value' });
  expect(replies({ op: 'secret.set', name: 'one', grants: ['alpha'] })).toMatchObject({ refusal: 'missing_value' });
  expect(replies({ op: 'secret.roll', name: 'one', value: 'again' })).toMatchObject({ refusal: 'unknown_secret' });
  expect(replies({ op: 'secret.set', name: 'one', value: 'again', grants: ['alpha'] })).toMatchObject({
    status: 'set',
  });
  expect(turnOf([], 'alpha')).toMatchObject({ waits: null, delivery: { kind: 'secrets' } });
});
