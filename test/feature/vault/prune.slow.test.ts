// The audit trail is bounded: what is pruned was verified, and exported where that is wanted; the rest still verifies, and so do the files.
import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { recordsPerJobMax, recordsPerTurnMax } from '../../../actors/vault/audit-pruning.ts';
import { readUnlock } from '../../../actors/vault/unlock-key.ts';
import { checkTrail } from '../../../actors/vault/vault-check.ts';
import { entryPages, keyringReader, readAudit } from '../../../cli/vault/audit.ts';
import { initVault } from '../../../cli/vault/init.ts';
import { type VaultLocation, withStore } from '../../../cli/vault/offline.ts';
import { rotateKey } from '../../../cli/vault/rotate-key.ts';
import { readTrailFiles } from '../../../cli/vault/trail-files.ts';
import { openLink } from '../../../runtime/link.ts';
import { openReaderBeside } from '../../../runtime/store/ledger-store.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { VaultClient } from '../../../service/vault-client.ts';
import { note, type Pruned, prune } from './aged.ts';
import { placeIn, wholeTrail } from './service.ts';

const hourUs = 3_600_000_000;
const madeUs = Date.now() * 1000;
const nowUs = madeUs + 10 * hourUs;
/** More records than one turn prunes. */
const old = recordsPerTurnMax + 200;
const young = 5;
const afterOldUs = madeUs + 2 * hourUs;

/** A vault whose trail has its first record, `old` ones of then, and `young` ones of ten hours later. */
function agedVault(): VaultLocation {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-prune-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const place = placeIn(directory);
  initVault(place);
  note(place, old, madeUs);
  note(place, young, nowUs);
  return place;
}

const retain = (place: VaultLocation, retainUs: number) => prune(place, { nowUs, retainUs });

/** What the selfcheck says about the trail. */
function checked(place: VaultLocation): string | null {
  return withStore(place, store => {
    const work = checkTrail(store, readUnlock(place.keys), 1_000);
    for (;;) {
      const step = work.next();
      if (step.done) return step.value;
    }
  });
}

function change(place: VaultLocation, act: (store: Store) => void): void {
  withStore(place, act);
}

const trail = (place: VaultLocation) => wholeTrail(readAudit(place, {}));

test('nothing goes before it is an hour past its time', async () => {
  const place = agedVault();
  expect((await retain(place, madeUs + hourUs / 2)).problems).toEqual([]);
  expect(trail(place).records).toHaveLength(1 + old + young);
});

test('what is past its time goes, the rest verifies, and each commit that removes leaves a record', async () => {
  const place = agedVault();
  expect((await retain(place, afterOldUs)).problems).toEqual([]);
  const { records, broken } = trail(place);
  expect(broken).toBe(null);
  expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: young + 2 }, (_, i) => 2 + old + i));
  const op = { actor: 'retention', op: 'audit.prune' };
  expect(records.slice(-2)).toMatchObject([
    { ...op, count: recordsPerTurnMax, through: recordsPerTurnMax },
    { ...op, count: 1 + old - recordsPerTurnMax, through: 1 + old },
  ]);
  expect(checked(place)).toBe(null);
  // A new key seals the checkpoint too, and the trail continues.
  rotateKey(place, randomBytes(32));
  expect((await retain(place, afterOldUs)).problems).toEqual([]);
  expect(trail(place)).toMatchObject({ broken: null, records: { length: young + 3 } });
});

test('a reader of the trail continues after the records that are pruned while it reads', async () => {
  const place = agedVault();
  const reader = openReaderBeside(place.statePath);
  onTestFinished(() => reader.close());
  const pages = entryPages(reader, keyringReader(reader, place.keys));
  expect(pages.next().done).toBe(false);
  await retain(place, afterOldUs);
  for (;;) {
    const step = pages.next();
    if (!step.done) continue;
    expect(step.value).toBe(null);
    break;
  }
});

test.each<[string, (store: Store, kept: Buffer, pruned: { key: Buffer; value: Buffer }) => void, RegExp]>([
  ['the oldest that was kept is removed', (store, kept) => edit(store, kept, null), /records \d+ to \d+ are missing/],
  [
    'the oldest that was kept is changed',
    (store, kept) => edit(store, kept, flipped(store.get('vault_audit', kept)!)),
    /record \d+ was changed/,
  ],
  [
    'one that was pruned is put back',
    (store, _, { key, value }) => edit(store, key, value),
    /exists, although it was pruned/,
  ],
])('after a prune it shows when %s', async (_, tamper, problem) => {
  const place = agedVault();
  let pruned = { key: Buffer.alloc(0), value: Buffer.alloc(0) };
  change(place, store => {
    for (const { key, value } of store.scan('vault_audit', { limit: 1 }))
      pruned = { key: Buffer.from(key), value: Buffer.from(value) };
  });
  await retain(place, afterOldUs);
  change(place, store => {
    for (const kept of Array.from(store.keys('vault_audit', { limit: 1 }))) tamper(store, Buffer.from(kept), pruned);
  });
  expect(trail(place).broken).toMatch(problem);
  expect(checked(place)).toMatch(problem);
});

