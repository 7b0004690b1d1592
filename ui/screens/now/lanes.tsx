// The lanes: how many jobs of each plugin wait and run.
import type { JSX } from 'preact';
import { count, now } from '../../core/format.ts';
import { href } from '../../core/router.ts';
import { Duration, Section, Table, Time } from '../../parts/index.ts';
import { PauseButton, pauseOf, ResumeButton } from '../../parts/pause.tsx';
import type { PauseView } from '../../parts/pause-words.ts';
import type { Lane } from './overview.ts';

export function Lanes(props: {
  lanes: readonly Lane[];
  pauses: readonly PauseView[];
  reload: () => void;
}): JSX.Element {
  const pauseIn = (name: string) => pauseOf(props.pauses, { kind: 'plugin', name });
  const isPaused = (plugin: string) => pauseIn(plugin) !== undefined;
  return (
    <Section title="Lanes" note="one for each plugin; runs of pipelines are in none">
      <Table
        label="Lanes"
        rows={props.lanes}
        rowKey={row => row.plugin}
        keys={false}
        empty={null}
        columns={[
          { name: 'Plugin', render: row => <a href={href('jobs', null, { plugin: row.plugin })}>{row.plugin}</a> },
          { name: 'Queued', render: row => count(row.queued_count), align: 'right', width: '90px' },
          {
            name: 'Running',
            render: row =>
              row.limit === null ? count(row.active_count) : `${count(row.active_count)} of ${count(row.limit)}`,
            align: 'right',
            width: '100px',
          },
          {
            name: 'Oldest',
            render: row => <Duration us={waitedUs(row, now.value)} />,
            align: 'right',
            width: '100px',
            hideBelow: 768,
          },
          {
            name: 'Wait, p95',
            render: row => <Duration us={row.queue_p95_us} />,
            align: 'right',
            width: '100px',
            hideBelow: 768,
          },
          {
            name: 'Run, p95',
            render: row => <Duration us={row.run_p95_us} />,
            align: 'right',
            width: '100px',
            hideBelow: 768,
          },
          { name: 'State', render: row => <LaneState lane={row} pause={pauseIn(row.plugin)} />, hideBelow: 1024 },
          {
            name: 'Control',
            title: <span class="offscreen">Control</span>,
            render: ({ plugin }) => {
              const target = { kind: 'plugin', name: plugin } as const;
              return isPaused(plugin) ? (
                <ResumeButton target={target} onDone={props.reload} />
              ) : (
                <PauseButton target={target} onDone={props.reload} />
              );
            },
            align: 'right',
            width: '100px',
          },
        ]}
      />
    </Section>
  );
}

/** How long the oldest job of the lane has waited; null: none waits. */
function waitedUs({ oldest_queued_at: oldest }: Lane, nowMs: number): number | null {
  return oldest === null ? null : Math.max(0, nowMs - Date.parse(oldest)) * 1_000;
}

function LaneState({ lane, pause }: { lane: Lane; pause: PauseView | undefined }): JSX.Element {
  if (lane.breaker === 'open')
    return (
      <span title={lane.hold?.detail}>
        breaker open
        {pause?.until && (
          <>
            , tries again <Time at={pause.until} />
          </>
        )}
      </span>
    );
  if (lane.hold) return <span title={lane.hold.detail}>{pause ? 'paused' : lane.hold.detail}</span>;
  // While a breaker is half open, its pause is still listed, until the trial job has ended.
  if (pause && lane.breaker !== 'half_open') return <>paused</>;
  if (lane.isolated) return <>isolated</>;
  if (lane.breaker !== undefined && lane.breaker !== 'closed') return <>breaker half open</>;
  return <span class="muted">{lane.active_count > 0 ? 'working' : 'idle'}</span>;
}
