// What retention keeps, although it is old, because something else has yet to read it.
import { expect, it } from 'vitest';
import { BlockBuilder, decodeBlock } from '../../../../../actors/job/records/block.ts';
import { NameTable } from '../../../../../actors/job/records/name-table.ts';
import {
  readReruns,
  rerunsCountedMax,
  rerunsListedMax,
  rerunsOf,
  writeRerun,
} from '../../../../../actors/job/records/reruns.ts';
import { passedPerSweepMax } from '../../../../../actors/job/retention/retention.ts';
import { invariantsOf } from '../../../../../actors/job/views/invariants.ts';
import { blockOf, jobId, makeBlockKeys, parseId } from '../../../../../runtime/ids.ts';
import { type Json, pack, packedEmpty, unpack } from '../../../../../runtime/packing.ts';
import { Ledger } from '../../../../feature/search/ledger.ts';
import { countRead } from '../../../../support/count-read.ts';
import { calm, config, dice, heldMs, logSizes, plugin, Simulation } from '../simulator.ts';

const succeeded = { attempts: [{ status: 'succeeded' }], end: 'over' } as const;

it('spares a job whose events are still taken out of its record, until none is left', () => {
  const ledger = new Ledger();
  const { store } = ledger;
  const kept = () => [store.count('blocks'), store.count('attempts')];
  for (const command of ['flood', 'poll']) {
    ledger.add({ plugin: 'news', command, submittedBy: 'api', jobs: [succeeded, succeeded] });
  }
  const flood = parseId(ledger.jobs[1]!.id)!;
  const taking = store.batch();
  taking.put('emissions', flood, packedEmpty);
  store.commit(taking);
  ledger.prune(0);
  expect(kept()).toEqual([1, 1]);
  const taken = store.batch();
  taken.remove('emissions', flood);
  store.commit(taken);
  ledger.prune(0);
  expect(kept()).toEqual([0, 0]);
});

it('forgets which jobs ran a pruned one again, and keeps those of others', () => {
  const ledger = new Ledger();
  for (const command of ['old', 'older'] as const)
    ledger.add({ plugin: 'p', command, submittedBy: 'api', jobs: [succeeded, succeeded] });
  const [first, second, third] = ledger.jobs.map(({ id }) => parseId(id)!);
  const writing = ledger.store.batch();
  for (const [of, id] of [
    [first!, third!],
    [second!, third!],
    [anotherRun, first!],
  ] as const)
    writeRerun(writing, { of, from: 'start', reason: null }, id, packedEmpty);
  ledger.store.commit(writing);
  ledger.prune(0);
  expect(ledger.store.count('blocks')).toBe(0);
  expect([first!, second!].map(id => readReruns(ledger.store, id).count)).toEqual([0, 0]);
  expect(readReruns(ledger.store, anotherRun)).toEqual({ ids: [first!], count: 1 });
});

it('lists the newest reruns of a job, and counts them, up to their limits', () => {
  const { store } = new Ledger();
  const writing = store.batch();
  const ids = Array.from({ length: rerunsCountedMax + 1 }, (_, n) => jobId(blockOf(anotherRun), n));
  for (const id of ids) writeRerun(writing, { of: anotherRun, from: 'start', reason: null }, id, packedEmpty);
  store.commit(writing);
  const { ids: listed, count } = readReruns(store, anotherRun);
  expect(count).toBe(rerunsCountedMax);
  expect(listed.map(keyText)).toEqual(ids.slice(-rerunsListedMax).reverse().map(keyText));
  const upwards = [...rerunsOf(store, anotherRun, 'up')].filter(id => id !== null);
  expect(upwards.map(keyText)).toEqual(ids.map(keyText));
});

const keyText = (id: Uint8Array) => Buffer.from(id).toString('hex');
const anotherRun = parseId('0198c0de-0000-7000-8000-000000000000')!;
const ended = { submittedBy: 'api', jobs: [succeeded] };

/** Writes or removes the record of an open run, which is all that retention looks at. */
function put({ store }: Ledger, run: Uint8Array, isOpen: boolean): void {
  const batch = store.batch();
  if (isOpen) batch.put('runs', run, packedEmpty);
  else batch.remove('runs', run);
  store.commit(batch);
}

it('spares the jobs of a run that is open, and those of the runs it has called, until it is over', () => {
  const ledger = new Ledger();
  put(ledger, anotherRun, true);
  ledger.add({ ...ended, plugin: 'pipeline', command: 'inner', run: anotherRun });
  const inner = parseId(ledger.jobs[0]!.id)!;
  ledger.add({ ...ended, plugin: 'p', command: 'a', run: inner });
  ledger.add({ ...ended, plugin: 'p', command: 'a', run: anotherRun });
  ledger.add({ ...ended, plugin: 'p', command: 'a' });
  const sweep = ledger.sweeps(0);
  sweep();
  expect(ledger.store.count('blocks')).toBe(3);
  put(ledger, anotherRun, false);
  sweep();
  expect(ledger.store.count('blocks')).toBe(0);
});

