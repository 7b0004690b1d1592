// One plugin: its state, its commands with their durations and counts, and the form that runs one.
import type { JSX } from 'preact';
import { count } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href, place } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Duration, Loading, Page, Problem, Section, Stat, Tabs } from '../../parts/index.ts';
import { PauseButton, PauseNote, pauseOf } from '../../parts/pause.tsx';
import type { PayloadSchema } from '../../parts/run/payload-fields.ts';
import { RunPanel } from '../../parts/run/run-panel.tsx';
import {
  type CommandCount,
  countsOf,
  failedOf,
  jobScopes,
  type LaneView,
  usePluginData,
} from '../plugins/plugin-data.ts';
import { HoldNote, PluginState } from '../plugins/plugin-state.tsx';
import { CommandTimes } from './command-times.tsx';
import { SchemaNote } from './schema-note.tsx';

type PluginCommand = {
  readonly name: string;
  readonly type: 'read' | 'write';
  readonly description: string;
  readonly input_schema?: PayloadSchema;
};
type PluginAnswer = {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly protocol: number;
  readonly commands: readonly PluginCommand[];
};

export function PluginScreen(): JSX.Element {
  const name = place.value.id ?? '';
  const path = `/plugin/${encodeURIComponent(name)}`;
  const { data, error, reload } = useResource<PluginAnswer>(path, { live: ['config.reloaded'] });
  const { overview, counts, pauses } = usePluginData();
  const lane = overview.data?.lanes.find(one => one.plugin === name);
  const pause = pauseOf(pauses.data?.pauses, { kind: 'plugin', name });
  if (data === undefined && !error)
    return (
      <Page title={name} subtitle={<a href={href('plugins')}>Plugins</a>}>
        <Loading rows={12} />
      </Page>
    );
  return (
    <Page
      title={name}
      subtitle={
        <>
          <a href={href('plugins')}>Plugins</a>
          {data && ` · ${data.description} · version ${data.version}, protocol ${data.protocol}`}
        </>
      }
      actions={
        <>
          {may(...jobScopes) && (
            <a class="button" href={href('jobs', null, { plugin: name })}>
              Jobs
            </a>
          )}
          {may('jobs:status:ro', 'jobs:rw') && (
            <a class="button" href={href('stopwatch', name)}>
              Durations
            </a>
          )}
          <PauseButton target={{ kind: 'plugin', name }} pause={pause} onDone={pauses.reload} />
        </>
      }
    >
      {error && <Problem error={error} retry={reload} />}
      {pause && (
        <div class="hold-note">
          <PauseNote pause={pause} capturedAt={pauses.data?.captured_at} />
        </div>
      )}
      {!pause && <HoldNote lane={lane} />}
      {may(...jobScopes) && <PluginStats name={name} lane={lane} counts={counts.data?.counts} />}
      {data && <Commands plugin={data} onPaused={pauses.reload} pauses={pauses.data?.pauses} />}
    </Page>
  );
}

function PluginStats(props: {
  name: string;
  lane: LaneView | undefined;
  counts: readonly CommandCount[] | undefined;
}): JSX.Element {
  const { name, lane } = props;
  const sums = countsOf(props.counts, name);
  return (
    <div class="stats">
      <Stat label="State" value={<PluginState lane={lane} />} />
      <Stat
        label="Running"
        value={lane ? count(lane.active_count) : '–'}
        note={lane && (lane.limit === null ? 'limited by workers' : `at most ${count(lane.limit)}`)}
      />
      <Stat
        label="Waiting"
        value={lane ? count(lane.queued_count) : '–'}
        note={lane && lane.held_count > 0 && `${count(lane.held_count)} held`}
      />
      <Stat label="p95 run" value={<Duration us={lane?.run_p95_us} />} note="last 5 minutes" />
      <Stat label="p95 queue" value={<Duration us={lane?.queue_p95_us} />} note="last 5 minutes" />
      <Stat
        label="Succeeded"
        value={count(sums.succeeded)}
        href={href('jobs', null, { plugin: name, status: 'succeeded' })}
      />
      <Stat
        label="Failed"
        value={count(failedOf(sums))}
        {...(failedOf(sums) > 0 && { kind: 'bad' as const, href: href('failures', null, { plugin: name }) })}
      />
    </div>
  );
}

function Commands(props: {
  plugin: PluginAnswer;
  pauses: Parameters<typeof pauseOf>[0];
  onPaused: () => void;
}): JSX.Element {
  const { name: plugin, commands } = props.plugin;
  const wanted = place.value.query.get('command');
  const command = commands.find(({ name }) => name === wanted) ?? commands[0];
  if (command === undefined) return <p class="muted">The plugin has no commands.</p>;
  const { name, type, description, input_schema: schema } = command;
  const target = { kind: 'plugin', name: plugin, command: name } as const;
  const pause = pauseOf(props.pauses, target);
  return (
    <>
      <Tabs
        label="Commands"
        current={name}
        items={commands.map(one => ({
          name: one.name,
          title: one.name,
          href: href('plugin', plugin, { command: one.name }),
        }))}
      />
      <Section
        title={`${plugin} ${name}`}
        note={`${description} · ${type === 'read' ? 'reads' : 'writes'}`}
        actions={<PauseButton target={target} pause={pause} onDone={props.onPaused} />}
      >
        {pause && <PauseNote pause={pause} />}
        <RunPanel
          key={name}
          path={`/plugin/${encodeURIComponent(plugin)}/${encodeURIComponent(name)}`}
          name={`${plugin} ${name}`}
          schema={schema}
          refused={refusedRun(type)}
        />
        <SchemaNote schema={schema} />
      </Section>
      {may('jobs:status:ro', 'jobs:rw') && <CommandTimes plugin={plugin} command={name} />}
    </>
  );
}

function refusedRun(type: PluginCommand['type']): string | null {
  if (type === 'read') return may('plugin:ro', 'plugin:rw') ? null : 'It needs the scope plugin:ro or plugin:rw.';
  return may('plugin:rw') ? null : 'A command that writes needs the scope plugin:rw.';
}