test('a trail that is broken where it is to be pruned is kept from there on', async () => {
  const place = agedVault();
  change(place, store => {
    const third = Array.from(store.keys('vault_audit', { limit: 3 }))[2]!;
    edit(store, Buffer.from(third), flipped(store.get('vault_audit', third)!));
  });
  expect((await retain(place, afterOldUs)).problems).toEqual(['vault_audit: record 3 is missing or was changed']);
  expect(withStore(place, store => store.count('vault_audit'))).toBe(1 + old + young - 2 + 1);
});

/** Where the vault's records are exported to. */
const exportsOf = (place: VaultLocation) => join(place.statePath, 'exported', 'trail');
const call = { nowUs, beforeUs: afterOldUs };
const exporting = (place: VaultLocation) => prune(place, { ...call, directory: exportsOf(place) });
const wholeFiles = (place: VaultLocation) => {
  const directory = exportsOf(place);
  mkdirSync(directory, { recursive: true });
  return readdirSync(directory)
    .filter(name => /^audit-\d+-\d+\.ndjson$/.test(name))
    .map(name => join(directory, name));
};
const inFiles = (place: VaultLocation, files: readonly string[]) => wholeTrail(readTrailFiles(place, files, {}));

test('what is pruned is written to a file first, which verifies under the keyring, in later years too', async () => {
  const place = agedVault();
  const before = trail(place).records;
  const done = { kind: 'done', status: 'pruned', records: 1 + old, more: false };
  expect((await exporting(place)).reply).toEqual(done);
  const [file = ''] = wholeFiles(place);
  expect([file.endsWith(`/audit-1-${1 + old}.ndjson`), statSync(file).mode & 0o777]).toEqual([true, 0o600]);
  expect(inFiles(place, [file])).toEqual({ records: before.slice(0, 1 + old), broken: null });
  // The next records have another key; the two files still are one chain.
  rotateKey(place, randomBytes(32));
  note(place, 1, nowUs);
  await prune(place, { nowUs, beforeUs: nowUs + hourUs, directory: exportsOf(place) });
  const files = [file, ...wholeFiles(place).filter(one => one !== file)];
  expect(files).toHaveLength(2);
  const { records, broken } = inFiles(place, files);
  const seqs = [...records, ...trail(place).records].map(({ seq }) => seq);
  expect([broken, seqs]).toEqual([null, seqs.map((_, i) => i + 1)]);
  expect(inFiles(place, [files[1]!, file]).broken).toMatch(/does not continue where the file before it ends/);
});

test.each<[string, (lines: string[]) => string[], RegExp]>([
  ['a record is changed', lines => lines.with(3, lines[3]!.replace('"p"', '"q"')), /record 3 was changed/],
  ['a record is missing', lines => lines.toSpliced(3, 1), /record 3 is missing/],
  ['the end is cut off', lines => lines.slice(0, 10), /the closing line is missing after record 9/],
  [
    'it is cut, and closed with its closing line',
    lines => [...lines.slice(0, 10), lines.at(-1)!],
    /the closing line does not match/,
  ],
  ['the beginning is cut off', lines => lines.toSpliced(1, 1), /record 1 is missing/],
  ['it continues after its end', lines => [...lines, lines[1]!], /there are lines after the closing line/],
  ['a line is none', lines => lines.with(2, '[]'), /is not a JSON object/],
  ['it is empty', () => [], /the file is empty/],
])('an exported file shows when %s', async (_, change, problem) => {
  const place = agedVault();
  await exporting(place);
  const [file = ''] = wholeFiles(place);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  writeFileSync(
    file,
    change(lines)
      .map(line => `${line}\n`)
      .join(''),
  );
  expect(inFiles(place, [file]).broken).toMatch(problem);
});

test('wherever a prune is cut off, no record is lost, and the next one continues', async () => {
  const turns = (await exporting(agedVault())).turns;
  expect(turns).toBeGreaterThan(5);
  for (let turnsMax = 1; turnsMax < turns; turnsMax++) {
    const place = agedVault();
    const all = trail(place).records;
    await prune(place, { ...call, directory: exportsOf(place), turnsMax });
    const kept = () => {
      const { records, broken } = trail(place);
      expect([broken, checked(place)], `after ${turnsMax} turns`).toEqual([null, null]);
      const files = wholeFiles(place).map(file => inFiles(place, [file]));
      expect(files.map(one => one.broken)).toEqual(files.map(() => null));
      const found = new Map([...files.flatMap(one => one.records), ...records].map(one => [one.seq, one]));
      expect(all.filter(({ seq }) => !found.has(seq))).toEqual([]);
      return records;
    };
    kept();
    await exporting(place);
    expect(kept()[0]!.seq).toBe(2 + old);
    expect(readdirSync(exportsOf(place)).filter(name => name.endsWith('.partial'))).toEqual([]);
  }
});

