// The jobs that stand for runs: which of them share a block, and that each ends by itself.
import { beforeEach, expect, test } from 'vitest';
import { runsPerBlockMax } from '../../../../actors/job/run-jobs.ts';
import { findJob } from '../../../../actors/job/views/jobs.ts';
import { blockOf, formatId, type JobId } from '../../../../runtime/ids.ts';
import type { Loop } from '../../../../runtime/loop.ts';
import { pack } from '../../../../runtime/packing.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';
import { bareJobActor } from './bare-job-actor.ts';

type Move =
  /** `over`: it ends in the turn that it begins in. */
  | { readonly begin: string; readonly by?: string; readonly parent?: JobId; readonly over?: boolean }
  | { readonly end: JobId; readonly of: string };

let store: Store;
let loop: Loop;
let ids: JobId[];
let nowUs = 1_700_000_000_000_000;

/** Starts the job actor over the store; instead of a pipeline actor, moves from the test begin and end runs. */
function start(): void {
  const bare = bareJobActor(store, () => ++nowUs);
  loop = bare.loop;
  const { job } = bare;
  const group = { depth: 0, event: null, context: pack({}), pipeline: null, stepId: null };
  loop.setHandler({
    begin: turn => job.begin(turn),
    receive(_, message, turn) {
      const move = message as Move;
      const end = (id: JobId, pipeline: string) => {
        job.settleRun(
          { id, pipeline, status: 'succeeded', submittedBy: 'api', body: pack(null), createdUs: 0, attempt: 1 },
          turn,
        );
      };
      if ('end' in move) {
        end(move.end, move.of);
        return;
      }
      const parent = move.parent ?? null;
      const of = {
        ...group,
        parent,
        root: parent,
        submittedBy: move.by ?? 'api',
        run: null,
        hooked: false,
        rerun: null,
        options: null,
      };
      const id = job.createRun(move.begin, of, pack({}), turn);
      ids.push(id);
      if (move.over) end(id, move.begin);
    },
    end(turn) {
      job.dispatch(turn);
      job.close(turn);
    },
  });
}

function turn(...moves: readonly Move[]): readonly JobId[] {
  ids = [];
  for (const move of moves) loop.deliver('pipeline', move);
  loop.turn();
  return ids;
}

const blocks = (of: readonly JobId[]) => [...new Set(of.map(id => blockOf(id).toString()))];
const statusOf = (id: JobId) => findJob(store, id)!.status;

beforeEach(() => {
  store = openMemoryStore();
  start();
});

test('runs of one pipeline that begin in a turn share a block', () => {
  const begun = turn({ begin: 'a' }, { begin: 'b' }, { begin: 'a' }, { begin: 'a' });
  expect(blocks(begun)).toHaveLength(2);
  expect(new Set(begun.map(formatId)).size).toBe(4);
  expect(blocks([...begun, ...turn({ begin: 'a' })])).toHaveLength(3);
  expect(begun.map(statusOf)).toEqual(Array(4).fill('running'));
});

test('in it, each keeps who submitted it', () => {
  const begun = turn({ begin: 'a', by: 'api:x' }, { begin: 'a', by: 'api:y' }, { begin: 'a', by: 'api:y' });
  expect(blocks(begun)).toHaveLength(1);
  expect(begun.map(id => findJob(store, id)!.submittedBy)).toEqual(['api:x', 'api:y', 'api:y']);
});

test('their number is limited', () => {
  const begun = turn(...Array.from({ length: runsPerBlockMax + 1 }, () => ({ begin: 'a' })));
  expect(blocks(begun)).toHaveLength(2);
  expect(begun.map(statusOf)).toEqual(Array(runsPerBlockMax + 1).fill('running'));
});

test('a run inside another tree has a block of its own, younger than that of its parent', () => {
  const [parent] = turn({ begin: 'a' });
  const begun = turn({ begin: 'a' }, { begin: 'a', parent: parent! }, { begin: 'a', parent: parent! });
  expect(blocks(begun)).toHaveLength(3);
  for (const child of begun.slice(1)) expect(Buffer.compare(blockOf(child), blockOf(parent!))).toBe(1);
});

test('each ends by itself, also in a later life', () => {
  const [first, second, third] = turn({ begin: 'a' }, { begin: 'a' }, { begin: 'a' });
  turn({ end: second!, of: 'a' });
  expect([first!, second!, third!].map(statusOf)).toEqual(['running', 'succeeded', 'running']);
  start();
  turn({ end: first!, of: 'a' });
  expect([first!, second!, third!].map(statusOf)).toEqual(['succeeded', 'succeeded', 'running']);
  expect(store.count('open')).toBe(1);
  turn({ end: third!, of: 'a' });
  expect(statusOf(third!)).toBe('succeeded');
  expect(store.count('open')).toBe(0);
});

test('one that is over in its first turn was never open', () => {
  const begun = turn({ begin: 'a', over: true }, { begin: 'a' }, { begin: 'b', over: true });
  expect(begun.map(statusOf)).toEqual(['succeeded', 'running', 'succeeded']);
  expect(store.count('open')).toBe(1);
});
