// Two runs side by side: how long each took, and the difference step by step.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { count, duration } from '../../core/format.ts';
import { type Resource, useResource } from '../../core/resource.ts';
import { place, setQuery } from '../../core/router.ts';
import { isDark } from '../../core/theme.ts';
import { Button, Empty, JobId, Loading, Page, Problem, Section, Status, Time } from '../../parts/index.ts';
import { stripColours } from '../run/draw.ts';
import { TimeScale } from '../run/scale.ts';
import { StripCanvas } from '../run/strip-canvas.tsx';
import { Ticks } from '../run/strip-tools.tsx';
import { failuresIn, type RunStep, type RunTimeline, stepBuckets } from '../run/timeline.ts';
import { useWidth } from '../run/width.ts';
import { Change } from './change.tsx';
import { type ComparedRunStep, comparedSteps, mostChanged, samplesOf } from './compared-runs.ts';
import { ratioText } from './difference.ts';
import { RunPicker, runBefore, useLatestRuns } from './run-picker.tsx';

const buckets = 400;
/** How often the timeline of an open run is fetched. */
const openEveryMs = 5_000;

export function CompareScreen(): JSX.Element {
  const { query } = place.value;
  const [a, b] = [query.get('a'), query.get('b')];
  const before = useTimeline(a);
  const after = useTimeline(b);
  const known = after.data ?? before.data;
  const runs = useLatestRuns(known && known.plugin === 'pipeline' ? known.command : null);
  // If only run B is chosen, run A is the run before it.
  const proposed = a === null && b !== null ? runBefore(runs, b) : undefined;
  useEffect(() => {
    if (proposed !== undefined) setQuery({ a: proposed });
  }, [proposed]);
  return (
    <Page
      title="Compare runs"
      subtitle={known && `of ${namesOf(before.data, after.data)}`}
      actions={a && b && <Button onClick={() => setQuery({ a: b, b: a })}>Swap</Button>}
    >
      <div class="compare-pickers">
        <RunPicker label="Run A" value={a} runs={runs} onPick={id => setQuery({ a: id })} />
        <RunPicker label="Run B" value={b} runs={runs} onPick={id => setQuery({ b: id })} />
      </div>
      {before.error && !before.data && <Problem error={before.error} retry={before.reload} />}
      {after.error && !after.data && <Problem error={after.error} retry={after.reload} />}
      {before.data && after.data ? (
        <Compared before={before.data} after={after.data} />
      ) : a && b ? (
        !before.error && !after.error && <Loading rows={8} />
      ) : (
        <Empty title="Choose two runs">Of the same pipeline, for example before and after a change.</Empty>
      )}
    </Page>
  );
}

/** The timeline of a run, fetched again while the run is open. */
function useTimeline(run: string | null): Resource<RunTimeline> {
  const [isOpen, setOpen] = useState(false);
  const path = run && `/job/${run}/timeline?buckets=${buckets}`;
  const timeline = useResource<RunTimeline>(path, isOpen ? { everyMs: openEveryMs } : {});
  const status = timeline.data?.status;
  useEffect(() => setOpen(status === 'running' || status === 'queued'), [status]);
  return timeline;
}

/** The pipelines of the runs: mostly one. */
function namesOf(...runs: readonly (RunTimeline | undefined)[]): string {
  return [...new Set(runs.flatMap(run => (run ? [run.command] : [])))].join(' and ');
}

function Compared({ before, after }: { before: RunTimeline; after: RunTimeline }) {
  const steps = useMemo(() => comparedSteps(before, after), [before, after]);
  return (
    <>
      <Headline before={before} after={after} steps={steps} />
      <div class="compare-runs">
        <RunCard name="A" run={before} />
        <RunCard name="B" run={after} />
      </div>
      <Section title="Side by side" note="both from their start, on one time axis">
        <PairedStrips before={before} after={after} steps={steps} />
      </Section>
      <Section title="Differences" note="A → B; ▲ ▼ at least 25 % longer or shorter, with enough jobs on both sides">
        <Differences steps={steps} />
      </Section>
    </>
  );
}

