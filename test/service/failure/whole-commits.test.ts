// Each commit is whole: the commit that begins a run also writes its job, so a kill after it loses nothing.
import { expect, it } from 'vitest';
import { blockOf, formatId, jobIdBytes } from '../../../runtime/ids.ts';
import { Ledger } from './ledger.ts';

const pipelines = [
  { name: 'outer', steps: [{ call: 'inner' }] },
  { name: 'inner', steps: [{ uses: 'step' }] },
  { name: 'hook', on_hook: 'pipeline.cancelled', steps: [{ uses: 'teller' }] },
];

/** The open runs without an open job. */
function runsWithoutJobs({ store }: Ledger): string[] {
  const runs = Array.from(store.keys('runs', {}), key => Buffer.from(key));
  return runs.filter(key => key.length === jobIdBytes && !store.get('open', blockOf(key))).map(formatId);
}

it('begins the run of a hook together with its job, when a cancel reaches a paused run that has no job', () => {
  const ledger = new Ledger(pipelines, ['step', 'teller']);
  const { loop } = ledger.lifecycle;
  const pause = { kind: 'pipeline', name: 'inner', command: null, reason: null, by: 'test', untilUs: null };
  loop.deliver('job', { kind: 'pause', replyTo: { ask: 0 }, pause: { ...pause, rejects: false } });
  const outer = ledger.startRun('outer', {});
  ledger.run();
  const { id } = ledger.replyTo(outer) as { readonly id: Uint8Array };
  const lost: string[] = [];
  // Before a commit, the store shows the commit before it.
  ledger.beforeCommit = () => void lost.push(...runsWithoutJobs(ledger));
  loop.deliver('job', { kind: 'cancel', replyTo: { ask: 0 }, id, by: 'test', reason: null });
  ledger.run();
  expect([...lost, ...runsWithoutJobs(ledger)]).toEqual([]);
  expect(ledger.of('teller')).toHaveLength(1);
});
