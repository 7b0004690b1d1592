// Jobs whose block is older than the block of their run: a turn puts jobs of several runs into one block, which it may have begun before it
// accepted some of these runs.
import { expect, it } from 'vitest';
import { findJob, findOrigin, findTree } from '../../../../../actors/job/views/jobs.ts';
import { encodeBody } from '../../../../../runtime/host/wire/outcome.ts';
import { blockOf, formatId, type JobId, parseId } from '../../../../../runtime/ids.ts';
import { pack } from '../../../../../runtime/packing.ts';
import { Ledger } from '../../../../service/failure/ledger.ts';

const steps = [{ id: 'work', uses: 'echo' }];
const pipelines = [
  { name: 'first', on: 'told', steps },
  { name: 'second', steps },
];

function idOf(ledger: Ledger, ask: number): JobId {
  return (ledger.replyTo(ask) as { readonly id: JobId }).id;
}

/** The jobs in the tree, in order. */
function treeOf(ledger: Ledger, id: JobId): string[] {
  return [...findTree(ledger.store, id)!].flatMap(job => (job ? [job.jobId] : []));
}

function pause(ledger: Ledger, plugin: string): void {
  const target = { kind: 'plugin', name: plugin, command: null } as const;
  const pause = { ...target, reason: null, by: 'test', untilUs: null, rejects: false };
  ledger.lifecycle.loop.deliver('job', { kind: 'pause', replyTo: { ask: -1 }, pause });
  ledger.run();
}

it('ends the waiting job of a cancelled run', () => {
  const ledger = new Ledger(pipelines);
  pause(ledger, 'echo');
  ledger.startRun('first', {});
  const second = ledger.startRun('second', {});
  ledger.run();
  const run = idOf(ledger, second);
  const [, job] = treeOf(ledger, run);
  expect(Buffer.compare(blockOf(parseId(job!)!), blockOf(run))).toBe(-1);
  ledger.lifecycle.loop.deliver('job', { kind: 'cancel', replyTo: { ask: -2 }, id: run, by: 'test', reason: null });
  ledger.run();
  expect(ledger.job(formatId(run)).status).toBe('cancelled');
  expect([ledger.tasks, ledger.faults()]).toEqual([[], []]);
});

it('does not make the jobs of other runs wait, while one run after another is cancelled', () => {
  const outer = { name: 'outer', steps: [{ call: 'second', foreach: 'payload.list' }] };
  const ledger = new Ledger([...pipelines, outer]);
  pause(ledger, 'echo');
  const ask = ledger.startRun('outer', { list: Array.from({ length: 800 }, (_, n) => n) });
  ledger.run();
  const runs = treeOf(ledger, idOf(ledger, ask)).filter(
    id => findJob(ledger.store, parseId(id)!)!.command === 'second',
  );
  const first = runs[700]!;
  for (const run of runs.slice(700, 710)) {
    const cancel = { kind: 'cancel', replyTo: { ask: -2 }, id: parseId(run)!, by: 'test', reason: null } as const;
    ledger.lifecycle.loop.deliver('job', cancel);
    for (let turn = 0; turn < 10; turn++) ledger.runTurn();
  }
  expect(ledger.job(first).status).toBe('cancelled');
  ledger.run();
  expect(ledger.job(runs[709]!).status).toBe('cancelled');
});

it('is listed after its run in the tree', () => {
  const ledger = new Ledger(pipelines, ['echo', 'teller']);
  for (const _ of [1, 2]) ledger.submit('teller');
  ledger.run();
  const tellers = ledger.of('teller');
  expect(tellers.map(({ frame }) => frame.payloads.length)).toEqual([1, 1]);
  // One turn handles both ends, each of which starts a run.
  for (const teller of tellers) ledger.answer(teller, () => encodeBody({ events: pack([{ type: 'told' }]) }));
  ledger.run();
  const top = tellers[1]!.id;
  const [, run, job] = treeOf(ledger, parseId(top)!).map(id => parseId(id)!);
  expect(Buffer.compare(blockOf(job!), blockOf(run!))).toBe(-1);
  expect([run, job].map(id => formatId(findOrigin(ledger.store, id!)!.parent!))).toEqual([top, formatId(run!)]);
});
