// The stopwatch of a plugin: how long its jobs waited and ran, over time, and against another window.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { clock, count, counted, day, duration, now } from '../../core/format.ts';
import { useResource, useUnfrozen } from '../../core/resource.ts';
import { go, href, place, queryText, setQuery } from '../../core/router.ts';
import {
  Button,
  Empty,
  fieldTime,
  JobId,
  Loading,
  Page,
  Problem,
  Section,
  Select,
  type Stretch,
  stretchOf,
  TimeFields,
} from '../../parts/index.ts';
import { HeatMap } from './heat-map.tsx';
import { type MeasuredStopwatchStep, type MeasuredWindow, seriesColumns } from './measured.ts';
import { PercentilesChart } from './percentiles-chart.tsx';
import { StepList } from './step-list.tsx';
import { comparedWindow, comparisons, rangeName, ranges, type TimeWindow, windowOf } from './window.ts';

const buckets = '120';

export function StopwatchScreen(): JSX.Element {
  const { id, query } = place.value;
  const plugins = useResource<{ plugins: { name: string }[] }>('/plugins');
  const names = plugins.data?.plugins.map(({ name }) => name) ?? [];
  // If there is only one plugin, it is chosen.
  const plugin = id ?? (names.length === 1 ? names[0]! : null);
  const known = plugin !== null && !names.includes(plugin) ? [plugin, ...names] : names;
  return (
    <Page
      title={plugin ? `Stopwatch of ${plugin}` : 'Stopwatch'}
      subtitle="How long jobs waited and ran: each attempt, by command and by step of a pipeline."
    >
      {plugins.error && !plugins.data && <Problem error={plugins.error} retry={plugins.reload} />}
      <div class="stopwatch-tools">
        <Select
          label="Plugin"
          value={plugin ?? ''}
          options={[
            ...(plugin === null ? [{ value: '', text: 'Choose a plugin' }] : []),
            ...known.map(name => ({ value: name, text: name })),
          ]}
          onChange={name => name !== '' && go(href('stopwatch', name, { range: query.get('range') ?? undefined }))}
        />
        {plugin !== null && <WindowTools query={query} />}
      </div>
      {plugin === null ? (
        <Empty title="No plugin is chosen">Choose one to see how long its commands and steps take.</Empty>
      ) : (
        <Measured plugin={plugin} query={query} />
      )}
    </Page>
  );
}

function WindowTools({ query }: { query: URLSearchParams }) {
  const range = rangeName(query);
  const own = windowOf(query, now.peek());
  const against = query.get('against') ?? '';
  const compared = comparedWindow(own, query);
  const chooseWindow = (name: string) => {
    const { from, to } = name === 'own' ? stretchIn(own) : { from: undefined, to: undefined };
    setQuery({ from, to, ...(name !== 'own' && { range: name }) });
  };
  const chooseAgainst = (name: string) => {
    const { from, to } = name === 'own' ? stretchIn(compared ?? own) : { from: undefined, to: undefined };
    setQuery({ against: name, against_from: from, against_to: to });
  };
  return (
    <>
      <div class={`window-tools ${range === 'own' ? 'window-row' : ''}`}>
        <Select
          label="Window"
          value={range}
          options={[
            ...ranges.map(({ name, text }) => ({ value: name, text })),
            { value: 'own', text: range === 'own' ? windowText(own) : 'other times' },
          ]}
          onChange={chooseWindow}
        />
        {range === 'own' && (
          <>
            <OwnTimes window={own} onShow={stretch => setQuery(stretch)} />
            <Button kind="plain" onClick={() => setQuery({ from: undefined, to: undefined })}>
              Back to {ranges.find(({ name }) => name === (query.get('range') ?? '1h'))?.text}
            </Button>
          </>
        )}
      </div>
      <div class="window-tools">
        <Select
          label="Against"
          value={against}
          options={[{ value: '', text: 'nothing' }, ...comparisons.map(({ name, text }) => ({ value: name, text }))]}
          onChange={chooseAgainst}
        />
        {against === 'own' && (
          <OwnTimes
            of="Against"
            window={compared ?? own}
            onShow={({ from, to }) => setQuery({ against_from: from, against_to: to })}
          />
        )}
      </div>
    </>
  );
}

type OwnTimesProps = { window: TimeWindow; onShow: (stretch: Stretch) => void; of?: string };

/** Two times that the user enters. */
function OwnTimes({ window: { fromMs, toMs }, onShow, of }: OwnTimesProps) {
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  useEffect(() => {
    setFrom(fieldTime(new Date(fromMs)));
    setTo(fieldTime(new Date(toMs)));
  }, [fromMs, toMs]);
  const stretch = stretchOf(from, to);
  return (
    <form
      class="own-times"
      onSubmit={event => {
        event.preventDefault();
        if (stretch) onShow(stretch);
      }}
    >
      <TimeFields {...(of && { of })} from={from} to={to} onFrom={setFrom} onTo={setTo} />
      <Button
        type="submit"
        disabled={stretch === null}
        title={stretch === null ? 'The first time must lie before the second.' : ''}
      >
        Show
      </Button>
    </form>
  );
}

