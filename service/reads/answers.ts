// Produces the answers of reads, on the reads thread, in slices of time. An answer is a sequence of parts (json/chunks.ts).

import { stopwatchName } from '../../actors/index/records/stopwatch.ts';
import { listFailures } from '../../actors/index/views/failures.ts';
import { lagMsMax, untilTaken } from '../../actors/index/views/lag.ts';
import { StopwatchReading } from '../../actors/index/views/stopwatch.ts';
import { readAction } from '../../actors/job/records/action.ts';
import { readCounts } from '../../actors/job/records/counts.ts';
import { headgatePlugin } from '../../actors/job/records/job.ts';
import { BlockCache } from '../../actors/job/views/block-cache.ts';
import type { JobPage } from '../../actors/job/views/job-page.ts';
import { findJob, findTree } from '../../actors/job/views/jobs.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { Share, Sliced } from '../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../runtime/store/store.ts';
import { type ActionPage, writeAction, writeActions } from '../json/action.ts';
import type { JsonPart } from '../json/chunks.ts';
import { writeCounts } from '../json/counts.ts';
import { writeFailures } from '../json/failures.ts';
import { jobParts, settledParts, treeParts } from '../json/job.ts';
import { logsParts, writeJobs } from '../json/list.ts';
import { writeOverview } from '../json/overview.ts';
import { stopwatchParts } from '../json/stopwatch.ts';
import { timelineParts } from '../json/timeline.ts';
import { openLists } from './lists.ts';
import { openOverview } from './overview.ts';
import type { Read, StopwatchQuery } from './reads.ts';
import { Semaphore } from './semaphore.ts';
import { openTimelines, timelineBytes } from './timelines.ts';

/** One step of reading the stopwatch takes about this long. Between two steps other reads can continue. */
const stopwatchMsMax = 1;
/** The maximum number of timelines that are computed at the same time. Each can take 14 MB. */
export const timelinesMax = 8;
/** The maximum number of readings of the stopwatch that are in progress at the same time. Each can take 10 MB, and more if it has spans. */
export const stopwatchesMax = 8;

type Jobs = NonNullable<ReturnType<typeof findTree>>;

/**
 * Produces the parts of an answer; null if the job to be read does not exist. Calls `hold` with the number of bytes that the answer keeps in
 * memory until its last part is written, without stored values.
 */
export type AnswerRead = (
  read: Read,
  share: Share,
  hold: (bytes: number) => void,
) => Promise<Iterable<JsonPart> | null>;

/** `index`: the reader of the current index, to be used for one read. Throws IndexUnavailable if the index cannot be opened. */
export function openAnswers(reader: Reader, index: () => Reader<IndexTable>): AnswerRead {
  const lists = openLists(reader, index);
  const overview = openOverview(reader, index);
  const blocks = new BlockCache(reader);
  const timelineIn = openTimelines(reader);
  const computing = new Semaphore(timelinesMax);
  const measuring = new Semaphore(stopwatchesMax);

  return async (read, share, hold) => {
    switch (read.kind) {
      case 'job':
        return share.run(once(() => jobOf(read)));
      case 'tree':
        return share.run(once(() => treeOf(Buffer.from(read.id), jobs => treeParts(jobs, read.withResult))));
      case 'run':
        return share.run(once(() => treeOf(Buffer.from(read.id), jobs => settledParts(jobs, read.withTree))));
      case 'jobs':
        return [writeJobs(await share.run(jobsOf(read)))];
      case 'failures':
        return [
          writeFailures(await share.run(listFailures(index(), read.filter, read.limit, read.before)), read.nowUs),
        ];
      case 'actions':
        return [writeActions(await share.run(actionsOf(read)))];
      case 'logs':
        return logsParts(await share.run(lists.logs(read.wanted)), read.detail);
      case 'timeline':
        return timelineOf(read, share, hold);
      case 'stopwatch':
        return stopwatch(read, share, hold);
      case 'overview':
        return [writeOverview(await share.run(overview(read)))];
      case 'counts':
        return [writeCounts(await share.run(once(() => readCounts(reader))), read.nowUs)];
    }
  };

  function jobOf({ id, detail, waits }: Extract<Read, { kind: 'job' }>): Iterable<JsonPart> | null {
    const job = findJob(reader, Buffer.from(id), blocks);
    return job ? jobParts(job, detail, waits) : null;
  }

  function jobsOf({ filter, limit, before, error }: Extract<Read, { kind: 'jobs' }>): Sliced<JobPage> {
    return lists.jobs(filter, limit, before && Buffer.from(before), error);
  }

  function* actionsOf({ limit, before }: Extract<Read, { kind: 'actions' }>): Sliced<ActionPage> {
    const filter = { plugin: headgatePlugin, command: null, status: null, within: [] };
    const { rows, total, more } = yield* lists.jobs(filter, limit, before && Buffer.from(before));
    const actions: string[] = [];
    for (const { id } of rows) {
      yield;
      const job = findJob(reader, id, blocks);
      if (job) actions.push(writeAction(job, readAction(reader, id)));
    }
    return { actions, total, next: more ? rows.at(-1)!.id : null };
  }

  function treeOf(id: JobId, write: (jobs: Jobs) => Iterable<JsonPart>): Iterable<JsonPart> | null {
    const jobs = findTree(reader, id, blocks);
    return jobs ? write(jobs) : null;
  }

  async function timelineOf(
    wanted: Extract<Read, { kind: 'timeline' }>,
    share: Share,
    hold: (bytes: number) => void,
  ): Promise<Iterable<JsonPart> | null> {
    const query = { ...wanted, id: Buffer.from(wanted.id) };
    const timeline = await computing.run(() => share.run(timelineIn(query)));
    if (!timeline) return null;
    hold(timelineBytes(timeline));
    return timelineParts(timeline, wanted.withErrors);
  }

  async function stopwatch(
    wanted: StopwatchQuery,
    share: Share,
    hold: (bytes: number) => void,
  ): Promise<Iterable<JsonPart>> {
    const endMs = performance.now() + lagMsMax;
    const taken = index();
    await untilTaken(reader, taken, stopwatchName, () => performance.now() < endMs);
    const { plugin, window, steps, onlySteps, subs, history } = wanted;
    const reading = new StopwatchReading(taken, plugin, window, {
      steps: onlySteps ? new Set(steps) : null,
      spans: subs === true,
      history: history && { minutes: history.minutes, heat: history.heat, ledger: history.exemplars ? reader : null },
    });
    await measuring.run(() => share.run(sliced(() => reading.read(stopwatchMsMax))));
    hold(reading.bytes);
    return stopwatchParts(wanted, reading.steps);
  }
}

/** Wraps `act`, which must be short, as sliced work. */
function* once<T>(act: () => T): Sliced<T> {
  yield;
  return act();
}

function* sliced(isRead: () => boolean): Sliced<void> {
  while (!isRead()) yield;
}