it('takes a run that a step called after its caller, whose result may name parts of it', () => {
  const ledger = new Ledger();
  ledger.add({ ...ended, plugin: 'pipeline', command: 'outer' });
  const outer = parseId(ledger.jobs[0]!.id)!;
  ledger.add({ ...ended, plugin: 'pipeline', command: 'inner', run: outer });
  ledger.add({ ...ended, plugin: 'p', command: 'a', run: outer });
  const sweep = ledger.sweeps(0);
  // A pending emission keeps the job of the calling run for now.
  const awaited = ledger.store.batch();
  awaited.put('emissions', outer, packedEmpty);
  ledger.store.commit(awaited);
  sweep();
  expect([...ledger.store.keys('blocks', {})].length).toBe(2);
  const taken = ledger.store.batch();
  taken.remove('emissions', outer);
  ledger.store.commit(taken);
  sweep();
  sweep();
  expect(ledger.store.count('blocks')).toBe(0);
});

it('counts no jobs of open runs against max_jobs: they take no room from others', () => {
  const ledger = new Ledger();
  put(ledger, anotherRun, true);
  for (let n = 0; n < 50; n++)
    ledger.add({ ...ended, plugin: 'p', command: 'a', ...(n % 2 === 0 && { run: anotherRun }) });
  ledger.sweeps(10, 25)();
  expect(ledger.store.count('blocks')).toBe(25 + 10);
});

it('looks at a limited number of kept blocks in a sweep, and goes on behind them in the next', () => {
  const ledger = new Ledger();
  put(ledger, anotherRun, true);
  const kept = 2 * passedPerSweepMax;
  for (let n = 0; n < kept; n++) ledger.add({ ...ended, plugin: 'p', command: 'a', run: anotherRun });
  for (let n = 0; n < 3; n++) ledger.add({ ...ended, plugin: 'p', command: 'a' });
  const sweep = ledger.sweeps(0);
  const turns = [sweep(), sweep()];
  expect([Math.max(...turns) <= passedPerSweepMax, ledger.store.count('blocks')]).toEqual([true, kept + 3]);
  sweep();
  expect(ledger.store.count('blocks')).toBe(kept);
});

/** Adds open blocks of one job each; all jobs are held. */
function openBlocks(world: Simulation, count: number): void {
  world.sealed.add('held');
  world.tell({ kind: 'holds_changed' });
  for (let job = 0; job < count; job++) {
    world.submit('held', 'handle', {});
    world.turn();
  }
}

function end(world: Simulation, jobs: number): void {
  for (let job = 0; job < jobs; job++) {
    world.submit('fast', 'handle', {});
    world.run();
  }
}

const retentionOf = (jobsMs: number, jobsMax: number) => ({
  ...config([plugin('fast'), plugin('held')]),
  state: { path: '/state', retention: { jobsMs, jobsMax, heldMs }, log: logSizes },
});

it('keeps no more than max_jobs behind very many open blocks, and reads none of those', () => {
  const world = new Simulation(retentionOf(1e12, 10), calm, dice(1));
  const opens = 4 * passedPerSweepMax;
  openBlocks(world, opens);
  end(world, 30);
  const read = countRead(world.store, 'blocks');
  for (let sweep = 1; sweep <= 3; sweep++) {
    world.tell({ kind: 'prune' });
    world.run();
    expect(world.store.count('blocks')).toBe(opens + 10);
    end(world, 5);
  }
  expect(read()).toBeLessThan(200);
});

it('prunes a block that was open when a sweep passed it', () => {
  const world = new Simulation(retentionOf(1e12, 10), calm, dice(1));
  openBlocks(world, 50);
  end(world, 30);
  const sweep = () => {
    world.tell({ kind: 'prune' });
    world.run();
  };
  sweep();
  world.sealed.delete('held');
  world.tell({ kind: 'holds_changed' });
  world.run();
  sweep();
  expect(world.store.count('blocks')).toBe(10);
});

it('prunes by age a block that was open when a sweep passed it', () => {
  const world = new Simulation(retentionOf(1000, 1e9), calm, dice(1));
  openBlocks(world, 50);
  const sweep = () => {
    world.nowUs += 2_000_000;
    world.tell({ kind: 'prune' });
    world.run();
  };
  sweep();
  end(world, 3);
  world.sealed.delete('held');
  world.tell({ kind: 'holds_changed' });
  world.run();
  sweep();
  sweep();
  expect(world.store.count('blocks')).toBe(0);
});

