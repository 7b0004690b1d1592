// All plugins: whether they run, how much waits, how long jobs take, and how they ended.
import type { JSX } from 'preact';
import { count, counted } from '../../core/format.ts';
import { useKeys } from '../../core/keys.ts';
import { useResource } from '../../core/resource.ts';
import { href, place, setQuery } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { type Column, Duration, Empty, Field, Loading, Page, Problem, Table, Time } from '../../parts/index.ts';
import { PauseButton, pauseOf } from '../../parts/pause.tsx';
import { CountsBar } from './counts-bar.tsx';
import { countsOf, failedOf, jobScopes, type LaneView, type StatusCounts, usePluginData } from './plugin-data.ts';
import { PluginState } from './plugin-state.tsx';

type ListedPlugin = {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly commands: readonly string[];
};
type PluginRow = ListedPlugin & { readonly lane: LaneView | undefined; readonly counts: StatusCounts };

export function PluginsScreen(): JSX.Element {
  const { data, error, reload } = useResource<{ plugins: readonly ListedPlugin[] }>('/plugins', {
    live: ['plugin.loaded', 'config.reloaded'],
  });
  const { overview, counts, pauses } = usePluginData();
  const wanted = place.value.query.get('find') ?? '';
  useKeys({
    '/': { text: 'find a plugin', run: () => document.querySelector<HTMLInputElement>('.filter-row input')?.focus() },
  });
  const all = data?.plugins ?? [];
  const rows = all
    .filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted.trim().toLowerCase()))
    .map(plugin => ({
      ...plugin,
      lane: overview.data?.lanes.find(lane => lane.plugin === plugin.name),
      counts: countsOf(counts.data?.counts, plugin.name),
    }));
  const refresh = () => {
    pauses.reload();
    counts.reload();
  };
  const columns: Column<PluginRow>[] = [
    { name: 'Plugin', render: row => <NameCell row={row} /> },
    ...(may(...jobScopes) ? laneColumns : []),
    {
      name: 'Actions',
      title: <span class="offscreen">Actions</span>,
      align: 'right',
      hideBelow: 768,
      render: ({ name }) => (
        <PauseButton
          target={{ kind: 'plugin', name }}
          pause={pauseOf(pauses.data?.pauses, { kind: 'plugin', name })}
          onDone={refresh}
        />
      ),
    },
  ];
  return (
    <Page
      title="Plugins"
      subtitle={
        data &&
        `${counted(all.length, 'plugin')}, ${counted(
          all.reduce((sum, one) => sum + one.commands.length, 0),
          'command',
        )}`
      }
    >
      {all.length > 1 && (
        <div class="filter-row">
          <Field label="Find a plugin" type="search" value={wanted} onInput={find => setQuery({ find })} />
        </div>
      )}
      {error && <Problem error={error} retry={reload} />}
      {pauses.error && <Problem error={pauses.error} retry={pauses.reload} />}
      {!may(...jobScopes) && <p class="muted">States and counts need the scope jobs:ro, which this token lacks.</p>}
      {data === undefined ? (
        !error && <Loading rows={6} />
      ) : (
        <Table
          label="Plugins"
          rows={rows}
          rowKey={({ name }) => name}
          href={({ name }) => href('plugin', name)}
          columns={columns}
          empty={
            all.length > 0 ? (
              <Empty title="No plugin matches">Use fewer letters.</Empty>
            ) : (
              <Empty title="No plugins are configured">
                Create one with <code>headgate plugin new greet --runtime worker</code>, then reload the configuration.
              </Empty>
            )
          }
        />
      )}
    </Page>
  );
}

const laneColumns: readonly Column<PluginRow>[] = [
  { name: 'State', render: ({ lane }) => <PluginState lane={lane} /> },
  { name: 'Running', align: 'right', render: ({ lane }) => <Running lane={lane} /> },
  { name: 'Waiting', align: 'right', render: ({ lane }) => (lane ? count(lane.queued_count) : '–') },
  { name: 'Oldest', align: 'right', hideBelow: 1024, render: ({ lane }) => <Time at={lane?.oldest_queued_at} /> },
  { name: 'p95 run', align: 'right', hideBelow: 768, render: ({ lane }) => <Duration us={lane?.run_p95_us} /> },
  { name: 'p95 queue', align: 'right', hideBelow: 1024, render: ({ lane }) => <Duration us={lane?.queue_p95_us} /> },
  {
    name: 'Failed',
    align: 'right',
    hideBelow: 768,
    render: ({ name, counts }) =>
      failedOf(counts) === 0 ? (
        <span class="muted">0</span>
      ) : (
        <a class="bad" href={href('failures', null, { plugin: name })}>
          {count(failedOf(counts))}
        </a>
      ),
  },
  {
    name: 'Stored jobs',
    hideBelow: 1024,
    width: '140px',
    render: ({ name, counts }) => <CountsBar counts={counts} label={`Jobs of ${name}`} />,
  },
];

function NameCell({ row }: { row: PluginRow }): JSX.Element {
  return (
    <>
      <a class="cell-name" href={href('plugin', row.name)} title={row.description}>
        {row.name}
      </a>{' '}
      <span class="muted">{row.version}</span>
    </>
  );
}

function Running({ lane }: { lane: LaneView | undefined }): JSX.Element {
  if (lane === undefined) return <>–</>;
  return (
    <span title={lane.limit === null ? 'As many as there are workers' : `At most ${lane.limit} at once`}>
      {count(lane.active_count)}
      {lane.limit !== null && <span class="muted"> / {count(lane.limit)}</span>}
    </span>
  );
}
