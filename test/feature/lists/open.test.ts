// The lists of queued and running jobs in random lives of the ledger: totals are exact, and do not require reading all waiting jobs.
import { expect, it } from 'vitest';
import type { Status } from '../../../actors/job/records/job.ts';
import { NameTable } from '../../../actors/job/records/name-table.ts';
import { listJobs } from '../../../actors/job/views/listing.ts';
import { countRead } from '../../support/count-read.ts';
import { cyclesOf } from '../../support/deep.ts';
import { fc } from '../../support/seed.ts';
import { inSlices } from '../../support/slices.ts';
import { calm, config, dice, type Faults, plugin, Simulation } from '../../unit/actors/job/simulator.ts';

const instances = ['fast', 'held', 'killer'].map(name => plugin(name));

async function list({ store }: Simulation, status: Status, limit: number, plugin: string | null = null) {
  const filter = { plugin, command: null, status, within: [] };
  return await inSlices(listJobs(store, new NameTable(store), filter, limit, null), () => {});
}

it('counts jobs by status without a look at those that wait', async () => {
  const world = new Simulation(config(instances), calm, dice(1));
  for (let n = 0; n < 3; n++) world.submit('fast', 'handle', { n });
  world.turn();
  world.sealed.add('held');
  world.tell({ kind: 'holds_changed' });
  for (let n = 0; n < 2000; n++) {
    world.submit('held', 'handle', {});
    world.turn();
  }
  const read = countRead(world.store, 'open');
  const running = world.held.reduce((jobs, { frame }) => jobs + frame.payloads.length, 0);
  expect(running).toBeGreaterThan(0);
  const queued = await list(world, 'queued', 10);
  expect([queued.total, queued.rows.length, queued.more]).toEqual([2003 - running, 10, true]);
  expect(read()).toBeLessThan(600);
  // The running jobs are the oldest ones, behind all that wait.
  const page = await list(world, 'running', 10);
  expect([page.total, page.rows.length]).toEqual([running, running]);
  expect(read()).toBeLessThan(600);
  // If no job of a plugin is running, nothing is read.
  expect(await list(world, 'running', 10, 'held')).toMatchObject({ total: 0, rows: [] });
  expect(read()).toBe(0);
});

it('counts as many queued and running jobs as there are, whatever fails', async () => {
  const chance = fc.constantFrom(0, 0.05, 0.3);
  const faults = fc.record({
    error: chance,
    timeout: chance,
    returned: chance,
    hostLost: chance,
    serviceKilled: fc.constantFrom(0, 0.05),
    reconfigured: fc.constantFrom(0, 0.1),
  });
  await fc.assert(
    fc.asyncProperty(fc.integer(), faults, fc.integer({ min: 1, max: 60 }), async (seed, odds, jobs) => {
      const random = dice(seed);
      const world = new Simulation(config(instances), { ...calm, ...odds } satisfies Faults, random);
      for (let job = 0; job < jobs; job++) {
        world.submit(instances[Math.floor(random() * instances.length)]!.name, 'handle', { job });
        while (random() < 0.6 && world.step());
        if (random() < 0.2) await compare(world);
      }
      while (world.step()) if (random() < 0.1) await compare(world);
      await compare(world);
    }),
    { numRuns: cyclesOf({ deep: 50, quick: 15 }) },
  );
});

async function compare(world: Simulation): Promise<void> {
  while (world.isDue) world.turn();
  for (const status of ['queued', 'running'] as const) {
    const { rows, total } = await list(world, status, 100_000);
    expect([status, total]).toEqual([status, rows.length]);
  }
}
