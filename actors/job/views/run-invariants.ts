// Invariants of open runs: their records, counts and deadlines.

import { hexOf } from '../../../runtime/bytes.ts';
import { formatId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { decodeAccepted } from '../../pipeline/records/accepted-runs.ts';
import { decodeRun, readCountsOf } from '../../pipeline/records/run.ts';
import { readRunCounts } from '../../pipeline/records/run-counts.ts';
import { readRunDeadlineKey, runDeadlineKey } from '../../pipeline/records/run-deadline.ts';
import type { Block } from '../records/block.ts';
import { pipelinePlugin } from '../records/job.ts';
import { findOpen, keyText, OpenBlock } from '../records/open.ts';
import type { Invariant } from './invariant.ts';
import { descendantsOf } from './jobs.ts';
import { reuseInvariants } from './reuse-invariants.ts';

/** If the table `runs` has more records than this, the counts of open runs are not checked. */
const recordsMax = 4096;
/** If a root has more descendants than this, the count of the open runs and waiting events of its tree is not checked. */
const treeJobsMax = 1024;

export function runInvariants(reader: Reader, blockIn: (value: Uint8Array) => Block): readonly Invariant[] {
  return [
    { name: 'open_runs_go_on', table: 'open', wrong: openRunGoesOn },
    { name: 'open_runs_are_counted', table: 'run_counts', wrong: runsAreCounted },
    { name: 'accepted_runs_are_whole', table: 'accepted_runs', wrong: acceptedAreWhole },
    { name: 'open_trees_are_counted', table: 'open_trees', wrong: treeIsCounted },
    { name: 'deadlines_have_runs', table: 'run_deadlines', wrong: deadlineHasRun },
    { name: 'runs_have_deadlines', table: 'runs', wrong: runHasDeadlines },
    ...reuseInvariants(reader, blockIn),
  ];

  function openRunGoesOn(key: Uint8Array, value: Uint8Array): string | null {
    const open = OpenBlock.decode(keyText(key), value);
    // The runs of a batch are accepted first, and have no records in `runs` until they begin.
    if (open.plugin !== pipelinePlugin || reader.get('accepted_runs', key)) return null;
    for (let index = 0; index < open.count; index++) {
      const id = jobId(Buffer.from(key), index);
      if (!open.isSettled(index) && !open.isDelayed(index) && !reader.get('runs', id))
        return `the run ${formatId(id)} is running, but has no record in runs`;
    }
    return null;
  }

  function runsAreCounted(hash: Uint8Array, value: Uint8Array): string | null {
    if (reader.count('runs') > recordsMax) return null;
    const found = { runs: 0, settled: 0 };
    for (const entry of reader.scan('runs', {})) {
      if (entry.key.length > jobIdBytes) continue;
      const run = readCountsOf(Buffer.from(entry.key), Buffer.from(entry.value));
      if (Buffer.compare(run.hash, hash) !== 0) continue;
      found.runs++;
      found.settled += run.settled;
    }
    for (const entry of reader.scan('accepted_runs', {})) {
      const accepted = decodeAccepted(Buffer.from(entry.key), Buffer.from(entry.value));
      if (Buffer.compare(accepted.hash, hash) === 0) found.runs += accepted.count;
    }
    const { runs, settled } = readRunCounts(value);
    const name = hexOf(hash);
    if (found.runs !== runs) return `${found.runs} runs of the definition ${name} are open, but ${runs} are counted`;
    return found.settled === settled
      ? null
      : `${found.settled} jobs have settled in runs of the definition ${name}, but ${settled} are counted`;
  }

  function acceptedAreWhole(key: Uint8Array, value: Uint8Array): string | null {
    const { count, hash } = decodeAccepted(Buffer.from(key), Buffer.from(value));
    const open = findOpen(reader, key);
    const name = `the runs of the block ${hexOf(key)}`;
    if (open?.plugin !== pipelinePlugin || open.unsettled !== count)
      return `${name} have not begun, and are not all open`;
    if (!reader.get('definitions', hash)) return `${name} have not begun, and their definition is missing`;
    const begun = Array.from({ length: count }, (_, index) => index).find(index =>
      reader.get('runs', jobId(key, index)),
    );
    return begun === undefined ? null : `${name} have not begun, and the run ${formatId(jobId(key, begun))} is open`;
  }

  function deadlineHasRun(key: Uint8Array): string | null {
    const found = readRunDeadlineKey(key);
    if (!found) return `the deadline ${hexOf(key)} cannot be decoded`;
    const { run, deadline } = found;
    const [us, kind] = deadline;
    const value = reader.get('runs', run);
    const known = value ? decodeRun(value).run.deadlines : [];
    const isKnown = known.some(each => each[0] === us && each[1] === kind);
    return isKnown
      ? null
      : `the run ${formatId(run)} is to be stopped at ${us} (${kind}), but its record lacks this deadline`;
  }

  function runHasDeadlines(key: Uint8Array, value: Uint8Array): string | null {
    if (key.length > jobIdBytes) return null;
    const id = Buffer.from(key);
    const lacking = decodeRun(value).run.deadlines.find(each => !reader.get('run_deadlines', runDeadlineKey(id, each)));
    return lacking ? `no record stops the run ${formatId(id)} at ${lacking[0]} (${lacking[1]})` : null;
  }

  function treeIsCounted(root: Uint8Array, value: Uint8Array): string | null {
    const jobs = descendantsOf(reader, root, treeJobsMax);
    if (jobs === null) return null;
    let found = 0;
    for (const id of [Buffer.from(root), ...jobs.map(({ key, index }) => jobId(key, index))]) {
      if (reader.get('runs', id)) found++;
      for (const kind of [0, 2]) if (reader.get('emissions', Buffer.concat([id, Buffer.of(kind)]))) found++;
    }
    const counted = unpack<number>(value);
    const name = hexOf(root);
    return found === counted
      ? null
      : `${found} runs and waiting events are open below ${name}, but ${counted} are counted`;
  }
}
