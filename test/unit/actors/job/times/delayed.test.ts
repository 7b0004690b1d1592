// Delayed jobs, expiry and deadlines, over kills: on a simulated clock, with the store and hosts of a simulated world.
import { expect, it } from 'vitest';
import type { CallOptions } from '../../../../../actors/job/records/options.ts';
import { findJob } from '../../../../../actors/job/views/jobs.ts';
import { selfcheck } from '../../../../../actors/job/views/selfcheck.ts';
import { parseId } from '../../../../../runtime/ids.ts';
import { pack } from '../../../../../runtime/packing.ts';
import { calm, config, dice, plugin, Simulation } from '../simulator.ts';

const plugins = [plugin('fast'), plugin('other'), plugin('killer')];
const minute = 60_000;

function world(faults = calm, seed = 1, limits: readonly [number?, number?] = []): Simulation {
  return new Simulation(config(plugins, ...limits), faults, dice(seed));
}

/** Submits jobs with these options; their ids. */
function submit(of: Simulation, options: CallOptions, count = 1, name = 'fast'): string[] {
  const before = of.accepted.length;
  of.deliver({
    kind: 'submit',
    replyTo: { ask: 0 },
    plugin: name,
    command: 'handle',
    payloads: Array.from({ length: count }, (_, k) => pack({ k })),
    submittedBy: 'test',
    event: null,
    options,
  });
  of.turn();
  return of.accepted.slice(before);
}

function jobOf({ store }: Simulation, id: string) {
  return findJob(store, parseId(id)!)!;
}

/** Lets this much time pass, and runs everything that is due in it. */
function pass(of: Simulation, ms: number): void {
  const toUs = of.nowUs + ms * 1000;
  while (of.isDue || of.held.length > 0 || (of.alarmUs !== null && of.alarmUs <= toUs)) of.step({ mayReturn: false });
  of.nowUs = Math.max(of.nowUs, toUs);
}

/** Has the vault hold the jobs of the plugin from now on. */
function seal(of: Simulation, name: string): void {
  of.sealed.add(name);
  of.tell({ kind: 'holds_changed' });
  of.turn();
}

function unseal(of: Simulation): void {
  of.sealed.clear();
  of.tell({ kind: 'holds_changed' });
}

async function isSound({ store }: Simulation): Promise<void> {
  const askIdle = async () => new Uint8Array(0);
  const run = <T>(work: Generator<void, T>): T => {
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
    }
  };
  const { failures } = await selfcheck({ reader: store, askIdle, pause: async () => {}, run: run as never });
  expect(failures).toEqual([]);
}

const ranOf = ({ runs }: Simulation, id: string) => runs.filter(run => run.id === id).length;

it('a stored job whose time lies before 1970, of which no key can be made, runs at once and ends', async () => {
  const sim = world();
  const [id] = submit(sim, { runAtUs: -62_135_596_800_000_000, expiresMs: minute });
  pass(sim, 1000);
  expect(jobOf(sim, id!).status).toBe('succeeded');
  await isSound(sim);
});

it('runs a delayed job at its time and not before, also after starts', async () => {
  const of = world();
  const [id] = submit(of, { delayMs: 10 * minute });
  pass(of, 9 * minute);
  of.start();
  pass(of, 0);
  expect(jobOf(of, id!)).toMatchObject({ status: 'queued', startedUs: null });
  expect(of.waitsOf(id!)).toMatchObject({ reason: 'run_at', untilUs: jobOf(of, id!).times!.runAtUs });
  await isSound(of);
  pass(of, minute);
  expect(jobOf(of, id!).status).toBe('succeeded');
  expect(of.runs).toEqual([{ id, attempt: 1 }]);
  expect(of.store.count('timers')).toBe(0);
  await isSound(of);
});

it('runs what came due while the service was down, and at once what is due already', () => {
  const of = world();
  const [late] = submit(of, { delayMs: minute });
  of.nowUs += 3_600_000_000;
  of.start();
  pass(of, 0);
  const [past] = submit(of, { runAtUs: 1 });
  pass(of, 0);
  expect([late, past].map(id => jobOf(of, id!).status)).toEqual(['succeeded', 'succeeded']);
  expect(jobOf(of, past!).times).toMatchObject({ runAtUs: 1 });
});

it('runs thousands of jobs that are due together, each once', async () => {
  const of = world();
  const ids = submit(of, { delayMs: minute }, 5000);
  await isSound(of);
  of.start();
  pass(of, 2 * minute);
  expect(new Set(ids.map(id => jobOf(of, id).status))).toEqual(new Set(['succeeded']));
  expect(of.runs).toHaveLength(5000);
  expect(of.store.count('timers')).toBe(0);
});

