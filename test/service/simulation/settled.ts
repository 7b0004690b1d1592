// Where no fault strikes any more, nothing stays open and nobody waits, but in trees that have lost a record.
import { findJob } from '../../../actors/job/views/jobs.ts';
import { parseId } from '../../../runtime/ids.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { Callers } from './callers.ts';
import type { Commits } from './commits.ts';
import type { Poison } from './poison.ts';
import type { VaultModel } from './vault-model.ts';

type Past = {
  readonly store: Store;
  readonly commits: Commits;
  readonly callers: Callers;
  readonly poison: Poison;
  readonly vault: VaultModel;
};

export function isSettled({ store, commits, callers, poison, vault }: Past): void {
  for (const table of ['open', 'retries', 'runs', 'lists', 'emissions', 'descendants', 'holds', 'pauses'] as const) {
    for (const key of store.keys(table, {})) {
      const roots = table === 'holds' || table === 'pauses' ? [] : [...commits.rootsOf(table, Buffer.from(key))];
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
  commits.all();
  vault.verify();
}
