// A turn that fails: its cause is handled alone, hosts keep what they run, and after a fault of the disk nothing is committed.
import { expect, it } from 'vitest';
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import { formatId } from '../../../runtime/ids.ts';
import { pack } from '../../../runtime/packing.ts';
import { StoreFault, StoreFull } from '../../../runtime/store/store.ts';
import { Ledger } from './ledger.ts';

const refused = { kind: 'refused', refusal: 'unavailable' };
const gathering = [{ name: 'gather', on: 'gather', steps: [{ uses: 'step', foreach: 'payload.list' }] }];

/** Makes the record of an idempotency key undecodable: a call with this key then fails its turn. */
function damageKeys(ledger: Ledger): void {
  ledger.change((batch, reader) => {
    for (const { key } of reader.scan('idempotency', {})) batch.put('idempotency', Buffer.from(key), Buffer.of(0));
  });
}

it('commits nothing after a fault of the disk, though the disk would take it, and refuses who asks', () => {
  const ledger = new Ledger([], ['echo', 'other']);
  ledger.submit('echo');
  ledger.submit('other');
  ledger.run();
  const [first, second] = ledger.tasks;
  ledger.beforeCommit = () => {
    ledger.beforeCommit = () => {};
    throw new StoreFault('EIO');
  };
  const { commits } = ledger;
  ledger.answer(first!);
  const asked = ledger.submit('echo');
  ledger.run();
  ledger.answer(second!);
  const late = ledger.submit('echo');
  ledger.run();
  expect(ledger.fatal).toEqual([74]);
  expect(ledger.commits).toBe(commits);
  expect([ledger.replyTo(asked), ledger.replyTo(late)]).toEqual([refused, refused]);
  expect(() => ledger.store.commit(ledger.store.batch())).toThrow('EIO');
  ledger.start();
  expect(ledger.faults()).toEqual([]);
  ledger.run();
  expect([ledger.job(first!.id).status, ledger.job(second!.id).status]).not.toContain('succeeded');
});

it('ends with 70 after the fourth failure that nobody is to blame for, and commits nothing more', async () => {
  const ledger = new Ledger();
  ledger.submit('echo');
  ledger.run();
  const { commits } = ledger;
  ledger.beforeCommit = () => {
    throw new Error('a bug');
  };
  // The start has to charge the job that was running, and so has to commit.
  ledger.start();
  const asked = ledger.submit('echo');
  await ledger.rest();
  expect(ledger.fatal).toEqual([70]);
  expect(ledger.hostsStopped).toBe(3);
  ledger.beforeCommit = () => {};
  const late = ledger.submit('echo');
  await ledger.rest();
  expect([ledger.replyTo(asked), ledger.replyTo(late)]).toEqual([refused, refused]);
  expect(ledger.commits).toBe(commits);
});

it('refuses the call that fails alone, however often it is made; others are taken, and hosts keep what they run', async () => {
  const ledger = new Ledger();
  ledger.submit('echo', { key: 'k' });
  ledger.run();
  damageKeys(ledger);
  for (let time = 0; time < 6; time++) {
    const [before, bad, behind] = [ledger.submit('echo'), ledger.submit('echo', { key: 'k' }), ledger.submit('echo')];
    await ledger.rest();
    expect(ledger.replyTo(bad)).toEqual(refused);
    expect([ledger.replyTo(before), ledger.replyTo(behind)]).toMatchObject([
      { kind: 'accepted' },
      { kind: 'accepted' },
    ]);
  }
  for (let at = 0; at < ledger.tasks.length; at++) {
    ledger.answer(ledger.tasks[at]!);
    ledger.run();
  }
  expect(ledger.tasks.map(({ attempt }) => attempt)).toEqual(Array(13).fill(1));
  expect(new Set(ledger.tasks.map(({ id }) => id)).size).toBe(13);
  for (const { id } of ledger.tasks) expect(ledger.job(id).status).toBe('succeeded');
  expect([ledger.fatal, ledger.hostsStopped, ledger.hostsStarted]).toEqual([[], 0, 1]);
  expect(ledger.faults()).toEqual([]);
});

it('takes frames over that a host has, with what it says of them in the turn that fails', async () => {
  const ledger = new Ledger();
  for (let n = 0; n < 3; n++) {
    ledger.submit('echo', n === 0 ? { key: 'k' } : {});
    ledger.run();
  }
  damageKeys(ledger);
  const [first, second, third] = ledger.tasks;
  ledger.answer(first!);
  ledger.submit('echo', { key: 'k' });
  const { frameId } = second!.frame;
  ledger.lifecycle.loop.deliver('job', { kind: 'returned', slot: 'main', frameId, tasks: [0], reason: 'crowded' });
  await ledger.rest();
  expect(ledger.job(first!.id).status).toBe('succeeded');
  // The second task was returned, and was handed out again; the host kept the third one all the time.
  expect(ledger.tasks.map(({ id }) => id)).toEqual([first!.id, second!.id, third!.id, second!.id]);
  ledger.answer(third!);
  ledger.answer(ledger.tasks[3]!);
  ledger.run();
  for (const { id } of ledger.tasks) expect(ledger.job(id).status).toBe('succeeded');
  expect(ledger.faults()).toEqual([]);
});