test('files of other vaults in the same directory stay: complete ones, and partial ones for a day', async () => {
  const [place, other] = [agedVault(), agedVault()];
  const directory = exportsOf(place);
  const at = (name: string) => join(directory, name);
  const names = () => readdirSync(directory).sort();
  await exporting(place);
  const first = `audit-1-${1 + old}.ndjson`;
  expect(names()).toEqual([first]);
  const records = trail(other).records.slice(0, 1 + old);
  const partials = ['audit-1-another-running.partial', 'audit-1-another-interrupted.partial'];
  for (const name of partials) writeFileSync(at(name), '');
  const dayAgo = new Date(nowUs / 1000 - 25 * 3_600_000);
  utimesSync(at(partials[1]!), dayAgo, dayAgo);
  const secondPattern = new RegExp(`^audit-1-${1 + old}-[0-9a-f]{12}\\.ndjson$`);
  const second = () => names().find(name => secondPattern.test(name)) ?? '';
  // The first exports of the other vault are cut off: the last of them before any record was removed.
  for (let turnsMax = 1; second() === '' && turnsMax < 20; turnsMax++)
    await prune(other, { ...call, directory, turnsMax });
  await prune(other, { ...call, directory });
  expect(names()).toEqual([first, second(), partials[0]].sort());
  expect(inFiles(place, [at(first)]).broken).toBe(null);
  expect(inFiles(other, [at(second())])).toEqual({ records, broken: null });
});

test('what cannot be written is not removed', async () => {
  const place = agedVault();
  writeFileSync(join(place.statePath, 'exported'), 'a file where a directory should be');
  const refusal = ({ reply }: Pruned) => reply && 'refusal' in reply && reply.refusal;
  const pruned = await exporting(place);
  expect([refusal(pruned), pruned.problems]).toEqual(['export_failed', [expect.stringContaining('ENOTDIR')]]);
  const { records, broken } = trail(place);
  expect([broken, records.length, records.at(-1)]).toMatchObject([
    null,
    1 + old + young + 1,
    { op: 'audit.prune', outcome: 'refused', code: 'export_failed' },
  ]);
});

test('a call prunes through the record that it names, keeps the newest, and says where the trail is broken', async () => {
  const place = agedVault();
  const beforeUs = nowUs + hourUs;
  expect((await prune(place, { nowUs, beforeUs, through: 9 })).reply).toMatchObject({ records: 9, more: false });
  expect(trail(place).records[0]!.seq).toBe(10);
  change(place, store => {
    const third = Array.from(store.keys('vault_audit', { limit: 3 }))[2]!;
    edit(store, Buffer.from(third), flipped(store.get('vault_audit', third)!));
  });
  expect((await prune(place, { nowUs, beforeUs })).reply).toMatchObject({
    refusal: 'broken_trail',
    detail: expect.stringContaining('record 12'),
  });
  expect(trail(place).records).toEqual([]);
});

test(`one job takes at most ${recordsPerJobMax} records, and says that there are more`, async () => {
  const place = agedVault();
  note(place, recordsPerJobMax, madeUs);
  const beforeUs = nowUs + hourUs;
  expect((await prune(place, { nowUs, beforeUs })).reply).toMatchObject({ records: recordsPerJobMax, more: true });
  expect((await prune(place, { nowUs, beforeUs })).reply).toMatchObject({ more: false });
  expect(checked(place)).toBe(null);
});

function edit(store: Store, key: Uint8Array, value: Uint8Array | null): void {
  const batch = store.batch();
  if (value === null) batch.remove('vault_audit', key);
  else batch.put('vault_audit', key, value);
  store.commit(batch);
}

function flipped(value: Uint8Array): Buffer {
  const changed = Buffer.from(value);
  changed[changed.length - 3]! ^= 1;
  return changed;
}

test('a caller whose pruning the actors have forgotten at their restart is refused', async () => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => [port1, port2].forEach(port => void port.close()));
  const link = openLink({ port: port1, onMessage: () => {} });
  const client = new VaultClient(() => link);
  const pruning = client.call('', { op: 'audit.prune', beforeUs: madeUs }, { isGone: false });
  client.actorsRestarted();
  expect(await pruning).toEqual({ kind: 'refused', refusal: 'unavailable' });
});
