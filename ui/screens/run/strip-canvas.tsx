// The density strip of one step, with the counts under the pointer.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, duration } from '../../core/format.ts';
import { drawStrip, type StripColours } from './draw.ts';
import type { TimeScale } from './scale.ts';
import { countsBetween, stripColumns } from './strip.ts';
import { failuresIn, type RunStep, type StepBuckets } from './timeline.ts';

const stripPx = 44;

export type StripCanvasProps = {
  readonly step: RunStep;
  readonly title: string;
  readonly buckets: StepBuckets;
  readonly scale: TimeScale;
  readonly width: number;
  readonly colours: StripColours;
};

export function StripCanvas({ step, title, buckets, scale, width, colours }: StripCanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hover, setHover] = useState<number | null>(null);
  const columns = useMemo(() => stripColumns(buckets, scale, width), [buckets, scale, width]);
  useEffect(() => {
    if (width > 0) drawStrip(canvas.current!, columns, scale, { width, height: stripPx }, colours);
  }, [columns, colours]);
  return (
    <div
      class="strip-lane"
      onPointerMove={event => setHover(event.clientX - event.currentTarget.getBoundingClientRect().left)}
      onPointerLeave={() => setHover(null)}
    >
      <canvas ref={canvas} role="img" aria-label={summaryOf(step, title)} />
      {hover !== null && width > 0 && <StripTip buckets={buckets} scale={scale} width={width} x={hover} />}
    </div>
  );
}

type StripTipProps = { buckets: StepBuckets; scale: TimeScale; width: number; x: number };

function StripTip({ buckets, scale, width, x }: StripTipProps) {
  const span = { fromUs: scale.usAt(Math.max(0, x - 1.5) / width), toUs: scale.usAt(Math.min(width, x + 1.5) / width) };
  const at = countsBetween(buckets, span);
  const failed = at.failed + at.timedOut + at.dead;
  const parts = [
    `${count(at.running)} under way`,
    at.started > 0 && `${count(at.started)} started`,
    at.ended > 0 && `${count(at.ended)} ended`,
    failed > 0 && `${count(failed)} failed`,
    at.cancelled > 0 && `${count(at.cancelled)} cancelled`,
  ];
  return (
    <>
      <div class="strip-cursor" style={{ left: `${x}px` }} />
      <div
        class={x > width / 2 ? 'strip-tip strip-tip-left' : 'strip-tip'}
        style={{ left: `${x}px` }}
        aria-hidden="true"
      >
        <strong>{duration(Math.max(0, span.fromUs))}</strong> {parts.filter(Boolean).join(' · ')}
      </div>
    </>
  );
}

function summaryOf(step: RunStep, title: string): string {
  const failed = failuresIn(step);
  const { p50, p95, max } = step.run_us;
  return (
    `${title}: ${step.count} jobs, ${failed} failed. Waited ${duration(step.queue_us.p50)} at the median. ` +
    `Ran ${duration(p50)} at the median, ${duration(p95)} at the 95th percentile, ${duration(max)} at most.`
  );
}
