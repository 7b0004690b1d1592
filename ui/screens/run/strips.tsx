// One row a step on a common time axis: a density strip, how long its jobs waited and ran, and its part of the critical path.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { count, duration, percent } from '../../core/format.ts';
import { useKeys } from '../../core/keys.ts';
import { isDark } from '../../core/theme.ts';
import { Button } from '../../parts/index.ts';
import { drawPath, type StripColours, stripColours } from './draw.ts';
import { formatSpan, moved, TimeScale, type TimeSpan, zoomed } from './scale.ts';
import { kindNames, type StepShare, sharesByKind } from './shares.ts';
import { StepTable } from './step-table.tsx';
import { idleSpans } from './strip.ts';
import { StripCanvas } from './strip-canvas.tsx';
import { Lane, StripLegend, Ticks, ZoomTools } from './strip-tools.tsx';
import {
  failuresIn,
  microsOf,
  type RunStep,
  type RunTimeline,
  stepBuckets,
  stepKey,
  stepTitle,
  unsettledIn,
} from './timeline.ts';
import { covers, type StripView } from './view.ts';
import { useWidth } from './width.ts';

const pathPx = 18;

export type StripsProps = {
  readonly timeline: RunTimeline;
  /** The timeline with finer buckets for the part of the run in view. Undefined: the whole run is in view, or the part has not arrived. */
  readonly part: RunTimeline | undefined;
  readonly shares: readonly StepShare[];
  readonly view: StripView;
  /** The key of the step whose jobs are listed below; null: those of all steps. */
  readonly picked: string | null;
  readonly onPick: (key: string | null) => void;
  readonly onView: (changes: { readonly zoom?: string | undefined; readonly idle?: string | undefined }) => void;
};

export function Strips(props: StripsProps): JSX.Element {
  const { timeline, part, view, shares, picked, onPick, onView } = props;
  const fine = part && covers(part, view.span) ? part : timeline;
  const { steps, bucket_us: bucketUs, duration_us: durationUs } = timeline;
  const idle = useMemo(() => idleSpans(steps, bucketUs, durationUs), [timeline]);
  const scale = useMemo(
    () => new TimeScale(view.span, view.collapses ? idle : []),
    [view.span.fromUs, view.span.toUs, view.collapses, idle],
  );
  const { element, width } = useWidth<HTMLDivElement>();
  const colours = useMemo(stripColours, [isDark.value]);
  const zoomTo = (span: TimeSpan) => onView({ zoom: formatSpan(span, durationUs) });
  const zoomBy = (factor: number) => zoomTo(zoomed(view.span, factor, 0.5, durationUs));
  const moveBy = (share: number) => zoomTo(moved(view.span, share, durationUs));
  const toggleIdle = () => onView({ idle: view.collapses ? undefined : 'collapsed' });
  useKeys({
    '+': { text: 'zoom into the run', run: () => zoomBy(0.5) },
    '-': { text: 'zoom out', run: () => zoomBy(2) },
    0: { text: 'the whole run', run: () => onView({ zoom: undefined }) },
  });
  const keys: { readonly [key: string]: () => void } = {
    ArrowLeft: () => moveBy(-0.25),
    ArrowRight: () => moveBy(0.25),
  };
  const idleUs = idle.reduce((sum, { fromUs, toUs }) => sum + toUs - fromUs, 0);
  return (
    <div class="strips">
      <div class="strips-tools">
        <ZoomTools
          timeline={timeline}
          view={view}
          zoomBy={zoomBy}
          moveBy={moveBy}
          onAll={() => onView({ zoom: undefined })}
        />
        {idle.length > 0 && (
          <Button kind="plain" pressed={view.collapses} onClick={toggleIdle}>
            Collapse {duration(idleUs)} of idle time
          </Button>
        )}
        <StripLegend />
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: the group is no set of form fields */}
      <div
        class="strips-rows"
        role="group"
        aria-label="Steps on the time axis. Plus and minus zoom, the arrow keys move, 0 shows all."
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys for the axis need the focus
        tabIndex={0}
        onKeyDown={event => {
          const action = keys[event.key];
          if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          event.stopPropagation();
          action();
        }}
      >
        <div class="strip-row strip-head">
          <span class="strip-name">Step</span>
          <div class="strip-lane" ref={element}>
            <Ticks scale={scale} width={width} />
          </div>
          <StripFigureHead />
        </div>
        <Lane scale={scale} width={width} onZoom={zoomTo}>
          <PathRow timeline={timeline} scale={scale} width={width} colours={colours} />
          {steps.map(step => (
            <StepRow
              key={stepKey(step)}
              step={step}
              timeline={timeline}
              fine={fine}
              scale={scale}
              width={width}
              colours={colours}
              share={shares.find(({ key }) => key === stepKey(step))}
              isPicked={picked === stepKey(step)}
              onPick={onPick}
            />
          ))}
        </Lane>
      </div>
      <StepTable timeline={timeline} shares={shares} />
    </div>
  );
}

