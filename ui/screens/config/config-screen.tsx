// The configuration in force, without its secrets; whether it is sealed; and its reload, after a dry run.
import type { JSX } from 'preact';
import { ms } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { may, session } from '../../core/session.ts';
import { Code, Empty, Loading, Page, Problem, Section, Stat, Table } from '../../parts/index.ts';
import { ReloadButton } from './reload-button.tsx';

type ConfigPlugin = { readonly enabled: boolean; readonly config: object; readonly concurrency?: object };
type ConfigView = {
  readonly service: { readonly name: string; readonly log_level: string };
  readonly api: {
    readonly enabled: boolean;
    readonly listen: string;
    readonly tokens: readonly { readonly scopes: readonly string[] }[];
  };
  readonly plugins: Readonly<Record<string, ConfigPlugin>>;
  readonly pipelines: readonly { readonly name: string; readonly on: string | null }[];
  readonly schedules?: readonly ConfigSchedule[];
};
type ConfigSchedule = {
  readonly id: string;
  readonly plugin?: string;
  readonly command?: string;
  readonly pipeline?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly every_ms?: number;
  readonly at?: string;
  readonly enabled: boolean;
};
type Check = { readonly name: string; readonly passed: boolean; readonly detail: string };

export function ConfigScreen(): JSX.Element {
  const isAllowed = may('*');
  const { data, error, reload } = useResource<ConfigView>(isAllowed ? '/config/view' : null, {
    live: ['config.reloaded'],
  });
  const doctor = useResource<{ readonly checks: readonly Check[] }>(
    may('system:ro', 'system:rw') ? '/system/doctor' : null,
    {
      live: ['config.reloaded'],
    },
  );
  const seal = doctor.data?.checks.find(({ name }) => name === 'seal');
  const onDisk = doctor.data?.checks.find(({ name }) => name === 'config');
  return (
    <Page
      title="Configuration"
      subtitle="In force now. Values whose keys name a secret are redacted."
      {...(isAllowed && { actions: <ReloadButton onDone={reload} /> })}
    >
      {may('system:ro', 'system:rw') && (
        <div class="config-state">
          <StateLine title="Seal" check={seal} />
          <StateLine title="Files on disk" check={onDisk} />
        </div>
      )}
      {doctor.error && <Problem error={doctor.error} retry={doctor.reload} />}
      {!may('system:ro', 'system:rw') && (
        <p class="muted">The state of the seal needs the scope system:ro, which this token lacks.</p>
      )}
      {!isAllowed && (
        <Empty title="This token may not see the configuration">
          It needs the scope *. This token has {[...(session.value?.scopes ?? [])].join(', ') || 'no scopes'}. See{' '}
          <a href={href('plugins')}>Plugins</a>, <a href={href('pipelines')}>Pipelines</a> and{' '}
          <a href={href('schedules')}>Schedules</a>.
        </Empty>
      )}
      {error && <Problem error={error} retry={reload} />}
      {isAllowed && data === undefined && !error && <Loading rows={8} />}
      {data && <View view={data} />}
    </Page>
  );
}

function StateLine({ title, check }: { title: string; check: Check | undefined }): JSX.Element {
  return (
    <p>
      <strong>{title}: </strong>
      {check === undefined ? (
        <span class="muted">checking…</span>
      ) : (
        <span class={check.passed ? '' : 'bad'}>
          {check.passed ? '' : '✕ '}
          {check.detail}
        </span>
      )}
    </p>
  );
}

function View({ view }: { view: ConfigView }): JSX.Element {
  const { service, api, plugins, pipelines, schedules = [] } = view;
  return (
    <>
      <div class="stats">
        <Stat label="Service" value={service.name} />
        <Stat label="Log level" value={service.log_level} />
        <Stat label="API" value={api.enabled ? api.listen : 'off'} />
      </div>
      <Section title="Tokens" note="their scopes; tokens are never shown">
        {api.tokens.length === 0 ? (
          <p class="muted">None are configured: the first start has created one with all scopes.</p>
        ) : (
          <ul class="config-tokens">
            {api.tokens.map(({ scopes }, at) => (
              <li key={at}>
                {scopes.map(scope => (
                  <code key={scope}>{scope}</code>
                ))}
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section title="Plugins">
        {Object.entries(plugins).map(([name, plugin]) => (
          <PluginConfig key={name} name={name} plugin={plugin} />
        ))}
        {Object.keys(plugins).length === 0 && <p class="muted">None.</p>}
      </Section>
      <Section title="Pipelines">
        <Table
          label="Pipelines"
          rows={pipelines}
          rowKey={({ name }) => name}
          empty={<p class="muted">None.</p>}
          columns={[
            { name: 'Pipeline', render: ({ name }) => <a href={href('pipeline', name)}>{name}</a> },
            { name: 'Event', render: ({ on }) => (on === null ? '–' : <code>{on}</code>) },
          ]}
        />
      </Section>
      <Section title="Schedules">
        <Table
          label="Schedules"
          rows={schedules}
          rowKey={({ id }) => id}
          empty={<p class="muted">None.</p>}
          columns={[
            { name: 'Schedule', render: ({ id }) => <a href={href('schedules', id)}>{id}</a> },
            { name: 'When', render: timesOf },
            {
              name: 'Runs',
              hideBelow: 768,
              render: ({ pipeline, plugin, command }) => pipeline ?? `${plugin} ${command}`,
            },
            { name: 'Enabled', hideBelow: 768, render: ({ enabled }) => (enabled ? 'yes' : 'no') },
          ]}
        />
      </Section>
    </>
  );
}

function timesOf({ cron, timezone, every_ms: every, at }: ConfigSchedule): string {
  if (cron !== undefined) return `${cron} (${timezone})`;
  return every === undefined ? (at ?? '') : `every ${ms(every)}`;
}

function PluginConfig({ name, plugin }: { name: string; plugin: ConfigPlugin }): JSX.Element {
  const { enabled, config, concurrency } = plugin;
  const hasConfig = Object.keys(config).length > 0;
  const shown = { ...(hasConfig && { config }), ...(concurrency && { concurrency }) };
  return (
    <div class="config-plugin">
      <h3>
        {enabled ? <a href={href('plugin', name)}>{name}</a> : name}
        {!enabled && <span class="muted"> disabled</span>}
      </h3>
      {Object.keys(shown).length === 0 ? (
        <span class="muted">no settings</span>
      ) : (
        <Code text={JSON.stringify(shown, null, 2)} label={`Settings of ${name}`} />
      )}
    </div>
  );
}