it('handles a timer in each turn, even if no turn has time left', () => {
  const of = world();
  for (let n = 0; n < 3; n++) submit(of, { delayMs: minute });
  of.nowUs += 2 * minute * 1000;
  of.isSlow = true;
  const left = [1, 2, 3].map(() => {
    of.tell({ kind: 'alarm' });
    of.turn();
    return of.store.count('timers');
  });
  expect(left).toEqual([2, 1, 0]);
});

it('ends a delayed job that is cancelled after a start has passed over it, and before it has read all blocks', async () => {
  const of = world();
  // Each job has a block of its own, and there are more blocks than one turn reads.
  const ids = Array.from({ length: 4_100 }, () => submit(of, { delayMs: 10 * minute })[0]!);
  of.start();
  // The turn that reads the first blocks handles the cancels, too.
  for (const id of [ids[0]!, ids.at(-1)!])
    of.tell({ kind: 'cancel', replyTo: { ask: 0 }, id: parseId(id)!, by: 'test', reason: null } as never);
  pass(of, 0);
  expect([ids[0], ids.at(-1), ids[1]].map(id => jobOf(of, id!).status)).toEqual(['cancelled', 'cancelled', 'queued']);
  expect(of.store.count('open')).toBe(ids.length - 2);
  await isSound(of);
});

it('ends jobs that expired with a host, and that the host returns, while their plugin is held', async () => {
  const of = world();
  const ids = submit(of, { expiresMs: minute }, 2);
  of.nowUs += 2 * minute * 1000;
  of.tell({ kind: 'alarm' });
  seal(of, 'fast');
  expect(ids.map(id => jobOf(of, id).status)).toEqual(['running', 'running']);
  for (const { slot, frame } of of.held.splice(0)) {
    const tasks = Array.from({ length: frame.ids.length / 16 }, (_, task) => task);
    of.tell({ kind: 'returned', slot, frameId: frame.frameId, tasks, reason: 'crowded' });
  }
  pass(of, 0);
  expect(ids.map(id => jobOf(of, id).status)).toEqual(['cancelled', 'cancelled']);
  expect(of.runs).toEqual([]);
  await isSound(of);
});

it('keeps the order of times, whatever the order of acceptance', () => {
  const of = world();
  const ids = [3, 1, 2].map(minutes => submit(of, { delayMs: minutes * minute })[0]!);
  pass(of, 5 * minute);
  expect(of.runs.map(({ id }) => ids.indexOf(id))).toEqual([1, 2, 0]);
});

it('runs a job that was rescheduled at its new time, and its neighbours at theirs', async () => {
  const of = world();
  const [sooner, later, same, back] = submit(of, { delayMs: 10 * minute, expiresMs: minute, deadlineMs: minute }, 4);
  const { runAtUs } = jobOf(of, same!).times!;
  const move = (id: string, toUs: number) =>
    of.tell({ kind: 'reschedule', replyTo: { ask: 0 }, id: parseId(id)!, runAtUs: toUs } as never);
  move(sooner!, of.nowUs + 5 * minute * 1000);
  move(later!, runAtUs! + 10 * minute * 1000);
  move(back!, runAtUs! + minute * 1000);
  move(back!, runAtUs!);
  pass(of, 0);
  await isSound(of);
  of.start();
  pass(of, 6 * minute);
  const all = [sooner!, later!, same!, back!];
  expect(all.map(id => ranOf(of, id))).toEqual([1, 0, 0, 0]);
  pass(of, 5 * minute);
  expect(all.map(id => ranOf(of, id))).toEqual([1, 0, 1, 1]);
  await isSound(of);
  pass(of, 10 * minute);
  expect(all.map(id => ranOf(of, id))).toEqual([1, 1, 1, 1]);
  expect(jobOf(of, later!)).toMatchObject({ status: 'succeeded', times: { runAtUs: runAtUs! + 10 * minute * 1000 } });
  expect(of.store.count('timers')).toBe(0);
  await isSound(of);
});

it('keeps no block in memory of a job that was rescheduled, when its old time has come', () => {
  const of = world();
  const [id] = submit(of, { delayMs: 10 * minute });
  const runAtUs = of.nowUs + 60 * minute * 1000;
  of.tell({ kind: 'reschedule', replyTo: { ask: 0 }, id: parseId(id!)!, runAtUs } as never);
  pass(of, 11 * minute);
  expect([of.openBlocks, ranOf(of, id!)]).toEqual([0, 0]);
  pass(of, 50 * minute);
  expect(ranOf(of, id!)).toBe(1);
});

