// A run: which step is slow, which jobs failed and why, where the time went, and what lay on the critical path.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { count, counted, duration, ms, percent } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href, place, setQuery } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Bar, Empty, JobId, Loading, Page, Problem, Status, Tabs, Time } from '../../parts/index.ts';
import { JobActions } from '../job/job-actions.tsx';
import { JobNotices } from '../job/job-notices.tsx';
import { isSettled, jobTitle, type ShownJob } from '../job/shown-job.ts';
import { useJob } from '../job/use-job.ts';
import { ChildLists } from './lists.tsx';
import { CriticalPathSection, WhereTimeWent } from './path.tsx';
import { RunPipeline } from './run-pipeline.tsx';
import { type StepShare, sharesByStep } from './shares.ts';
import { Strips } from './strips.tsx';
import { failuresIn, type RunTimeline, stepTitle, unsettledIn } from './timeline.ts';
import { RunTree } from './tree.tsx';
import { partQuery, type StripView, stripView } from './view.ts';

const bucketsWhole = 500;
const bucketsPart = 1_000;
/** The interval at which the timeline of an open run is fetched. It grows with the number of jobs, because the service takes longer to read them. */
const everyMsMin = 1_500;
const everyMsMax = 60_000;
const everyMsPerJob = 0.1;

export function RunScreen(): JSX.Element {
  const { id, query } = place.value;
  const job = useJob(id);
  // With the scope jobs:tree:ro alone, the service refuses the job with 403, but not the timeline.
  const [lastTimeline, setLastTimeline] = useState<RunTimeline | undefined>();
  const known = job.data ?? lastTimeline;
  const isOpen = known !== undefined && !isSettled(known);
  const jobCount = job.data ? sumOf(job.data.counts) : (lastTimeline?.count ?? 0);
  const everyMs = Math.min(everyMsMax, Math.max(everyMsMin, jobCount * everyMsPerJob));
  const timeline = useResource<RunTimeline>(id && `/job/${id}/timeline?buckets=${bucketsWhole}`, {
    ...(isOpen && { everyMs }),
    // The end of the run comes with an event: then the timeline is read once more.
    live: isOpen ? ['pipeline.completed', 'pipeline.failed', 'pipeline.timed_out', 'pipeline.cancelled'] : [],
  });
  useEffect(() => setLastTimeline(timeline.data), [timeline.data]);
  const view = timeline.data && stripView(query, timeline.data.duration_us);
  const zoom = timeline.data && view ? partQuery(view, timeline.data) : null;
  const part = useResource<RunTimeline>(
    zoom === null ? null : `/job/${id}/timeline?buckets=${bucketsPart}&${zoom}`,
    isOpen ? { everyMs } : {},
  );
  // The last timeline of an open run may have been read before the run ended.
  const isBehind = job.data !== undefined && !isOpen && timeline.data !== undefined && !isSettled(timeline.data);
  useEffect(() => {
    if (isBehind) timeline.reload();
  }, [isBehind, timeline.data]);
  if (!id)
    return (
      <Page title="Run">
        <Empty title="No run is named">Open one from the list of jobs.</Empty>
      </Page>
    );
  const shown = job.data ?? timeline.data;
  // The page waits for both the job and the timeline, because notices about the job that appear later would move the timeline.
  if (!(job.data || job.error) || !(timeline.data || timeline.error))
    return (
      <Page title={shown ? jobTitle(shown) : 'Run'} subtitle={<RunSubtitle id={id} />}>
        <Loading rows={12} />
      </Page>
    );
  return (
    <Page
      title={shown ? jobTitle(shown) : 'Run'}
      subtitle={<RunSubtitle id={id} job={job.data} timeline={timeline.data} everyMs={isOpen ? everyMs : null} />}
      actions={job.data && <JobActions job={job.data} reload={job.reload} />}
    >
      <Tabs
        label="Views of the run"
        current="run"
        items={[
          { name: 'run', title: 'Run', href: href('run', id) },
          { name: 'job', title: 'Job', href: href('job', id, { view: 'job' }) },
        ]}
      />
      {job.error && job.error.status !== 403 && <Problem error={job.error} retry={job.reload} />}
      {job.data && <JobNotices job={job.data} />}
      {timeline.error && !timeline.data && <Problem error={timeline.error} retry={timeline.reload} />}
      {timeline.data && <RunBody timeline={timeline.data} part={part.data} view={view!} id={id} />}
    </Page>
  );
}

/**
 * Has the same place among the components before and after the run arrives. Preact then keeps it, with the focus and the state of the copy button.
 */
