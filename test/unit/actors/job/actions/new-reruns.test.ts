// Retention and reruns in the same turn. Retention keeps what the rerun needs, whichever message comes first.
import { beforeEach, describe, expect, it } from 'vitest';
import { startJobActor } from '../../../../../actors/job/actor.ts';
import { Gauges } from '../../../../../actors/job/gauges.ts';
import type { SubmitJobs } from '../../../../../actors/job/protocol.ts';
import { newestBlock } from '../../../../../actors/job/records/block.ts';
import { findJob } from '../../../../../actors/job/views/jobs.ts';
import { arrivalKey } from '../../../../../actors/pipeline/records/run.ts';
import { ReuseSources } from '../../../../../actors/pipeline/reuse/reuse-sources.ts';
import { type JobId, makeBlockKeys, parseId } from '../../../../../runtime/ids.ts';
import { type Loop, startLoop } from '../../../../../runtime/loop.ts';
import { pack, packedEmpty } from '../../../../../runtime/packing.ts';
import { encodeParted } from '../../../../../runtime/parted.ts';
import { SetAside } from '../../../../../runtime/store/set-aside.ts';
import { Ledger } from '../../../../feature/search/ledger.ts';
import { config, heldMs, logSizes, noPipeline, plugin } from '../simulator.ts';

/** A message to the stand-in for the pipeline actor: it reruns this run `from: failed`. */
type RerunFailed = { readonly of: JobId };
type Sent = { readonly to: 'job' | 'pipeline'; readonly message: object };

const ended = { submittedBy: 'api', jobs: [{ attempts: [{ status: 'succeeded' }], end: 'over' }] } as const;
const prune: Sent = { to: 'job', message: { kind: 'prune' } };

let ledger: Ledger;
let loop: Loop;
let replies: unknown[];

/** Adds an ended job. */
function add(name: string, command: string, run?: JobId): JobId {
  ledger.add({ ...ended, plugin: name, command, ...(run && { run, root: run }) });
  return parseId(ledger.jobs.at(-1)!.id)!;
}

/** The job actor over the ledger's store. Retention removes each job that nothing needs. */
function start(): void {
  const { store } = ledger;
  const jobs = { path: '/state', retention: { jobsMs: 1e12, jobsMax: 0, heldMs }, log: logSizes };
  let nowUs = 1_800_000_000_000_000;
  loop = startLoop({
    store,
    clock: { nowUs: () => ++nowUs },
    schedule: () => {},
    send: () => {},
    reply: (_, value) => replies.push(value),
    onFailure: error => {
      throw error;
    },
  });
  const job = startJobActor({
    reader: store,
    config: { ...config([plugin('fast')]), state: jobs },
    blockKeys: makeBlockKeys(() => 7, newestBlock(store)),
    random: Math.random,
    gauges: new Gauges(),
    nowMs: Math.floor(nowUs / 1000),
    self: () => {},
    pipeline: noPipeline,
    alarm: () => {},
    startHost: () => ({ configure() {}, submit() {}, cancel() {}, stop: async () => {} }),
  });
  const sources = new ReuseSources(store, new SetAside());
  const group = { depth: 0, event: null, context: packedEmpty, pipeline: null, stepId: null, parent: null, root: null };
  loop.setHandler({
    begin: turn => job.begin(turn),
    receive(actor, message, turn) {
      if (actor === 'job') {
        job.receive(message, turn);
        return;
      }
      const { of } = message as RerunFailed;
      const rerun = { of, from: 'failed', reason: null } as const;
      const made = { ...group, submittedBy: 'api', run: null, hooked: false, rerun, options: null };
      sources.begin(turn.batch, job.createRun('p', made, packedEmpty, turn), of);
    },
    end(turn) {
      while (job.dispatch(turn));
      job.close(turn);
    },
  });
  turn({ to: 'job', message: { kind: 'load' } });
  // The first step of a sweep only checks the blocks that earlier sweeps have passed (none here), so the next step prunes.
  turn(prune);
}

function turn(...messages: readonly Sent[]): void {
  for (const { to, message } of messages) loop.deliver(to, message);
  loop.turn();
}

const stored = (...ids: readonly JobId[]) => ids.map(id => findJob(ledger.store, id) !== undefined);

beforeEach(() => {
  ledger = new Ledger();
  replies = [];
});

const orders = [
  ['the rerun first', (rerun: Sent) => [rerun, prune]],
  ['the sweep first', (rerun: Sent) => [prune, rerun]],
] as const;

describe.each(orders)('in a turn that prunes, %s', (_, ordered) => {
  it('a rerun `from: failed` keeps its original run and the jobs that it may reuse', () => {
    const of = add('pipeline', 'p');
    const step = add('fast', 'handle', of);
    const other = add('fast', 'handle');
    start();
    turn(...ordered({ to: 'pipeline', message: { of } }));
    expect(stored(of, step, other)).toEqual([true, true, false]);
    for (let sweep = 0; sweep < 4; sweep++) turn(prune);
    expect(stored(of, step)).toEqual([true, true]);
  });

  it('a rerun whose payload names parts keeps the run whose join received them', () => {
    const { run, of, rerun } = partsOfRun();
    const other = add('fast', 'handle');
    start();
    turn(...ordered(rerun));
    expect(replies).toEqual([expect.objectContaining({ kind: 'accepted' })]);
    expect(stored(run, of, other)).toEqual([true, true, false]);
    for (let sweep = 0; sweep < 4; sweep++) turn(prune);
    expect([stored(run), ledger.store.count('arrivals')]).toEqual([[true], 1]);
  });
});

it('a rerun whose parts an earlier turn has pruned is refused', () => {
  const { run, rerun } = partsOfRun();
  start();
  turn(prune);
  turn(rerun);
  expect(replies).toEqual([expect.objectContaining({ kind: 'refused', refusal: 'not_kept' })]);
  expect([stored(run), ledger.store.count('arrivals')]).toEqual([[false], 0]);
});

/** An ended run with a part that its join received, a job whose payload names this part, and the call that reruns the job. */
function partsOfRun(): { readonly run: JobId; readonly of: JobId; readonly rerun: Sent } {
  const run = add('pipeline', 'p');
  const of = add('fast', 'handle', run);
  const part = pack({ number: 7 });
  const key = arrivalKey(run, 0, 1, 0);
  const batch = ledger.store.batch();
  batch.put('arrivals', key, part);
  ledger.store.commit(batch);
  const payload = encodeParted([{ base: key.subarray(0, -4), at: [0, 0, part.length] }]);
  const message: SubmitJobs = {
    kind: 'submit',
    replyTo: { ask: 1 },
    plugin: 'fast',
    command: 'handle',
    payloads: [payload],
    submittedBy: 'api',
    event: null,
    source: { rerun: { of, from: 'start', reason: null }, context: packedEmpty, dedupeKey: null },
  };
  return { run, of, rerun: { to: 'job', message } };
}