it('leaves no timer of a job that was rescheduled to a time before its acceptance, because the clock was set back', async () => {
  const of = world();
  const [id] = submit(of, { delayMs: 10 * minute });
  of.nowUs -= 60 * minute * 1000;
  of.start();
  of.turn();
  const job = { replyTo: { ask: 0 }, id: parseId(id!)! };
  of.tell({ kind: 'reschedule', ...job, runAtUs: of.nowUs + 5 * minute * 1000 } as never);
  of.turn();
  expect(of.store.count('timers')).toBe(2);
  of.tell({ kind: 'run_now', ...job } as never);
  pass(of, 0);
  expect([jobOf(of, id!).status, of.store.count('timers')]).toEqual(['succeeded', 0]);
});

it('runs at once what is told to run now, and no neighbour', async () => {
  const of = world();
  const [now, other] = submit(of, { delayMs: 10 * minute }, 2);
  of.tell({ kind: 'run_now', replyTo: { ask: 0 }, id: parseId(now!)! } as never);
  pass(of, 0);
  expect([now, other].map(id => jobOf(of, id!).status)).toEqual(['succeeded', 'queued']);
  await isSound(of);
  of.start();
  pass(of, 11 * minute);
  expect([now, other].map(id => ranOf(of, id!))).toEqual([1, 1]);
});

it('ends a delayed job with its cancel, which it shows, and no neighbour', async () => {
  const of = world();
  const [gone, other] = submit(of, { delayMs: minute }, 2);
  of.tell({ kind: 'cancel', replyTo: { ask: 0 }, id: parseId(gone!)!, by: 'test', reason: 'over' } as never);
  pass(of, 0);
  expect(jobOf(of, gone!)).toMatchObject({ status: 'cancelled', startedUs: null, cancel: { reason: 'over' } });
  await isSound(of);
  of.start();
  pass(of, 2 * minute);
  expect([gone, other].map(id => ranOf(of, id!))).toEqual([0, 1]);
});

it('ends a job that has not started in time, wherever it waits, and never starts it', async () => {
  const of = world();
  seal(of, 'fast');
  const [held] = submit(of, { expiresMs: minute });
  const [delayed] = submit(of, { delayMs: minute, expiresMs: minute });
  const [patient] = submit(of, { expiresMs: 60 * minute });
  pass(of, minute);
  expect(jobOf(of, held!)).toMatchObject({
    status: 'cancelled',
    cancel: { by: 'headgate', reason: 'expired' },
    lastError: 'cancelled by headgate: expired',
  });
  expect(jobOf(of, delayed!).status).toBe('queued');
  // The delayed job expires while the service is down.
  of.nowUs += 2 * minute * 1000;
  of.start();
  pass(of, 0);
  expect(jobOf(of, delayed!)).toMatchObject({ status: 'cancelled', cancel: { reason: 'expired' } });
  await isSound(of);
  unseal(of);
  pass(of, 0);
  expect(jobOf(of, patient!).status).toBe('succeeded');
  expect(of.runs).toEqual([{ id: patient, attempt: 1 }]);
});

it('does not hand out an expired job, even in the turn in which its hold ends', () => {
  const of = world();
  seal(of, 'fast');
  const ids = submit(of, { expiresMs: minute }, 3000);
  const [last] = submit(of, {});
  of.nowUs += 2 * minute * 1000;
  unseal(of);
  pass(of, 0);
  expect(new Set(ids.map(id => jobOf(of, id).status))).toEqual(new Set(['cancelled']));
  expect(of.runs).toEqual([{ id: last, attempt: 1 }]);
});

it('keeps the time of expiry only until the job has started', () => {
  const of = world({ ...calm, error: 1 });
  const [id] = submit(of, { expiresMs: 1 });
  pass(of, 3_600_000);
  expect(jobOf(of, id!)).toMatchObject({ status: 'dead', attempt: 4 });
});

