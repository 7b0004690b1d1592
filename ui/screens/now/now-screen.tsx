// The screen Now: what needs attention, what the service does, its lanes, and what failed last.
import type { JSX } from 'preact';
import { count, counted, duration, ms, now, percent, rate, short } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import {
  Bar,
  Empty,
  JobId,
  Loading,
  Page,
  Problem,
  Section,
  Spark,
  Stat,
  Status,
  SymbolHead,
  Table,
  Time,
} from '../../parts/index.ts';
import { PauseButton } from '../../parts/pause.tsx';
import { Attention } from './attention.tsx';
import { Lanes } from './lanes.tsx';
import { allStatuses, type Overview, overviewEvents } from './overview.ts';

export function NowScreen(): JSX.Element {
  const overview = useResource<Overview>('/overview', { live: overviewEvents, everyMs: 5_000 });
  const { data, error, reload } = overview;
  const isPaused = data?.pauses.some(({ target }) => target.kind === 'system');
  return (
    <Page
      title="Now"
      actions={
        data && !isPaused && <PauseButton target={{ kind: 'system' }} text="Pause the service" onDone={reload} />
      }
    >
      {error && <Problem error={error} retry={reload} />}
      {data === undefined ? error === undefined && <Loading rows={8} /> : <Content overview={data} reload={reload} />}
    </Page>
  );
}

function Content({ overview, reload }: { overview: Overview; reload: () => void }): JSX.Element {
  const { counts, failures } = overview;
  const stored = Object.values(counts).reduce((sum, value) => sum + value, 0);
  if (stored === 0)
    return (
      <>
        <Attention overview={overview} reload={reload} />
        <Empty title="No job has been accepted yet">
          Run a plugin or a pipeline, for example with <code>headgate plugin run PLUGIN COMMAND</code>. It appears here
          at once.
        </Empty>
        {overview.lanes.length > 0 && <Lanes lanes={overview.lanes} pauses={overview.pauses} reload={reload} />}
      </>
    );
  return (
    <>
      <Attention overview={overview} reload={reload} />
      <Figures overview={overview} />
      <Statuses counts={counts} total={stored} />
      <Lanes lanes={overview.lanes} pauses={overview.pauses} reload={reload} />
      {failures.length > 0 && (
        <Section title="Last failures" actions={<a href={href('failures')}>All groups</a>}>
          <Table
            label="Last failures"
            rows={failures}
            rowKey={row => row.job_id}
            href={row => href('job', row.job_id)}
            empty={null}
            columns={[
              { name: 'Job', render: row => <JobId id={row.job_id} />, width: '160px' },
              {
                name: 'Status',
                title: <SymbolHead>Status</SymbolHead>,
                render: row => <Status status={row.status} />,
                width: '110px',
              },
              { name: 'Command', render: row => `${row.plugin} ${row.command}`, hideBelow: 768 },
              { name: 'Error', grow: true, render: row => <span title={row.last_error}>{row.last_error ?? '–'}</span> },
              {
                name: 'Ended',
                render: row => <Time at={row.completed_at} />,
                align: 'right',
                width: '90px',
                hideBelow: 768,
              },
            ]}
          />
        </Section>
      )}
    </>
  );
}

function Figures({ overview }: { overview: Overview }): JSX.Element {
  const { queue, recent, trend } = overview;
  const { oldest_queued_at: oldest } = queue;
  const waiting = [
    queue.delayed_count > 0 && `${count(queue.delayed_count)} for a retry`,
    queue.scheduled_count > 0 && `${count(queue.scheduled_count)} for their time`,
    queue.paused_count > 0 && `${count(queue.paused_count)} paused`,
  ].filter(Boolean);
  const wait = oldest === null ? 'nothing waits' : `oldest ${ms(Math.max(0, now.value - Date.parse(oldest)))}`;
  return (
    <section class="figures" aria-label="Figures">
      <Stat
        label="Queued"
        value={short(queue.queue_depth)}
        note={waiting.length > 0 ? waiting.join(', ') : wait}
        href={href('jobs', null, { status: 'queued' })}
      />
      <Stat
        label="Running jobs"
        value={short(queue.running_count)}
        note={`${percent(queue.utilization)} of ${counted(queue.max_workers, 'worker')}`}
        href={href('jobs', null, { status: 'running' })}
      />
      <div class="figure-wide">
        <Stat label="Throughput" value={rate(recent.per_second)} note={`the last ${duration(recent.seconds * 1e6)}`} />
        <Spark values={trend.settled} label="Jobs that ended, by minute of the last hour" />
      </div>
      <div class="figure-wide figure-bad">
        <Stat
          label="Failed"
          value={recent.error_rate === null ? '–' : percent(recent.error_rate)}
          note="of those that ended"
          {...((recent.error_rate ?? 0) > 0 && { kind: 'bad' as const })}
        />
        <Spark values={trend.failed} label="Jobs that failed, by minute of the last hour" />
      </div>
      <Stat
        label="Wait, p95"
        value={recent.queue_p95_us === null ? '–' : duration(recent.queue_p95_us)}
        note="in the queue"
      />
      <Stat
        label="Run, p95"
        value={recent.run_p95_us === null ? '–' : duration(recent.run_p95_us)}
        note="in a worker"
      />
    </section>
  );
}

function Statuses({ counts, total }: { counts: Overview['counts']; total: number }): JSX.Element {
  return (
    <Section
      title="Stored jobs and runs"
      note={`${count(total)}; a run counts as running until its last job has ended`}
    >
      <Bar
        label="Jobs by status"
        parts={allStatuses.map(name => ({ name, value: counts[name] ?? 0, color: `--status-${name}` }))}
      />
      <ul class="legend">
        {allStatuses.map(name => (
          <li key={name}>
            <a href={href('jobs', null, { status: name })}>
              <Status status={name} /> <span class="number">{count(counts[name] ?? 0)}</span>
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}