function stretchIn({ fromMs, toMs }: TimeWindow): Stretch {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

function windowText({ fromMs, toMs }: TimeWindow): string {
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  const end = day(from) === day(to) ? clock(to).slice(0, 5) : `${day(to)} ${clock(to).slice(0, 5)}`;
  return `${day(from)} ${clock(from).slice(0, 5)} to ${end}`;
}

function Measured({ plugin, query }: { plugin: string; query: URLSearchParams }) {
  const window = windowOf(query, useUnfrozen(now.value));
  const against = comparedWindow(window, query);
  const current = useResource<MeasuredWindow>(pathOf(plugin, window));
  const before = useResource<MeasuredWindow>(against && pathOf(plugin, against));
  const { data } = current;
  const wanted = query.get('step');
  const picked = data?.steps.find(({ step }) => step === wanted)?.step ?? (data ? slowest(data) : null);
  if (current.error && !data) return <Problem error={current.error} retry={current.reload} />;
  if (!data) return <Loading rows={8} />;
  if (data.steps.length === 0)
    return <Empty title="Nothing is measured">The plugin has no command, and no step of a pipeline uses it.</Empty>;
  return (
    <>
      <Section title="Steps" note={against && `${windowText(against)} → ${windowText(window)}`}>
        {before.error && <Problem error={before.error} />}
        <StepList
          window={data}
          before={against ? before.data : undefined}
          picked={picked}
          onPick={step => setQuery({ step })}
        />
      </Section>
      {picked && <StepOverTime key={picked} plugin={plugin} step={picked} window={window} against={against} />}
    </>
  );
}

function pathOf(plugin: string, window: TimeWindow, more: { readonly [name: string]: string } = {}): string {
  return `/stopwatch/${encodeURIComponent(plugin)}${queryText({ ...stretchIn(window), ...more })}`;
}

/** The step with the longest p95, of those that measure how long attempts ran. */
function slowest({ steps }: MeasuredWindow): string | null {
  const ran = steps.filter(({ step, sample_count: n }) => n > 0 && (step.endsWith('.run') || step.includes('/')));
  const [first] = [...(ran.length > 0 ? ran : steps)].sort((a, b) => b.p95_us - a.p95_us);
  return first?.step ?? null;
}

type StepOverTimeProps = { plugin: string; step: string; window: TimeWindow; against: TimeWindow | null };

function StepOverTime({ plugin, step, window, against }: StepOverTimeProps) {
  const detail = { step, series: 'true', buckets };
  const current = useResource<MeasuredWindow>(
    pathOf(plugin, window, { ...detail, heat: 'true', include_subs: 'true' }),
  );
  const before = useResource<MeasuredWindow>(against && pathOf(plugin, against, detail));
  const { data } = current;
  const measured = data?.steps[0];
  const old = against ? before.data?.steps[0] : undefined;
  const columns = useMemo(() => data && measured && seriesColumns(data, measured), [data]);
  const oldP95 = useMemo(() => (old && before.data ? seriesColumns(before.data, old).p95 : null), [old]);
  if (current.error && !data) return <Problem error={current.error} retry={current.reload} />;
  if (!data || !measured || !columns) return <Loading rows={8} />;
  // The axis of the chart is `window`, because the window of the answer may begin a minute earlier.
  const zoom = (zoomed: TimeWindow) => setQuery(stretchIn(zoomed));
  const { sample_count: samples, p50_us, p95_us, p99_us } = measured;
  if (samples === 0 && !old?.sample_count)
    return (
      <Section title={step}>
        <Empty title="No job of it ran in this window">
          Choose a longer window, or run it: <a href={href('plugin', plugin)}>{plugin}</a>.
        </Empty>
      </Section>
    );
  return (
    <>
      <Section
        title={step}
        note={samples === 0 ? 'no samples' : `${counted(samples, 'sample')}, ${duration(p50_us)} at the median`}
      >
        <PercentilesChart
          columns={columns}
          before={oldP95}
          window={window}
          onZoom={zoom}
          label={
            `Percentiles of ${step} over time: p50 ${duration(p50_us)}, p95 ${duration(p95_us)}, ` +
            `p99 ${duration(p99_us)} in the whole window. The heat map below has a table.`
          }
        />
      </Section>
      <Section title="How long, and when" note="durations in powers of two; logarithmic">
        <HeatMap window={data} step={measured} />
      </Section>
      <Exemplars step={measured} />
      <Spans window={data} step={measured} />
    </>
  );
}

function Exemplars({ step: { exemplars } }: { step: MeasuredStopwatchStep }) {
  if (!exemplars || exemplars.length === 0) return null;
  return (
    <Section title="Longest in this window">
      <ul class="exemplars">
        {exemplars.map(({ job_id, us }) => (
          <li key={job_id}>
            <JobId id={job_id} /> <span class="number">{duration(us)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The spans that the plugin measured inside the step. */
function Spans({
  window: { subs_unavailable: unavailable },
  step: { subs },
}: {
  window: MeasuredWindow;
  step: MeasuredStopwatchStep;
}) {
  if (unavailable)
    return (
      <Section title="Spans">
        <p class="muted">This token may not read results, so it may not read spans either.</p>
      </Section>
    );
  if (!subs || subs.length === 0) return null;
  const longest = Math.max(1, ...subs.map(({ p95_us }) => p95_us));
  return (
    <Section title="Spans" note="that the plugin measured inside the step; the bars are p95">
      <ul class="spans">
        {[...subs]
          .sort((a, b) => b.p95_us - a.p95_us)
          .map(({ name, sample_count: samples, p50_us, p95_us, p99_us }) => (
            <li key={name}>
              <span class="child-step">{name}</span>
              <span class="child-bar" aria-hidden="true">
                <span style={{ width: `${(p95_us / longest) * 100}%` }} />
              </span>
              <span class="number">
                {duration(p50_us)} · {duration(p95_us)} · {duration(p99_us)}
              </span>
              <span class="muted number">{count(samples)}</span>
            </li>
          ))}
      </ul>
    </Section>
  );
}