it('ends a job whose deadline has passed: one that waits, one that waits for a retry, and one that runs', async () => {
  const of = world({ ...calm, error: 1 });
  seal(of, 'other');
  const [waiting] = submit(of, { deadlineMs: 1 }, 1, 'other');
  const [retried] = submit(of, { deadlineMs: 1 });
  pass(of, minute);
  const late = { status: 'timed_out', lastError: 'the deadline of the job has passed' };
  expect(jobOf(of, waiting!)).toMatchObject({ ...late, startedUs: null });
  expect(jobOf(of, retried!)).toMatchObject(late);
  expect(ranOf(of, waiting!)).toBe(0);

  const [running] = submit(of, { deadlineMs: minute });
  while (of.held.length === 0) of.step();
  of.nowUs += 2 * minute * 1000;
  of.tell({ kind: 'alarm' });
  of.turn();
  expect(jobOf(of, running!).status).toBe('running');
  pass(of, 0);
  expect(jobOf(of, running!)).toMatchObject({ ...late, attempt: 1 });
  expect(of.store.count('timers')).toBe(0);
  await isSound(of);
});

it('does not undo a success that came after the deadline, and runs nothing again after a start', async () => {
  const of = world();
  const [done] = submit(of, { deadlineMs: minute });
  while (of.held.length === 0) of.step();
  of.nowUs += 2 * minute * 1000;
  pass(of, 0);
  expect(jobOf(of, done!).status).toBe('succeeded');
  const [lost] = submit(of, { deadlineMs: minute });
  while (of.held.length === 0) of.step();
  of.nowUs += 2 * minute * 1000;
  of.start();
  pass(of, 0);
  expect(jobOf(of, lost!).status).toBe('timed_out');
  expect(ranOf(of, lost!)).toBe(0);
  await isSound(of);
});

it('counts delayed jobs apart from the queue', () => {
  const of = world(calm, 1, [2, 5]);
  seal(of, 'fast');
  expect(submit(of, { delayMs: minute }, 7)).toHaveLength(5);
  expect(submit(of, { delayMs: minute })).toHaveLength(0);
  // One refusal for the rest of the first message, and one for the second message.
  expect(of.refused).toEqual(['too_many_waiting', 'too_many_waiting']);
  // The queue still has room for what can run.
  expect(submit(of, {}, 3, 'other')).toHaveLength(2);
  of.start();
  pass(of, 0);
  expect(submit(of, { delayMs: minute })).toHaveLength(0);
});

for (const seed of [1, 2, 3, 4, 5, 6]) {
  it(`starts none before its time and none that has expired, whatever fails (${seed})`, async () => {
    const random = dice(seed);
    const of = world({ ...calm, error: 0.2, returned: 0.1, hostLost: 0.05, serviceKilled: 0.05, killing: 0.1 }, seed);
    const ids: string[] = [];
    const started = new Map<string, number>();
    const watch = () => {
      for (const { frame } of of.held) {
        for (let at = 0; at < frame.ids.length; at += 16) {
          const name = Buffer.from(frame.ids.subarray(at, at + 16)).toString('hex');
          if (!started.has(name)) started.set(name, of.nowUs);
        }
      }
    };
    const some = (chance: number, ms: number) => (random() < chance ? { ms: Math.floor(random() * ms) + 1 } : null);
    for (let k = 0; k < 150; k++) {
      const [delay, expires, deadline] = [some(0.6, 20_000), some(0.3, 10_000), some(0.3, 15_000)];
      const options = {
        ...(delay && { delayMs: delay.ms }),
        ...(expires && { expiresMs: expires.ms }),
        ...(deadline && { deadlineMs: deadline.ms }),
      };
      ids.push(...submit(of, options, 1 + Math.floor(random() * 3), plugins[Math.floor(random() * 3)]!.name));
      watch();
      const id = parseId(ids[Math.floor(random() * ids.length)]!)!;
      const replyTo = { ask: 0 };
      if (random() < 0.2) of.tell({ kind: 'reschedule', replyTo, id, delayMs: Math.floor(random() * 20_000) } as never);
      if (random() < 0.05) of.tell({ kind: 'run_now', replyTo, id } as never);
      if (random() < 0.05) of.tell({ kind: 'cancel', replyTo, id, by: 'test', reason: null } as never);
      if (random() < 0.05) of.start();
      for (; random() < 0.5 && of.step(); ) watch();
    }
    await isSound(of);
    while (of.step()) watch();
    await isSound(of);
    expect(of.store.count('open')).toBe(0);
    expect(of.store.count('timers')).toBe(0);
    for (const id of ids) {
      const { times, status } = jobOf(of, id);
      const startedUs = started.get(Buffer.from(parseId(id)!).toString('hex'));
      if (startedUs === undefined) {
        expect(['cancelled', 'timed_out']).toContain(status);
        continue;
      }
      expect(startedUs).toBeGreaterThanOrEqual(times?.runAtUs ?? 0);
      if (times?.expiresUs != null) expect(startedUs).toBeLessThanOrEqual(times.expiresUs + 1000);
    }
  });
}