it('takes over a host that is lost while its frames are: the jobs are charged as ever', async () => {
  const ledger = new Ledger();
  ledger.submit('echo', { key: 'k' });
  ledger.run();
  damageKeys(ledger);
  ledger.lifecycle.loop.deliver('job', { kind: 'host_lost', slot: 'main', reason: 'killed', sentUpTo: 1_000 });
  ledger.submit('echo', { key: 'k' });
  await ledger.rest();
  expect(ledger.logged).toContain('a turn failed');
  ledger.lifecycle.loop.deliver('job', { kind: 'alarm' });
  await ledger.rest();
  expect(ledger.tasks.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(ledger.faults()).toEqual([]);
});

it('fails the job whose outcome cannot be taken, with a log that says so, and takes the others of the frame', async () => {
  const ledger = new Ledger();
  for (let n = 0; n < 5; n++) ledger.submit('echo');
  ledger.run();
  const [first, bad] = ledger.tasks;
  const broken = encodeBody({ state_updates: Buffer.of(0x81, 0xa1) });
  for (const task of new Map(ledger.tasks.map(task => [task.frame, task])).values()) {
    ledger.answer(task, id => (id === bad!.id ? broken : encodeBody({ result: pack(1) })));
  }
  await ledger.rest();
  expect(ledger.job(bad!.id)).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('cannot be processed'),
  });
  expect(ledger.job(first!.id).status).toBe('succeeded');
  for (const { id } of ledger.tasks) expect(['succeeded', 'failed']).toContain(ledger.job(id).status);
  expect([ledger.fatal, ledger.hostsStopped]).toEqual([[], 0]);
  expect(ledger.faults()).toEqual([]);
});

it('fails the run whose arrivals do not add up, and no other', async () => {
  const ledger = new Ledger(gathering, ['step', 'echo']);
  const asked = [
    [1, 2],
    [3, 4],
  ].map(list => ledger.startRun('gather', { list }));
  await ledger.rest();
  const [bad, good] = asked.map(ask => Buffer.from((ledger.replyTo(ask) as { id: Uint8Array }).id));
  const tasks = ledger.of('step');
  expect(tasks).toHaveLength(4);
  const large = encodeBody({ result: pack('x'.repeat(5000)) });
  // The first two tasks belong to the first run, whose arrivals get lost; its second task is answered last.
  const [last] = tasks.splice(1, 1);
  for (const task of tasks) {
    ledger.answer(task, () => large);
    ledger.run();
  }
  ledger.change((batch, reader) => {
    for (const { key } of reader.scan('arrivals', {})) {
      const own = Buffer.from(key);
      if (own.subarray(0, 16).equals(bad!)) batch.remove('arrivals', own);
    }
  });
  ledger.answer(last!, () => large);
  await ledger.rest();
  expect(ledger.job(formatId(good!))).toMatchObject({ status: 'succeeded' });
  const error = expect.stringContaining('the run cannot continue');
  expect(ledger.job(formatId(bad!))).toMatchObject({ status: 'failed', error });
  expect([ledger.fatal, ledger.hostsStopped]).toEqual([[], 0]);
  expect(ledger.faults()).toEqual([]);
});

it('goes on by itself when the full disk has room again', async () => {
  const ledger = new Ledger();
  ledger.submit('echo');
  ledger.run();
  ledger.beforeCommit = () => {
    throw new StoreFull('ENOSPC');
  };
  ledger.hasRoom = false;
  const asked = ledger.submit('echo');
  await ledger.rest();
  expect(ledger.replyTo(asked)).toEqual({ kind: 'refused', refusal: 'disk_full' });
  expect(ledger.lifecycle.state).toBe('resting');
  ledger.beforeCommit = () => {};
  ledger.lifecycle.begin();
  ledger.run();
  expect(ledger.fatal).toEqual([]);
  expect(ledger.faults()).toEqual([]);
});

it('maintains the state around records that cannot be decoded, and leaves them as they are', async () => {
  const ledger = new Ledger();
  const tables = ['idempotency', 'dedupe', 'unused_definitions', 'reuse_index'] as const;
  const key = Buffer.alloc(16, 1);
  // The head of a packed list of three, without its elements.
  const damaged = Buffer.of(0x93);
  ledger.change(batch => {
    for (const table of tables) batch.put(table, key, damaged);
  });
  ledger.start();
  for (const actor of ['job', 'pipeline']) ledger.lifecycle.loop.deliver(actor, { kind: 'prune' });
  await ledger.rest();
  expect([ledger.logged, ledger.fatal, ledger.hostsStopped]).toEqual([[], [], 0]);
  expect(new Set(ledger.setAsideRecords.map(({ table }) => table))).toEqual(new Set(tables));
  for (const table of tables) expect(Buffer.from(ledger.store.get(table, key)!)).toEqual(damaged);
});

it.each([false, true])(
  'stays ended if the disk fails while hosts are being stopped (asked to stop: %s)',
  async isAsked => {
    const ledger = new Ledger();
    ledger.beforeCommit = () => {
      throw new StoreFull('ENOSPC');
    };
    ledger.submit('echo');
    ledger.run();
    expect(ledger.lifecycle.state).toBe('leaving');
    const replyTo = { ask: -1 };
    if (isAsked) {
      ledger.lifecycle.stopping(replyTo);
      ledger.lifecycle.loop.deliver('job', { kind: 'stop', replyTo });
      ledger.run();
    }
    ledger.lifecycle.failStore(new StoreFault('EIO'));
    ledger.beforeCommit = () => {};
    await ledger.rest();
    expect([ledger.lifecycle.state, ledger.fatal]).toEqual(['over', [74]]);
    if (isAsked) expect(ledger.replyTo(-1)).toEqual({ kind: 'stopped' });
  },
);
