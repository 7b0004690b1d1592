// A job: its states with their times, its attempts, its payload and its result.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { counted, duration } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href, place } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Empty, JobId, Loading, Page, Problem, Section, Status, Tabs, Time } from '../../parts/index.ts';
import { microsOf, type RunTimeline } from '../run/timeline.ts';
import { ActionProgress } from './action-progress.tsx';
import { Attempts } from './attempts.tsx';
import { JobActions } from './job-actions.tsx';
import { JobNotices } from './job-notices.tsx';
import { isRun, isSettled, jobTitle, type ShownJob } from './shown-job.ts';
import { StateDiagram } from './state-diagram.tsx';
import { useJob } from './use-job.ts';
import { JobValues } from './values.tsx';

export function JobScreen(): JSX.Element {
  const { id, query } = place.value;
  const job = useJob(id);
  const { data } = job;
  const maySeeRuns = may('jobs:tree:ro', 'jobs:ro', 'jobs:rw');
  // A run has a page of its own, which links to this one.
  const isElsewhere =
    maySeeRuns && data !== undefined && data.job_id === id && isRun(data) && query.get('view') !== 'job';
  useEffect(() => {
    if (isElsewhere) location.replace(href('run', id));
  }, [isElsewhere, id]);
  if (!id)
    return (
      <Page title="Job">
        <Empty title="No job is named">Open one from the list of jobs.</Empty>
      </Page>
    );
  if (isElsewhere || !data)
    return (
      <Page title="Job" subtitle={<JobSubtitle id={id} />}>
        {job.error ? <Problem error={job.error} retry={job.reload} /> : <Loading rows={8} />}
      </Page>
    );
  return (
    <Page
      title={jobTitle(data)}
      subtitle={<JobSubtitle id={id} job={data} />}
      actions={<JobActions job={data} reload={job.reload} />}
    >
      {isRun(data) && maySeeRuns && (
        <Tabs
          label="Views of the run"
          current="job"
          items={[
            { name: 'run', title: 'Run', href: href('run', id) },
            { name: 'job', title: 'Job', href: href('job', id, { view: 'job' }) },
          ]}
        />
      )}
      {job.error && <Problem error={job.error} retry={job.reload} />}
      <JobNotices job={data} />
      {data.plugin === 'headgate' && <ActionProgress job={data} />}
      <StateDiagram job={data} />
      {!isRun(data) && maySeeRuns && <JobTimes job={data} />}
      <Facts job={data} />
      {!isRun(data) && <Attempts job={data} />}
      <JobValues job={data} />
    </Page>
  );
}

/**
 * Has the same place among the components before and after the job arrives. Preact then keeps it, with the focus and the state of the copy button.
 */
function JobSubtitle({ id, job }: { id: string; job?: ShownJob }) {
  return (
    <span class="run-subtitle">
      {job && <Status status={job.status} />}
      <JobId id={id} />
      {job?.completed_at && job.started_at && (
        <span>{duration(microsOf(job.completed_at) - microsOf(job.created_at))} from acceptance to end</span>
      )}
    </span>
  );
}

/** How long the job waited for a worker, ran, and waited between attempts. */
function JobTimes({ job }: { job: ShownJob }) {
  const timeline = useResource<RunTimeline>(`/job/${job.job_id}/timeline?buckets=1`);
  useEffect(() => timeline.reload(), [job.status, job.attempt]);
  const [step] = timeline.data?.steps ?? [];
  const [path] = timeline.data?.critical_path ?? [];
  // Keeps room for the times of a job that has run until they have arrived.
  if (!timeline.data && !timeline.error && isSettled(job) && job.started_at !== null)
    return <div class="where where-loading" />;
  if (!step || !path) return null;
  const parts = [
    ['Waited for a worker', path.waiting_us, 'waiting'],
    ['Ran', path.running_us, 'running'],
    ['Lay between attempts', path.retrying_us, 'retrying'],
  ] as const;
  const whole = parts.reduce((sum, [, us]) => sum + us, 0);
  const shown = parts.filter(([, us]) => us > 0);
  return (
    <figure class="where">
      <div class="where-bar" role="img" aria-label={shown.map(([name, us]) => `${name} ${duration(us)}`).join(', ')}>
        {shown.map(([name, us, kind]) => (
          <span key={name} class={`where-part kind-${kind}`} style={{ width: `${(us / Math.max(1, whole)) * 100}%` }} />
        ))}
      </div>
      <figcaption>
        <ul class="where-names">
          {shown.map(([name, us, kind]) => (
            <li key={name}>
              <span class={`where-key kind-${kind}`} aria-hidden="true" />
              {name} <strong class="number">{duration(us)}</strong>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

/** Where the job belongs, and what the call asked for. */
function Facts({ job }: { job: ShownJob }) {
  const { parent_job_id: parent, run_id: run, step_id: step, pipeline, phase, index, event, schedule, tags } = job;
  const facts: (readonly [string, ComponentChildren])[] = [
    ['Submitted by', job.submitted_by],
    ['Accepted', <Time key="t" at={job.created_at} />],
  ];
  if (run)
    facts.push([
      'Run',
      <>
        {may('jobs:tree:ro', 'jobs:ro', 'jobs:rw') ? <a href={href('run', run)}>{pipeline}</a> : pipeline}{' '}
        <JobId id={run} />
      </>,
    ]);
  if (step) facts.push(['Step', `${step}${phase ? `, in ${phase}` : ''}${index == null ? '' : `, element ${index}`}`]);
  if (parent && parent !== run) facts.push(['After', <JobId key="p" id={parent} />]);
  if (event) facts.push(['Event', `${event.type} from ${event.source}`]);
  if (event?.dedupe_key) facts.push(['Dedupe key', event.dedupe_key]);
  if (schedule)
    facts.push([
      'Schedule',
      <a key="s" href={href('schedules', schedule.id)}>
        {schedule.id}
      </a>,
    ]);
  if (job.run_at) facts.push(['Runs at', <Time key="r" at={job.run_at} />]);
  if (job.expires_at) facts.push(['Expires', <Time key="e" at={job.expires_at} />]);
  if (job.deadline_at) facts.push(['Deadline', <Time key="d" at={job.deadline_at} />]);
  if (job.attempt > 1) facts.push(['Attempts', counted(job.attempt, 'attempt')]);
  for (const [name, value] of Object.entries(tags ?? {}))
    facts.push([
      `Tag ${name}`,
      <a key={name} href={href('jobs', null, { tag: `${name}:${value}` })}>
        {value}
      </a>,
    ]);
  // Actions are carried out by the service itself, which no stopwatch measures.
  if (!isRun(job) && job.plugin !== 'headgate')
    facts.push([
      'Times of its command',
      <a key="w" href={href('stopwatch', job.plugin)}>
        stopwatch of {job.plugin}
      </a>,
    ]);
  if (isSettled(job)) facts.push(['Ended', <Time key="c" at={job.completed_at} />]);
  return (
    <Section title="Facts">
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