function StripFigureHead() {
  return (
    <>
      <span class="strip-jobs">Jobs</span>
      <span class="strip-times" aria-hidden="true">
        <span />
        <span>p50</span>
        <span>p95</span>
        <span>max</span>
      </span>
      <span class="strip-share">Critical path</span>
    </>
  );
}

type PathRowProps = { timeline: RunTimeline; scale: TimeScale; width: number; colours: StripColours };

function PathRow({ timeline, scale, width, colours }: PathRowProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { critical_path: path, command } = timeline;
  useEffect(() => {
    if (width > 0) drawPath(canvas.current!, path, microsOf(timeline.from), scale, { width, height: pathPx }, colours);
  }, [timeline, scale, width, colours]);
  const shares = sharesByKind(timeline).map(({ kind, us }) => `${kindNames[kind].toLowerCase()} ${duration(us)}`);
  const order = [...new Set(path.map(entry => stepTitle(entry, command)))].slice(0, 20).join(', then ');
  return (
    <div class="strip-row strip-path">
      <span class="strip-name">
        <button type="button" class="link" onClick={showPath}>
          Critical path
        </button>
      </span>
      <div class="strip-lane">
        <canvas
          ref={canvas}
          role="img"
          aria-label={
            path.length === 0 ? 'No job has ended yet.' : `The critical path: ${order}. ${shares.join(', ')}.`
          }
        />
      </div>
    </div>
  );
}

function showPath(): void {
  const heading = document.getElementById('critical-path');
  heading?.scrollIntoView({ block: 'start' });
  heading?.focus({ preventScroll: true });
}

type StepRowProps = {
  step: RunStep;
  timeline: RunTimeline;
  /** The timeline whose buckets are drawn. */
  fine: RunTimeline;
  scale: TimeScale;
  width: number;
  colours: StripColours;
  share: StepShare | undefined;
  isPicked: boolean;
  onPick: (key: string | null) => void;
};

function StepRow({ step, timeline, fine, scale, width, colours, share, isPicked, onPick }: StepRowProps) {
  const title = stepTitle(step, timeline.command);
  const [failed, open] = [failuresIn(step), unsettledIn(step)];
  const buckets = useMemo(() => {
    const key = stepKey(step);
    const drawn = fine.steps.find(one => stepKey(one) === key);
    // A step that began since the part was read is only in the whole timeline.
    return drawn ? stepBuckets(fine, drawn) : stepBuckets(timeline, step);
  }, [fine, step]);
  return (
    <div class={isPicked ? 'strip-row strip-picked' : 'strip-row'}>
      <span class="strip-name">
        <button type="button" aria-pressed={isPicked} onClick={() => onPick(isPicked ? null : stepKey(step))}>
          {title}
        </button>
        {step.phase && <span class="strip-phase">{step.phase}</span>}
        {step.step !== null && step.plugin !== null && (
          <small>{step.plugin === 'pipeline' ? `call ${step.command}` : `${step.plugin}.${step.command}`}</small>
        )}
      </span>
      <StripCanvas step={step} title={title} buckets={buckets} scale={scale} width={width} colours={colours} />
      <span class="strip-jobs">
        <span class="number">{count(step.count)}</span>
        {failed > 0 && <span class="strip-failed">✕ {count(failed)}</span>}
        {open > 0 && <span class="strip-open">◐ {count(open)}</span>}
      </span>
      <span class="strip-times">
        <TimesLine name="queue" of={step.queue_us} />
        <TimesLine name="run" of={step.run_us} />
      </span>
      <span class="strip-share" title={share && `${duration(share.us)} on the critical path`}>
        <span class="share-track" aria-hidden="true">
          <span class="share-bar" style={{ width: `${(share?.share ?? 0) * 100}%` }} />
        </span>
        <span class="number">{share ? percent(share.share) : '–'}</span>
      </span>
    </div>
  );
}

function TimesLine({ name, of: { p50, p95, max } }: { name: string; of: RunStep['run_us'] }) {
  return (
    <>
      <span class="muted">{name}</span>
      <span class="number">{duration(p50)}</span>
      <span class="number">{duration(p95)}</span>
      <span class="number">{duration(max)}</span>
    </>
  );
}