it('a job whose parent was pruned has had one, though the clock was set back before the parent ended', () => {
  const retention = { jobsMs: 1000, jobsMax: 1e9, heldMs };
  const world = new Simulation(
    { ...config([plugin('fast')]), state: { path: '/state', retention, log: logSizes } },
    calm,
    dice(1),
  );
  world.submit('fast', 'handle', {});
  world.turn();
  world.nowUs -= 3_600_000_000;
  world.start();
  world.run();
  const parent = parseId(world.accepted[0]!)!;
  const child = new BlockBuilder(makeBlockKeys(() => 7, blockOf(parent)).next(0), 'fast', 'handle', world.nowUs);
  const [block] = world.store.scan('blocks', {});
  child.add(packedEmpty, { ...decodeBlock(block!.value).group(0), parent }, false);
  for (let sweep = 0; sweep < 3; sweep++) {
    world.tell({ kind: 'prune' });
    world.run();
    world.nowUs += 2_000_000;
  }
  expect(world.store.count('blocks')).toBe(0);
  const batch = world.store.batch();
  const encoded = child.encode();
  batch.put('blocks', child.key, encoded);
  world.store.commit(batch);
  const { wrong } = invariantsOf(world.store, new NameTable(world.store)).find(
    ({ name }) => name === 'children_have_parents',
  )!;
  expect(wrong(child.key, encoded)).toBe(null);
});

/** Overwrites the block, or only its groups, with bytes that cannot be decoded. */
function damage({ store }: Pick<Ledger, 'store'>, key: Uint8Array, part: 'all' | 'groups' = 'all'): void {
  const batch = store.batch();
  const [plugin, command, createdUs, starts, groups, ...rest] = unpack<[...Json[]]>(store.get('blocks', key)!);
  const cut = [plugin, command, createdUs, starts, (groups as Json[]).map(() => Buffer.of(0x93)), ...rest];
  batch.put('blocks', key, part === 'all' ? Buffer.of(0x93) : pack(cut));
  store.commit(batch);
}

it.each(['all', 'groups'] as const)('passes over a block that cannot be decoded (%s)', part => {
  const world = new Simulation(retentionOf(1e12, 2), calm, dice(1));
  end(world, 3);
  const [first] = Array.from(world.store.keys('blocks', {}), key => Buffer.from(key));
  damage(world, first!, part);
  world.tell({ kind: 'prune' });
  world.run();
  expect(Array.from(world.store.keys('blocks', {}), keyText)).toContain(keyText(first!));
  expect(world.store.count('blocks')).toBe(2);
  end(world, 3);
  world.tell({ kind: 'prune' });
  world.run();
  expect(world.store.count('blocks')).toBe(2);
});

it.each([
  ['cut', () => Buffer.of(0x93)],
  ['without a valid time', (page: Buffer) => Buffer.from(page).fill(0x7f, 8, 24)],
])('keeps a block with attempts that cannot be used (%s), and prunes the others', (_, damaged) => {
  const ledger = new Ledger();
  for (let block = 0; block < 3; block++) ledger.add({ ...ended, plugin: 'p', command: 'a' });
  const first = blockOf(parseId(ledger.jobs[0]!.id)!);
  const [page] = ledger.store.scan('attempts', { from: first, limit: 1 });
  const batch = ledger.store.batch();
  batch.put('attempts', Buffer.from(page!.key), damaged(Buffer.from(page!.value)));
  ledger.store.commit(batch);
  ledger.sweeps(0)();
  expect(Array.from(ledger.store.keys('blocks', {}), keyText)).toEqual([keyText(first)]);
  expect(ledger.store.count('attempts')).toBe(1);
});

it('prunes a job whose new time cannot be decoded, with that record', () => {
  const ledger = new Ledger();
  ledger.add({ ...ended, plugin: 'p', command: 'a' });
  const batch = ledger.store.batch();
  batch.put('rescheduled', parseId(ledger.jobs[0]!.id)!, Buffer.of(0x93));
  ledger.store.commit(batch);
  ledger.sweeps(0)();
  expect([ledger.store.count('blocks'), ledger.store.count('rescheduled')]).toEqual([0, 0]);
});

it('keeps the jobs of a run whose block cannot be decoded, because its caller may be open', () => {
  const ledger = new Ledger();
  ledger.add({ ...ended, plugin: 'pipeline', command: 'inner' });
  const inner = parseId(ledger.jobs[0]!.id)!;
  ledger.add({ ...ended, plugin: 'p', command: 'a', run: inner });
  ledger.add({ ...ended, plugin: 'p', command: 'a' });
  damage(ledger, blockOf(inner));
  ledger.sweeps(0)();
  expect(ledger.store.count('blocks')).toBe(2);
});

it('prunes the jobs of a run of which a rerun cannot be decoded', () => {
  const ledger = new Ledger();
  ledger.add({ ...ended, plugin: 'pipeline', command: 'outer' });
  ledger.add({ ...ended, plugin: 'pipeline', command: 'outer' });
  const [run, rerun] = ledger.jobs.map(({ id }) => parseId(id)!);
  ledger.add({ ...ended, plugin: 'p', command: 'a', run: run! });
  const writing = ledger.store.batch();
  writeRerun(writing, { of: run!, from: 'failed', reason: null }, rerun!, packedEmpty);
  ledger.store.commit(writing);
  damage(ledger, blockOf(rerun!));
  ledger.sweeps(0)();
  expect(Array.from(ledger.store.keys('blocks', {}), keyText)).toEqual([run!, rerun!].map(id => keyText(blockOf(id))));
});