function RunSubtitle({
  id,
  job,
  timeline,
  everyMs = null,
}: {
  id: string;
  job?: ShownJob | undefined;
  timeline?: RunTimeline | undefined;
  everyMs?: number | null;
}) {
  const shown = job ?? timeline;
  return (
    <span class="run-subtitle">
      {shown && <Status status={shown.status} />}
      <JobId id={id} />
      {timeline && (
        <span>
          {duration(timeline.duration_us)} · {counted(timeline.count, 'job')}
        </span>
      )}
      {job && (
        <span>
          began <Time at={job.started_at ?? job.created_at} />
        </span>
      )}
      {everyMs !== null && everyMs > everyMsMin && <span>read again every {ms(everyMs)}</span>}
    </span>
  );
}

function sumOf(counts: ShownJob['counts']): number {
  return Object.values(counts ?? {}).reduce((sum, n) => sum + n, 0);
}

type RunBodyProps = {
  timeline: RunTimeline;
  part: RunTimeline | undefined;
  view: StripView;
  id: string;
};

function RunBody({ timeline, part, view, id }: RunBodyProps) {
  const { query } = place.value;
  const shares = useMemo(() => sharesByStep(timeline), [timeline]);
  const picked = query.get('step');
  const pick = (key: string | null) => setQuery({ step: key ?? undefined });
  if (timeline.steps.length === 0)
    return <Empty title="The run has no job yet">Its steps appear here as soon as the first job is accepted.</Empty>;
  return (
    <div class="run">
      <Verdict timeline={timeline} shares={shares} />
      <StatusBar timeline={timeline} id={id} />
      <WhereTimeWent timeline={timeline} />
      <Strips
        timeline={timeline}
        shares={shares}
        part={part}
        view={view}
        picked={picked}
        onPick={pick}
        onView={setQuery}
      />
      <ChildLists timeline={timeline} picked={picked} onAll={() => pick(null)} />
      <CriticalPathSection timeline={timeline} />
      {may('plugin:ro', 'plugin:rw') && <RunPipeline timeline={timeline} />}
      {may('jobs:ro', 'jobs:rw') && <RunTree run={id} version={timeline.count + settledIn(timeline)} />}
    </div>
  );
}

function settledIn({ steps }: RunTimeline): number {
  return steps.reduce((sum, step) => sum + step.count - unsettledIn(step), 0);
}

const doing: Readonly<Record<StepShare['kind'], string>> = {
  running: 'running',
  waiting: 'waiting for a worker',
  handing_out: 'handing out jobs',
  retrying: 'waiting between attempts',
  commit: 'committing',
};

/** The result of the run in a sentence: which step took the time, and what failed. */
function Verdict({ timeline, shares }: { timeline: RunTimeline; shares: readonly StepShare[] }) {
  const { duration_us: durationUs, steps, reused = 0 } = timeline;
  const [longest] = shares;
  const failing = steps.filter(step => failuresIn(step) > 0).sort((a, b) => failuresIn(b) - failuresIn(a));
  const failed = failing.reduce((sum, step) => sum + failuresIn(step), 0);
  const open = steps.reduce((sum, step) => sum + unsettledIn(step), 0);
  return (
    <p class="verdict">
      {longest && (
        <>
          <strong>{longest.title}</strong> {open > 0 ? 'has taken' : 'took'} {duration(longest.us)} of{' '}
          {duration(durationUs)} ({percent(longest.share)}), most of it {doing[longest.kind]}.{' '}
        </>
      )}
      {open > 0 && <>{counted(open, 'job has', 'jobs have')} not ended. </>}
      {failed > 0 ? (
        <>
          <strong class="bad">
            {counted(failed, 'job')} of {count(timeline.count)} failed
          </strong>
          {failing.length === 1
            ? `, all in ${stepTitle(failing[0]!, timeline.command)}. `
            : `, most in ${stepTitle(failing[0]!, timeline.command)}. `}
        </>
      ) : (
        open === 0 && 'No job failed. '
      )}
      {reused > 0 && <>{counted(reused, 'job is', 'jobs are')} reused from the run before.</>}
    </p>
  );
}

const statuses = ['succeeded', 'failed', 'timed_out', 'dead', 'cancelled', 'running', 'queued'];

/** How many jobs have each status; each number leads to them. */
function StatusBar({ timeline, id }: { timeline: RunTimeline; id: string }) {
  const counts = statuses
    .map(status => ({ status, n: timeline.steps.reduce((sum, step) => sum + (step.by_status[status] ?? 0), 0) }))
    .filter(({ n }) => n > 0);
  return (
    <div class="run-statuses">
      <Bar
        label="Jobs by status"
        parts={counts.map(({ status, n }) => ({
          name: status.replace('_', ' '),
          value: n,
          color: `--status-${status}`,
        }))}
      />
      <ul>
        {counts.map(({ status, n }) => (
          <li key={status}>
            <a href={href('jobs', null, { run: id, status })}>
              <Status status={status} /> <span class="number">{count(n)}</span>
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}
