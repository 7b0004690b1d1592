// The jobs of a run that ran longest, and those that failed first.
import type { JSX } from 'preact';
import { count, duration } from '../../core/format.ts';
import { href } from '../../core/router.ts';
import { Empty, JobId, Section, Status } from '../../parts/index.ts';
import { failuresIn, microsOf, type RunTimeline, stepKey, stepTitle } from './timeline.ts';

const listedMax = 10;

export type ChildListsProps = {
  readonly timeline: RunTimeline;
  readonly picked: string | null;
  readonly onAll: () => void;
};

/** `picked`: the key of the step to which the lists are limited. */
export function ChildLists({ timeline, picked, onAll }: ChildListsProps): JSX.Element {
  const steps = timeline.steps.filter(step => picked === null || stepKey(step) === picked);
  const only = picked === null || steps[0] === undefined ? null : stepTitle(steps[0], timeline.command);
  const note = only !== null && (
    <>
      of {only} ·{' '}
      <button type="button" class="link" onClick={onAll}>
        show all steps
      </button>
    </>
  );
  const startUs = microsOf(timeline.from);
  const slowest = steps
    .flatMap(step => step.slowest.map(job => ({ ...job, title: stepTitle(step, timeline.command) })))
    .sort((a, b) => b.run_us - a.run_us)
    .slice(0, listedMax);
  const failed = steps
    .flatMap(step => step.failed.map(job => ({ ...job, title: stepTitle(step, timeline.command) })))
    .sort((a, b) => microsOf(a.completed_at) - microsOf(b.completed_at))
    .slice(0, listedMax);
  const failures = steps.reduce((sum, step) => sum + failuresIn(step), 0);
  const longestUs = slowest[0]?.run_us ?? 1;
  return (
    <div class="child-lists">
      <Section title="Slowest jobs" note={note}>
        {slowest.length === 0 ? (
          <Empty title="No job has ended yet." />
        ) : (
          <ol class="child-list" aria-label="Slowest jobs">
            {slowest.map(({ job_id, title, run_us, status }) => (
              <li key={job_id}>
                <span class="child-step">{title}</span>
                <JobId id={job_id} />
                <Status status={status} />
                <span class="child-bar" aria-hidden="true">
                  <span style={{ width: `${(run_us / Math.max(1, longestUs)) * 100}%` }} />
                </span>
                <span class="number">{duration(run_us)}</span>
              </li>
            ))}
          </ol>
        )}
      </Section>
      <Section
        title="First failures"
        note={note}
        actions={failures > 0 && <AllFailures timeline={timeline} failures={failures} picked={picked} />}
      >
        {failed.length === 0 ? (
          <Empty title="No job has failed." />
        ) : (
          <ol class="child-list child-failures" aria-label="First failures">
            {failed.map(({ job_id, title, completed_at, status, error }) => (
              <li key={job_id}>
                <span class="child-step">{title}</span>
                <JobId id={job_id} />
                <Status status={status} />
                <span class="number muted" title={completed_at}>
                  at {duration(microsOf(completed_at) - startUs)}
                </span>
                <span class="child-error" title={error}>
                  {error ?? ''}
                </span>
              </li>
            ))}
          </ol>
        )}
      </Section>
    </div>
  );
}

/** Links to the lists of all jobs that failed, by status. */
function AllFailures({
  timeline,
  failures,
  picked,
}: {
  timeline: RunTimeline;
  failures: number;
  picked: string | null;
}) {
  const steps = timeline.steps.filter(step => picked === null || stepKey(step) === picked);
  const only = picked === null ? undefined : steps[0];
  const of = (status: string) => steps.reduce((sum, step) => sum + (step.by_status[status] ?? 0), 0);
  const statuses = ['failed', 'timed_out', 'dead'].filter(status => of(status) > 0);
  const filter = { run: timeline.job_id, plugin: only?.plugin ?? undefined, command: only?.command ?? undefined };
  return (
    <span class="all-failures">
      {statuses.map(status => (
        <a key={status} href={href('jobs', null, { ...filter, status })}>
          {statuses.length === 1 ? `all ${count(failures)}` : `${count(of(status))} ${status.replace('_', ' ')}`}
        </a>
      ))}
    </span>
  );
}
