// All pipelines: what starts them, and how their runs have ended.
import type { JSX } from 'preact';
import { count, counted } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { type Column, Empty, Loading, Page, Problem, Table } from '../../parts/index.ts';
import { PauseButton, pauseOf } from '../../parts/pause.tsx';
import { CountsBar } from '../plugins/counts-bar.tsx';
import { failedOf, jobScopes, noCounts, type StatusCounts, usePluginData } from '../plugins/plugin-data.ts';

export type PipelineSkill = {
  readonly kind: 'pipeline';
  readonly pipeline: string;
  readonly description?: string;
  readonly trigger?: string;
  readonly execution_mode: 'synchronous' | 'asynchronous';
};
type Skill = PipelineSkill | { readonly kind: 'plugin' };
type PipelineRow = PipelineSkill & { readonly counts: StatusCounts; readonly isPaused: boolean };

export function PipelinesScreen(): JSX.Element {
  const { data, error, reload } = useResource<{ skills: readonly Skill[] }>('/skills', { live: ['config.reloaded'] });
  const { counts, pauses } = usePluginData();
  const pipelines = data?.skills.filter(skill => skill.kind === 'pipeline');
  const refresh = () => {
    pauses.reload();
    counts.reload();
  };
  const rows = pipelines?.map(skill => ({
    ...skill,
    counts: counts.data?.counts.find(one => one.plugin === 'pipeline' && one.command === skill.pipeline) ?? noCounts,
    isPaused: pauseOf(pauses.data?.pauses, { kind: 'pipeline', name: skill.pipeline }) !== undefined,
  }));
  const columns: Column<PipelineRow>[] = [
    {
      name: 'Pipeline',
      render: ({ pipeline, description, isPaused }) => (
        <>
          <a class="cell-name" href={href('pipeline', pipeline)} {...(description && { title: description })}>
            {pipeline}
          </a>
          {isPaused && <span class="state-warn"> ‖ paused</span>}
        </>
      ),
    },
    {
      name: 'Started by',
      hideBelow: 768,
      render: ({ trigger }) => (trigger ? <code>{trigger}</code> : <span class="muted">calls</span>),
    },
    {
      name: 'Answers',
      hideBelow: 1024,
      render: ({ execution_mode }) => (execution_mode === 'synchronous' ? 'with the result' : 'at once'),
    },
    ...(may(...jobScopes) ? countColumns : []),
    {
      name: 'Actions',
      title: <span class="offscreen">Actions</span>,
      align: 'right',
      hideBelow: 768,
      render: ({ pipeline: name }) => (
        <PauseButton
          target={{ kind: 'pipeline', name }}
          pause={pauseOf(pauses.data?.pauses, { kind: 'pipeline', name })}
          onDone={refresh}
        />
      ),
    },
  ];
  return (
    <Page title="Pipelines" subtitle={pipelines && counted(pipelines.length, 'pipeline')}>
      {error && <Problem error={error} retry={reload} />}
      {counts.error && <Problem error={counts.error} retry={counts.reload} />}
      {rows === undefined ? (
        !error && <Loading rows={5} />
      ) : (
        <Table
          label="Pipelines"
          rows={rows}
          rowKey={({ pipeline }) => pipeline}
          href={({ pipeline }) => href('pipeline', pipeline)}
          columns={columns}
          empty={
            <Empty title="No pipelines are configured">
              Add one below <code>pipelines:</code> of the configuration, and reload it: steps with <code>uses</code>,{' '}
              <code>foreach</code>, <code>split</code> and <code>join</code>.
            </Empty>
          }
        />
      )}
    </Page>
  );
}

const countColumns: readonly Column<PipelineRow>[] = [
  {
    name: 'Running',
    align: 'right',
    render: ({ pipeline, counts }) => <RunCount href={runsOf(pipeline, 'running')} n={counts.running} />,
  },
  {
    name: 'Queued',
    align: 'right',
    hideBelow: 768,
    render: ({ pipeline, counts }) => <RunCount href={runsOf(pipeline, 'queued')} n={counts.queued} />,
  },
  {
    name: 'Succeeded',
    align: 'right',
    hideBelow: 768,
    render: ({ pipeline, counts }) => <RunCount href={runsOf(pipeline, 'succeeded')} n={counts.succeeded} />,
  },
  {
    name: 'Failed',
    align: 'right',
    render: ({ pipeline, counts }) => <RunCount href={failuresOf(pipeline)} n={failedOf(counts)} bad />,
  },
  {
    name: 'Stored runs',
    width: '140px',
    hideBelow: 1024,
    render: ({ pipeline, counts }) => <CountsBar counts={counts} label={`Runs of ${pipeline}`} />,
  },
];

function RunCount({ href: to, n, bad }: { href: string; n: number; bad?: boolean }): JSX.Element {
  if (n === 0) return <span class="muted">0</span>;
  return (
    <a class={bad ? 'bad' : ''} href={to}>
      {count(n)}
    </a>
  );
}

/** Where the runs of a pipeline with this status are listed. */
export function runsOf(pipeline: string, status: string): string {
  return href('jobs', null, { plugin: 'pipeline', command: pipeline, status });
}

/** Where the runs of a pipeline that failed, timed out or are dead are listed, by their errors. */
export function failuresOf(pipeline: string): string {
  return href('failures', null, { plugin: 'pipeline', command: pipeline });
}
