// The part of the service that the HTTP servers use. It sends new work to the ledger thread, and long reads to the reads thread. It reads single
// jobs and small trees itself, on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Hub } from '../actors/hub/hub.ts';
import type { CancelJob, CancelReply } from '../actors/job/cancel/cancel-protocol.ts';
import type { PauseReply, PauseRequest } from '../actors/job/holds/pause-protocol.ts';
import type { EdgeMessage, RefusedWork, SubmitReply, Waits } from '../actors/job/protocol.ts';
import type { Pause, PauseTarget } from '../actors/job/records/pause.ts';
import type { RescheduleReply, RunNowReply } from '../actors/job/times/time-protocol.ts';
import { BlockCache } from '../actors/job/views/block-cache.ts';
import type { JobView } from '../actors/job/views/job-view.ts';
import { findJob, findTree } from '../actors/job/views/jobs.ts';
import { listPauses } from '../actors/job/views/pauses.ts';
import { unsettledIn } from '../actors/job/views/unsettled.ts';
import type { JobId } from '../runtime/ids.ts';
import type { Logger } from '../runtime/log.ts';
import { type ActionCalls, type ActionReads, openActions } from './actions.ts';
import type { Administration, AdministrationOptions } from './administration.ts';
import { askLedger } from './ask-ledger.ts';
import type { Backups } from './backup/backups.ts';
import { EventStreams } from './events/streams.ts';
import { JobWaiters, type OnJobEnd } from './job-waiters.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { ReadsClient } from './reads/reads-client.ts';
import { openSchedules } from './schedules.ts';
import { type BatchSubmission, type RunSubmission, type Submission, Submissions } from './submissions.ts';
import type { UiSessions } from './ui-sessions.ts';
import type { VaultCalls } from './vault-client.ts';

/** The limits of a tree that is read on the main thread: the total size of its bodies, and the approximate number of its blocks. */
const smallTreeBytesMax = 64 * 2 ** 10;
const smallTreeBlocksMax = 256;

/** An answer about a job waits at most this long for the ledger to report why the job waits. */
const waitsMsMax = 100;

/** The answer to a cancel waits at most this long for the ledger. */
const cancelMsMax = 20_000;

type SharedOptions = Pick<AdministrationOptions, 'config' | 'link' | 'reader' | 'gauges' | 'upMs'>;

export type EngineOptions = SharedOptions & {
  readonly reads: Pick<ReadsClient, 'answer'>;
  /** Finds the jobs that match the filters of actions. */
  readonly selecting: ActionReads;
  readonly administration: Administration;
  readonly metrics: Metrics;
  readonly vault: VaultCalls;
  readonly uiSessions: UiSessions;
  readonly backups: Pick<Backups, 'write'>;
  /** Whether the service is stopping and refuses new work. */
  readonly stopping: () => boolean;
  readonly log: Pick<Logger, 'error'>;
  readonly version: string;
  readonly hub: Hub;
};

export type GatewayEngine = ReturnType<typeof openEngine>;

/** The part of the engine that HTTP routes may use. */
export type Engine = Omit<GatewayEngine, 'receive' | 'release' | 'actions'> & { readonly actions: ActionCalls };