function Headline({
  before,
  after,
  steps,
}: {
  before: RunTimeline;
  after: RunTimeline;
  steps: readonly ComparedRunStep[];
}) {
  const difference = after.duration_us - before.duration_us;
  const most = mostChanged(steps);
  const failed = (run: RunTimeline) => run.steps.reduce((sum, step) => sum + failuresIn(step), 0);
  const ratio = before.duration_us === 0 ? null : after.duration_us / before.duration_us;
  return (
    <p class="verdict">
      <strong>
        B took {duration(after.duration_us)}
        {difference === 0
          ? ', as long as A'
          : `, ${duration(Math.abs(difference))} ${difference > 0 ? 'longer' : 'less'} than A`}
      </strong>{' '}
      ({ratioText(ratio)}).{' '}
      {most && (
        <>
          <strong>{most.title}</strong> changed most: {duration(most.pathBefore)} → {duration(most.pathAfter)} on the
          critical path.{' '}
        </>
      )}
      {count(failed(before))} → {count(failed(after))} jobs failed.
    </p>
  );
}

function RunCard({ name, run }: { name: string; run: RunTimeline }) {
  return (
    <div class="compare-run">
      <strong>{name}</strong>
      <Status status={run.status} />
      <JobId id={run.job_id} />
      <span class="number">{duration(run.duration_us)}</span>
      <span>{count(run.count)} jobs</span>
      <Time at={run.from} />
    </div>
  );
}

type PairedStripsProps = { before: RunTimeline; after: RunTimeline; steps: readonly ComparedRunStep[] };

function PairedStrips({ before, after, steps }: PairedStripsProps) {
  const { element, width } = useWidth<HTMLDivElement>();
  const colours = useMemo(stripColours, [isDark.value]);
  const toUs = Math.max(1, before.duration_us, after.duration_us);
  const scale = useMemo(() => new TimeScale({ fromUs: 0, toUs }), [toUs]);
  const strip = (name: string, step: RunStep | null, run: RunTimeline, title: string) => (
    <div class="pair-strip">
      <span class="pair-name" aria-hidden="true">
        {name}
      </span>
      {step === null ? (
        <span class="muted">no job</span>
      ) : (
        <StripCanvas
          step={step}
          title={`${title} in ${name}`}
          buckets={stepBuckets(run, step)}
          scale={scale}
          width={width}
          colours={colours}
        />
      )}
    </div>
  );
  return (
    <div class="pairs">
      <div class="pair pair-head">
        <span />
        <div class="pair-strip">
          <span class="pair-name" />
          <div ref={element}>
            <Ticks scale={scale} width={width} />
          </div>
        </div>
      </div>
      {steps.map(({ key, title, before: one, after: two }) => (
        <div class="pair" key={key}>
          <strong class="pair-title">{title}</strong>
          <div class="pair-strips">
            {strip('A', one, before, title)}
            {strip('B', two, after, title)}
          </div>
        </div>
      ))}
    </div>
  );
}

const figures = [
  { name: 'Queue p50', of: 'queue_us', figure: 'p50' },
  { name: 'Queue p95', of: 'queue_us', figure: 'p95' },
  { name: 'Run p50', of: 'run_us', figure: 'p50' },
  { name: 'Run p95', of: 'run_us', figure: 'p95' },
  { name: 'Run max', of: 'run_us', figure: 'max' },
] as const;

/** On narrow pages each step is a block, whose figures have their names from `data-name`. */
function Differences({ steps }: { steps: readonly ComparedRunStep[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reachable by keyboard
    <section class="scrolls" tabIndex={0} aria-label="Differences by step">
      <table class="differences run-differences">
        <thead>
          <tr>
            {['Step', 'Jobs', 'Failed', 'Critical path', ...figures.map(({ name }) => name)].map(name => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map(step => {
            const { key, title, before, after, pathBefore, pathAfter } = step;
            const [one, two] = [samplesOf(before), samplesOf(after)];
            return (
              <tr key={key}>
                <th scope="row">{title}</th>
                <td data-name="Jobs" class="number">
                  {arrow(before?.count ?? 0, after?.count ?? 0)}
                </td>
                <td data-name="Failed" class="number">
                  {arrow(before ? failuresIn(before) : 0, after ? failuresIn(after) : 0)}
                </td>
                <td data-name="Critical path">
                  <Change
                    before={{ us: pathBefore, samples: before ? 1 : 0 }}
                    after={{ us: pathAfter, samples: after ? 1 : 0 }}
                    figure="max"
                  />
                </td>
                {figures.map(({ name, of, figure }) => (
                  <td key={name} data-name={name}>
                    <Change
                      before={{ us: before?.[of][figure] ?? 0, samples: one }}
                      after={{ us: after?.[of][figure] ?? 0, samples: two }}
                      figure={figure}
                    />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function arrow(before: number, after: number): string {
  return before === after ? count(after) : `${count(before)} → ${count(after)}`;
}
