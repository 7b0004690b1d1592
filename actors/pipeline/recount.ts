// Counts the open runs, the accepted runs of batches and the waiting emissions from their records. This is needed if an earlier version
// wrote the state without these counts, or if a stored count is unusable.
import { type JobId, jobIdBytes } from '../../runtime/ids.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { keyText } from '../job/records/open.ts';
import type { DefinitionVersions } from './definition/definition-versions.ts';
import type { Descendants } from './descendants.ts';
import { decodeAccepted } from './records/accepted-runs.ts';
import { rootOfWaiting } from './records/deferred-event.ts';
import { readCountsOf } from './records/run.ts';
import type { RunCounts } from './records/run-counts.ts';

type Counted = { readonly hash: Uint8Array } & RunCounts;

/** Reads every open run, every block of accepted runs and every waiting emission. Called on startup if the stored counts are incomplete. */
export function recount(
  reader: Reader,
  versions: DefinitionVersions,
  descendants: Descendants,
  setAside: SetAside,
): void {
  const open = new Map<string, number>();
  const add = (root: JobId): unknown => open.set(keyText(root), (open.get(keyText(root)) ?? 0) + 1);
  versions.recount(countedIn(reader, setAside, add));
  for (const { key, value } of reader.scan('emissions', {})) {
    const root = setAside.read('emissions', key, () => rootOfWaiting(key, value));
    if (root) add(root);
  }
  for (const [root, count] of open) {
    if (count > 1) descendants.restore(Buffer.from(root, 'latin1'), count);
  }
}

/** The records of open runs, then the runs of batches that have not begun. */
function* countedIn(reader: Reader, setAside: SetAside, add: (root: JobId) => void): Iterable<Counted> {
  let hash: Uint8Array = new Uint8Array(0);
  for (const { key, value } of reader.scan('runs', {})) {
    const isRun = key.length === jobIdBytes;
    let settled = 0;
    if (isRun) {
      const run = setAside.read('runs', key, () => readCountsOf(Buffer.from(key), Buffer.from(value)));
      hash = run?.hash ?? hash;
      settled = run?.settled ?? 0;
      if (run) add(run.root);
    }
    yield { hash, runs: isRun ? 1 : 0, records: 1, settled, bytes: value.length };
  }
  for (const { key, value } of reader.scan('accepted_runs', {})) {
    const block = setAside.read('accepted_runs', key, () => decodeAccepted(Buffer.from(key), Buffer.from(value)));
    if (block) yield { hash: block.hash, runs: block.count, records: 0, settled: 0, bytes: 0 };
  }
}
