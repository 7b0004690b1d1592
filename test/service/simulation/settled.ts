// When faults no longer strike, nothing stays open and no caller waits, except in trees with an undecodable record.
import { findJob } from '../../../actors/job/views/jobs.ts';
import { blockOf, formatId, jobIdBytes, parseId } from '../../../runtime/ids.ts';
import type { Store, Table } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { Callers } from './callers.ts';
import type { Commits } from './commits.ts';
import type { Poison } from './poison.ts';
import { timelinesHold } from './timelines.ts';
import type { VaultModel } from './vault-model.ts';

type Past = {
  readonly store: Store;
  readonly commits: Commits;
  readonly callers: Callers;
  readonly poison: Poison;
  readonly vault: VaultModel;
};

/** The offset of the run's id in the key of a deadline. */
const runAt = 8;

/** Tables that must be empty at the end. */
const tables = [
  'open',
  'retries',
  'timers',
  'runs',
  'accepted_runs',
  'lists',
  'emissions',
  'run_deadlines',
  'descendants',
  'holds',
  'pauses',
  'actions',
  'reuse_index',
  'reuse_needs',
] as const satisfies readonly Table[];

export function isSettled({ store, commits, callers, poison, vault }: Past): void {
  for (const table of tables) {
    for (const key of store.keys(table, {})) {
      const isOfTree = table !== 'holds' && table !== 'pauses';
      // In the keys of these tables, the id of the job whose tree matters comes after another part.
      const idAt = { reuse_needs: jobIdBytes, timers: 9, run_deadlines: runAt }[table as string] ?? 0;
      const id = Buffer.from(key.subarray(idAt));
      // The timers of a block whose open record is unusable stay, even if the first job of a timer had settled before.
      if (table === 'timers' && poison.has('open', blockOf(id))) continue;
      const roots = isOfTree ? [...commits.rootsOf(table, id)] : [];
      const isDamaged = roots.length > 0 && roots.every(root => poison.roots.has(root));
      holds(isDamaged, () => `everything should have settled, and ${table} has ${Buffer.from(key).toString('hex')}`);
    }
  }
  holds(callers.unanswered === 0, () => `${callers.unanswered} asks are never answered`);
  for (const id of callers.waiting) {
    const job = findJob(store, parseId(id)!);
    if (poison.roots.has(commits.rootOf(parseId(id)!))) continue;
    holds(false, () => `somebody waits for the job ${id}, which is ${job?.status ?? 'gone'}`);
  }
  tagsHold(commits);
  commits.all();
  timelinesHold({ store, commits, poison });
  vault.verify();
}

/** All jobs of a tree must have the tags of its root, also if the root has been pruned. */
function tagsHold(commits: Commits): void {
  for (const { id, group } of commits.jobs()) {
    const tags = group.root ? commits.find(formatId(group.root))?.group.options?.tags : group.options?.tags;
    const isSo = group.options?.tags === tags;
    holds(isSo, () => `the job ${id} has the tags ${group.options?.tags}, and its root ${tags}`);
  }
}
