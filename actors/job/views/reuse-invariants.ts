// Invariants of reruns: each rerun is listed with its original job, and the jobs that an open rerun may reuse are stored. Also invariants of
// lost jobs, dropped events and unused definitions.
import { hexOf } from '../../../runtime/bytes.ts';
import { blockOf, formatId, indexOf, type JobId, jobId, jobIdBytes } from '../../../runtime/ids.ts';
import { unpack } from '../../../runtime/packing.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { decodeIndexed } from '../../pipeline/records/reuse.ts';
import { decodeRun } from '../../pipeline/records/run.ts';
import { latestAttempt } from '../records/attempts.ts';
import { type Block, findBlock, groupOf } from '../records/block.ts';
import type { JobGroup } from '../records/job.ts';
import { findOpen, keyText } from '../records/open.ts';
import { rerunKey, rerunKind } from '../records/reruns.ts';
import { rangesOf } from '../records/tree.ts';
import type { Invariant } from './invariant.ts';
import { attemptsOfJobs } from './jobs.ts';

export function reuseInvariants(reader: Reader, blockIn: (value: Uint8Array) => Block): readonly Invariant[] {
  return [
    { name: 'reruns_refer_back', table: 'reruns', wrong: rerunRefersBack },
    { name: 'reruns_are_listed', table: 'blocks', wrong: rerunsAreListed },
    { name: 'reused_jobs_succeeded', table: 'reused', wrong: reusedSucceeded },
    { name: 'open_reruns_have_sources', table: 'runs', wrong: rerunHasSources },
    { name: 'delayed_reruns_have_sources', table: 'reruns', wrong: delayedRerunHasSources },
    { name: 'reusable_jobs_are_kept', table: 'reuse_index', wrong: reusableIsKept },
    { name: 'needed_trees_are_named', table: 'reuse_needs', wrong: needIsNamed },
    { name: 'lost_jobs_are_gone', table: 'lost_jobs', wrong: lostIsGone },
    { name: 'dropped_events_have_jobs', table: 'dropped_events', wrong: droppedHasJob },
    { name: 'unused_definitions_are_unused', table: 'unused_definitions', wrong: unusedIsUnused },
  ];

  function rerunRefersBack(key: Uint8Array, value: Uint8Array): string | null {
    const [of, id] = idsOf(key);
    const group = groupIn(id);
    if (!group) return null;
    const { rerun } = group;
    const kind = rerunKind(value);
    if (kind === 'parts') return null;
    const isRight = rerun !== null && keyText(rerun.of) === keyText(of) && kind === rerun.from;
    return isRight
      ? null
      : `${formatId(id)} is listed as a rerun of ${formatId(of)}, but its own record says otherwise`;
  }

  function rerunsAreListed(key: Uint8Array, value: Uint8Array): string | null {
    const block = blockIn(value);
    for (const [place, start] of block.starts.entries()) {
      const { rerun } = block.group(place);
      if (!rerun || !findBlock(reader, rerun.of)) continue;
      const id = jobId(Buffer.from(key), start);
      if (!reader.get('reruns', rerunKey(rerun.of, id)))
        return `${formatId(id)} is a rerun of ${formatId(rerun.of)}, but is not listed there`;
    }
    return null;
  }

  function reusedSucceeded(key: Uint8Array, value: Uint8Array): string | null {
    const root = Buffer.from(key.subarray(0, jobIdBytes));
    if (groupIn(root)?.rerun?.from !== 'failed')
      return `the tree of ${formatId(root)} reuses jobs, but its root is no rerun from failed`;
    const blockKey = Buffer.from(key.subarray(jobIdBytes));
    const block = blockAt(blockKey);
    // The block may have been pruned.
    if (!block) return null;
    const ranges = rangesOf(value);
    for (let pair = 0; pair < ranges.length; pair += 2) {
      const [from, to] = [ranges[pair]!, ranges[pair + 1]!];
      const endings = attemptsOfJobs(reader, blockKey, from, to);
      for (let index = from; index < to; index++) {
        const attempt = endings.get(index)?.attempt;
        if (!attempt?.final || attempt.status !== 'succeeded')
          return `the tree of ${formatId(root)} reuses ${formatId(jobId(blockKey, index))}, which did not succeed`;
      }
    }
    return null;
  }

  function rerunHasSources(key: Uint8Array, value: Uint8Array): string | null {
    if (key.length > jobIdBytes) return null;
    const { reuse } = decodeRun(value).run;
    if (!reuse || reader.get('reuse_index', reuse.root)) return null;
    return `the run ${formatId(key)} may reuse jobs, but no record names their trees`;
  }

  function delayedRerunHasSources(key: Uint8Array, value: Uint8Array): string | null {
    const [, id] = idsOf(key);
    if (rerunKind(value) !== 'failed' || reader.get('runs', id) || reader.get('reuse_index', id)) return null;
    const open = readable(() => findOpen(reader, blockOf(id)));
    if (open === undefined || open.isSettled(indexOf(id))) return null;
    return `the delayed run ${formatId(id)} will reuse jobs, but no record names their trees`;
  }

  function reusableIsKept(key: Uint8Array, value: Uint8Array): string | null {
    const root = Buffer.from(key.subarray(0, jobIdBytes));
    if (key.length === jobIdBytes) {
      const lacking = unpack<JobId[]>(value).find(needed => !reader.get('reuse_needs', Buffer.concat([needed, root])));
      return lacking ? `the run ${formatId(root)} needs the tree of ${formatId(lacking)}, which no record keeps` : null;
    }
    if (!reader.get('reuse_index', root))
      return `the index of ${formatId(root)} has entries, but no record names their trees`;
    const { key: blockKey, index, count } = decodeIndexed(value);
    const block = blockAt(blockKey);
    return block && index + count <= block.count
      ? null
      : `the run ${formatId(root)} may reuse jobs of ${hexOf(blockKey)}, which are not stored`;
  }

  function needIsNamed(key: Uint8Array): string | null {
    const [needed, root] = idsOf(key);
    const named = reader.get('reuse_index', root);
    const isNamed = named && unpack<Uint8Array[]>(named).some(each => keyText(each) === keyText(needed));
    return isNamed ? null : `the tree of ${formatId(needed)} is kept for ${formatId(root)}, which does not need it`;
  }

  function lostIsGone(key: Uint8Array, value: Uint8Array): string | null {
    if (!groupIn(key)) return `the run ${formatId(key)}, which does not exist, has lost a job`;
    return reader.get('blocks', blockOf(value))
      ? `the run ${formatId(key)} has lost ${formatId(value)}, which is stored`
      : null;
  }

  function droppedHasJob(key: Uint8Array): string | null {
    const id = Buffer.from(key.subarray(0, jobIdBytes));
    const attempt = latestAttempt(reader, id)?.attempt;
    if (attempt?.final && attempt.status === 'succeeded') return null;
    return `an event of ${formatId(id)} was dropped, but that job has not succeeded`;
  }

  function unusedIsUnused(hash: Uint8Array): string | null {
    if (!reader.get('definitions', hash)) return `the definition ${hexOf(hash)} is unused, but not stored`;
    return reader.get('run_counts', hash)
      ? `the definition ${hexOf(hash)} is called unused, but runs are open with it`
      : null;
  }

  function blockAt(key: Uint8Array): Block | undefined {
    const bytes = reader.get('blocks', key);
    return bytes && blockIn(bytes);
  }

  function groupIn(id: Uint8Array): JobGroup | undefined {
    const block = blockAt(blockOf(id));
    return block && indexOf(id) < block.count ? groupOf(block, indexOf(id)).group : undefined;
  }
}

function idsOf(key: Uint8Array): readonly [JobId, JobId] {
  return [Buffer.from(key.subarray(0, jobIdBytes)), Buffer.from(key.subarray(jobIdBytes))];
}
