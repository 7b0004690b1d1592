// The drawing of a pipeline with the counts of one run: the newest, unless another is chosen.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useResource } from '../../core/resource.ts';
import { href, place, queryText, setQuery } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import {
  Duration,
  Empty,
  JobId,
  Loading,
  Problem,
  Section,
  Status,
  SymbolHead,
  Table,
  Time,
} from '../../parts/index.ts';
import { type DrawnCounts, type DrawnStep, PipelineDrawing } from '../../parts/pipeline.tsx';
import type { PipelineView } from './pipeline-view.ts';

type RunRow = {
  readonly job_id: string;
  readonly status: string;
  readonly created_at: string;
  readonly completed_at: string | null;
};
type RunsAnswer = { readonly jobs: readonly RunRow[]; readonly total: number };
type TimelineAnswer = {
  readonly status: string;
  readonly steps: readonly {
    readonly pipeline: string | null;
    readonly step: string | null;
    readonly by_status: Readonly<
      Record<'queued' | 'running' | 'succeeded' | 'failed' | 'timed_out' | 'dead' | 'cancelled', number>
    >;
  }[];
};

const runsShown = 10;

/** `children`: the content below the list of runs. It is shown once the list has arrived, because the list would move it. */
export function DrawnRun(props: { definition: PipelineView; children: ComponentChildren }): JSX.Element {
  const { definition } = props;
  const { name } = definition;
  const mayRead = may('jobs:ro', 'jobs:rw');
  const runs = useResource<RunsAnswer>(
    mayRead ? `/jobs${queryText({ plugin: 'pipeline', command: name, limit: String(runsShown) })}` : null,
    { live: ['pipeline.*', 'job.*'] },
  );
  const chosen = place.value.query.get('run') ?? runs.data?.jobs[0]?.job_id ?? null;
  const [isOver, setOver] = useState(false);
  const timeline = useResource<TimelineAnswer>(
    mayRead && chosen !== null ? `/job/${chosen}/timeline?buckets=1` : null,
    isOver ? {} : { live: ['job.*', 'pipeline.*'], everyMs: 5_000 },
  );
  const status = timeline.data?.status;
  useEffect(() => setOver(status !== undefined && status !== 'queued' && status !== 'running'), [status]);
  const isCounting = chosen === null ? mayRead && !runs.data && !runs.error : !timeline.data && !timeline.error;
  const counts = timeline.data && countsOfSteps(timeline.data, name);
  return (
    <>
      <Section
        title="Steps"
        note={
          chosen === null ? (
            <span class="drawn-run">{withoutCounts(mayRead, runs.data)}</span>
          ) : (
            <span class="drawn-run">
              counts of the run <JobId id={chosen} /> {status && <Status status={status} />}
            </span>
          )
        }
        {...(chosen !== null && { actions: <a href={href('run', chosen)}>Where its time went</a> })}
      >
        {timeline.error && <Problem error={timeline.error} retry={timeline.reload} />}
        <PipelineDrawing definition={definition} {...(counts && { counts })} isCounting={isCounting} href={linkOf} />
      </Section>
      {mayRead && (
        <Section title="Newest runs">
          {runs.error && <Problem error={runs.error} retry={runs.reload} />}
          {!runs.data && !runs.error && <Loading rows={2} />}
          {runs.data && (
            <Table
              label="Newest runs"
              rows={runs.data.jobs}
              rowKey={({ job_id }) => job_id}
              onOpen={({ job_id }) => setQuery({ run: job_id })}
              empty={<Empty title="It has not run">Run it below, or send the event that starts it.</Empty>}
              columns={[
                { name: 'Run', render: ({ job_id }) => <JobId id={job_id} /> },
                {
                  name: 'Status',
                  title: <SymbolHead>Status</SymbolHead>,
                  render: row => <Status status={row.status} />,
                },
                { name: 'Took', align: 'right', hideBelow: 768, render: row => <Duration us={tookUs(row)} /> },
                { name: 'Accepted', align: 'right', render: ({ created_at }) => <Time at={created_at} /> },
                {
                  name: 'Drawn',
                  title: <span class="offscreen">Show</span>,
                  align: 'right',
                  render: ({ job_id }) => <ShowRun id={job_id} isShown={job_id === chosen} />,
                },
              ]}
            />
          )}
        </Section>
      )}
      {(!mayRead || runs.data || runs.error) && props.children}
    </>
  );
}

/** Why no run is drawn; empty as long as that is unknown. */
function withoutCounts(mayRead: boolean, runs: RunsAnswer | undefined): string {
  if (!mayRead) return 'without counts: this token may not read runs';
  return runs?.jobs.length === 0 ? 'without counts: it has not run' : '';
}

function ShowRun({ id, isShown }: { id: string; isShown: boolean }): JSX.Element {
  if (isShown) return <span class="muted">shown</span>;
  return (
    <button
      type="button"
      class="button button-plain"
      aria-label={`Show the counts of the run ${id}`}
      onClick={() => setQuery({ run: id })}
    >
      Show
    </button>
  );
}

function tookUs({ created_at, completed_at }: RunRow): number | null {
  return completed_at === null ? null : (Date.parse(completed_at) - Date.parse(created_at)) * 1_000;
}

/** The counts by the id of the step. Steps of pipelines that this one calls are left out. */
function countsOfSteps({ steps }: TimelineAnswer, pipeline: string): ReadonlyMap<string, DrawnCounts> {
  const found = new Map<string, DrawnCounts>();
  for (const { pipeline: of, step, by_status: by } of steps) {
    if (step === null || of !== pipeline) continue;
    const before = found.get(step);
    found.set(step, {
      queued: by.queued + (before?.queued ?? 0),
      running: by.running + (before?.running ?? 0),
      succeeded: by.succeeded + (before?.succeeded ?? 0),
      failed: by.failed + by.timed_out + by.dead + (before?.failed ?? 0),
      cancelled: by.cancelled + (before?.cancelled ?? 0),
    });
  }
  return found;
}

function linkOf(step: DrawnStep): string | undefined {
  if (step.kind === 'call') return href('pipeline', step.pipeline);
  return step.kind === 'uses' ? href('plugin', step.plugin, { command: step.command }) : undefined;
}