export function openEngine({ link, reader, gauges, hub, selecting, log, ...parts }: EngineOptions) {
  const blocks = new BlockCache(reader);
  const submissions = new Submissions(link);
  const waiters = new JobWaiters(link, reader);
  const actions = openActions({ link, reader, reads: selecting, stopping: parts.stopping, log });

  return {
    ...parts,
    /** Makes a delayed job or run, or a job that waits for its next attempt, due now. */
    runNow: (id: JobId) => link.ask<RunNowReply | RefusedWork>('job', { kind: 'run_now', id }),
    reschedule: (id: JobId, to: { readonly runAtUs: number } | { readonly delayMs: number }) =>
      link.ask<RescheduleReply | RefusedWork>('job', { kind: 'reschedule', id, ...to }),
    actions,
    pauses: {
      /** Begins a pause. Resolves when it is on disk, or refused. */
      pause: (pause: PauseRequest) => link.ask<PauseReply | RefusedWork>('job', { kind: 'pause', pause }),
      /** Ends a pause. Resolves when its end is on disk, or refused. */
      resume: (target: PauseTarget, by: string) =>
        link.ask<PauseReply | RefusedWork>('job', { kind: 'resume', target, by }),
      list(): readonly Pause[] {
        reader.refresh();
        return listPauses(reader);
      },
      /** The unsettled jobs and runs, which a restored state continues once it is resumed. */
      unsettled: () => unsettledIn(reader),
    },
    schedules: openSchedules({ link, reader, config: parts.config }),
    /** The number of jobs that wait to run: queued jobs without a hold or pause, and jobs that wait for their next attempt. */
    queueDepth: () => gauges.get('queued') + gauges.get('retrying') - gauges.get('held'),
    /** When the newest attempt ended, in µs since the epoch. After the clock was set back, this can be later than now. */
    newestEndUs: () => gauges.get('journaled'),
    events: new EventStreams({ hub, nowMs: Date.now, generation: () => [parts.config(), parts.uiSessions.endings] }),
    /** Resolves when the job is on disk, or refused. `onJobEnd` is called as `JobWaiters.start` says. */
    submit(submission: Submission, onJobEnd?: OnJobEnd): Promise<SubmitReply> {
      if (onJobEnd === undefined) return submissions.submit(submission);
      return waiters.start(
        submission,
        watch => submissions.submit(watch ? { ...submission, watch: true } : submission),
        onJobEnd,
      );
    },
    /** Resolves when the jobs of the batch are on disk, or refused. As many jobs are accepted as there is room for. */
    submitAll: (batch: BatchSubmission) => submissions.submitAll(batch),
    /** Starts a run. Resolves when the run is on disk, or refused. `onJobEnd`: as with `submit`. */
    startRun(submission: RunSubmission, onJobEnd?: OnJobEnd): Promise<SubmitReply> {
      if (onJobEnd === undefined) return submissions.startRun(submission, false);
      return waiters.start(submission, watch => submissions.startRun(submission, watch), onJobEnd);
    },
    watch: (id: JobId, onJobEnd: OnJobEnd) => waiters.join(id, onJobEnd),
    unwatch: (id: JobId, onJobEnd: OnJobEnd) => waiters.leave(id, onJobEnd),
    /** Handles a message of the ledger thread: a job that callers wait for has settled, or the actors have restarted. */
    receive(message: EdgeMessage): void {
      if (message.kind === 'actors_restarted') waiters.renew();
      else waiters.settled(message.id);
    },
    release: () => waiters.release(),
    /** The job as of the last commit; undefined if no such job is stored. */
    job(id: JobId): JobView | undefined {
      reader.refresh();
      return findJob(reader, id, blocks);
    },
    /**
     * Cancels a job, or a run with all its jobs. Resolves with the status of the job after the commit. Null: the ledger thread has
     * ended, or did not answer in time.
     */
    async cancel(cancel: Omit<CancelJob, 'kind' | 'replyTo'>): Promise<CancelReply | RefusedWork | null> {
      const late = sleep(cancelMsMax, null, { ref: false });
      const asked = link.ask<CancelReply | RefusedWork>('job', { kind: 'cancel', ...cancel }).catch(() => null);
      return Promise.race([asked, late]);
    },
    /** The reason why an unsettled job waits; null if the job does not wait, or if the ledger did not answer in time. */
    async waits(id: JobId): Promise<Waits | null> {
      const late = sleep(waitsMsMax, null, { ref: false });
      return (await Promise.race([askLedger(link, { kind: 'ask_waits', id }), late]))?.waits ?? null;
    },
    /**
     * A job and its descendants, parents before children, at most `limit` jobs. Undefined if the job does not exist, or if this is too much
     * to read on this thread.
     */
    smallTree(id: JobId, limit: number): readonly JobView[] | undefined {
      const views = findTree(reader, id, blocks);
      return views && takeSmall(views, limit);
    },
  };
}

/** The first `limit` jobs of a tree; undefined if they exceed the limits of a small tree. */
function takeSmall(views: Iterable<JobView | null>, limit: number): JobView[] | undefined {
  const taken: JobView[] = [];
  let bytes = 0;
  let blocks = 0;
  for (const view of views) {
    if (view === null) blocks++;
    else {
      if (view.isLarge) return undefined;
      bytes += view.body?.length ?? 0;
      taken.push(view);
    }
    if (taken.length >= limit) break;
    if (bytes > smallTreeBytesMax || blocks > smallTreeBlocksMax) return undefined;
  }
  return taken;
}
