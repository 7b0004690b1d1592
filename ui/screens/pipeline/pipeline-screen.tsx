// One pipeline: drawn with the counts of one of its runs, its newest runs, and the form that runs it.
import type { JSX } from 'preact';
import { count, ms } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href, place } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Loading, Page, Problem, Section, Stat } from '../../parts/index.ts';
import { PauseButton, PauseNote, pauseOf } from '../../parts/pause.tsx';
import { RunPanel } from '../../parts/run/run-panel.tsx';
import { failuresOf, runsOf } from '../pipelines/pipelines-screen.tsx';
import { SchemaNote } from '../plugin/schema-note.tsx';
import { failedOf, jobScopes, noCounts, usePluginData } from '../plugins/plugin-data.ts';
import { DrawnRun } from './drawn-run.tsx';
import type { PipelineView } from './pipeline-view.ts';

export function PipelineScreen(): JSX.Element {
  const name = place.value.id ?? '';
  const path = `/pipeline/${encodeURIComponent(name)}`;
  const mayRead = may('plugin:ro', 'plugin:rw');
  const { data, error, reload } = useResource<PipelineView>(mayRead ? path : null, { live: ['config.reloaded'] });
  const { counts, pauses } = usePluginData();
  const target = { kind: 'pipeline', name } as const;
  const pause = pauseOf(pauses.data?.pauses, target);
  const own = counts.data?.counts.find(one => one.plugin === 'pipeline' && one.command === name) ?? noCounts;
  if (mayRead && data === undefined && !error)
    return (
      <Page title={name} subtitle={<a href={href('pipelines')}>Pipelines</a>}>
        <Loading rows={12} />
      </Page>
    );
  return (
    <Page
      title={name}
      subtitle={
        <>
          <a href={href('pipelines')}>Pipelines</a>
          {data?.description && ` · ${data.description}`}
        </>
      }
      actions={
        <>
          {may(...jobScopes) && (
            <a class="button" href={href('jobs', null, { pipeline: name })}>
              Jobs of its runs
            </a>
          )}
          <PauseButton target={target} pause={pause} onDone={pauses.reload} />
        </>
      }
    >
      {pause && (
        <div class="hold-note">
          <PauseNote pause={pause} />
        </div>
      )}
      {may(...jobScopes) && (
        <div class="stats">
          <Stat label="Running" value={count(own.running)} href={runsOf(name, 'running')} />
          <Stat label="Queued" value={count(own.queued)} href={runsOf(name, 'queued')} />
          <Stat label="Succeeded" value={count(own.succeeded)} href={runsOf(name, 'succeeded')} />
          <Stat
            label="Failed"
            value={count(failedOf(own))}
            {...(failedOf(own) > 0 && { kind: 'bad' as const, href: failuresOf(name) })}
          />
          <Stat label="Cancelled" value={count(own.cancelled)} />
        </div>
      )}
      {!mayRead && <p class="muted">The drawing and the form need the scope plugin:ro, which this token lacks.</p>}
      {error && <Problem error={error} retry={reload} />}
      {data && (
        <>
          <p class="pipeline-facts">{factsOf(data)}</p>
          <DrawnRun definition={data}>
            <Section title="Run it">
              <RunPanel
                path={path}
                name={name}
                schema={data.input_schema}
                refused={may('plugin:rw') ? null : 'Running a pipeline needs the scope plugin:rw.'}
              />
              <SchemaNote schema={data.input_schema} />
            </Section>
          </DrawnRun>
        </>
      )}
    </Page>
  );
}

/** What starts it, when, and how long it may take. */
function factsOf({ on, on_hook, execution_mode, timeout_ms, deadline_ms, if: condition }: PipelineView): string {
  const start = on ? `Started by the event ${on}` : on_hook ? `Started by the hook ${on_hook}` : 'Started by calls';
  const only = condition === undefined ? '' : `, if ${condition}`;
  const answers =
    execution_mode === 'synchronous'
      ? `A call waits for the result, at most ${ms(timeout_ms)}.`
      : 'A call is answered at once.';
  const ends = deadline_ms === undefined ? '' : ` A run may take ${ms(deadline_ms)}.`;
  return `${start}${only}. ${answers}${ends}`;
}
