// The notices about a job: why it waits, its cancel, the errors of a run, the job that it reruns, and its own reruns.
import type { ComponentChildren, JSX } from 'preact';
import { count, counted } from '../../core/format.ts';
import { href } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { JobId, Time } from '../../parts/index.ts';
import { isRun, type ShownJob } from './shown-job.ts';

const reasons: Readonly<Record<string, string>> = {
  worker: 'Waits for a free worker',
  retry: 'Waits for its next attempt',
  run_at: 'Waits for its time to run',
  schedule_queue: 'Waits in the queue of its schedule',
  children: 'Waits for the jobs inside it',
  paused: 'Is paused',
  plugin: 'Waits for its plugin',
  vault: 'Waits for the vault',
  disk: 'Waits for room on the disk',
};

export function JobNotices({ job }: { job: ShownJob }): JSX.Element | null {
  const {
    waits_for: waits,
    cancel,
    cancelling,
    rerun_of: of,
    reruns,
    phase_error: phaseError,
    last_error: error,
  } = job;
  const notices: ComponentChildren[] = [];
  // A run that waits for its jobs needs no notice, because it is under way.
  if (waits && waits.reason !== 'children')
    notices.push(
      <Notice key="waits" kind="waits">
        <strong>{reasons[waits.reason] ?? 'Waits'}</strong>: {withLinks(waits.detail)}. It began to wait{' '}
        <Time at={waits.since} />
        {waits.until && (
          <>
            {' '}
            and goes on <Time at={waits.until} />
          </>
        )}
        .
      </Notice>,
    );
  if (cancel)
    notices.push(
      <Notice key="cancel" kind="cancel">
        <strong>{cancelling === undefined ? 'Cancelled' : 'Being stopped'}</strong> by {cancel.by}{' '}
        <Time at={cancel.at} />
        {cancel.reason && `: ${cancel.reason}`}
        {typeof cancelling === 'number' && ` ${counted(cancelling, 'of its jobs has', 'of its jobs have')} not ended.`}
      </Notice>,
    );
  if (isRun(job) && error)
    notices.push(
      <Notice key="error" kind="error">
        <span class="notice-text">{withLinks(error)}</span>
      </Notice>,
    );
  if (phaseError)
    notices.push(
      <Notice key="phase" kind="error">
        It succeeded, but: <span class="notice-text">{withLinks(phaseError)}</span>
      </Notice>,
    );
  if (of)
    notices.push(
      <Notice key="rerun-of" kind="rerun">
        Reruns <JobId id={of} />
        {job.rerun_from === 'failed' && ', without the jobs that succeeded'}
        {job.rerun_reason && `: ${job.rerun_reason}`}
        {isRun(job) && may('jobs:ro', 'jobs:rw') && (
          <>
            {' '}
            · <a href={href('compare', null, { a: of, b: job.job_id })}>compare the two</a>
          </>
        )}
      </Notice>,
    );
  if (reruns && reruns.length > 0)
    notices.push(
      <Notice key="reruns" kind="rerun">
        Was rerun as <JobId id={reruns[0]!} />
        {reruns.length > 1 && (
          <>
            {' '}
            and{' '}
            <a href={href('jobs', null, { rerun_of: job.job_id })}>
              {count((job.rerun_count ?? reruns.length) - 1)} times more
            </a>
          </>
        )}
      </Notice>,
    );
  return notices.length === 0 ? null : <div class="notices">{notices}</div>;
}

const jobId = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/;

/** A text in which ids of jobs are links. */
function withLinks(text: string): ComponentChildren {
  return text.split(jobId).map((part, at) => (at % 2 === 1 ? <JobId key={at} id={part} /> : part));
}

function Notice({ kind, children }: { kind: string; children: ComponentChildren }) {
  return <div class={`notice notice-${kind}`}>{children}</div>;
}
