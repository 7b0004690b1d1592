// The tools around the strips of a run: buttons and drags that zoom, the legend, and the labels of the time axis.
import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { duration } from '../../core/format.ts';
import { href } from '../../core/router.ts';
import { Button } from '../../parts/index.ts';
import type { TimeScale, TimeSpan } from './scale.ts';
import { microsOf, type RunTimeline } from './timeline.ts';
import type { StripView } from './view.ts';

export function ZoomTools(props: {
  timeline: RunTimeline;
  view: StripView;
  zoomBy: (factor: number) => void;
  moveBy: (share: number) => void;
  onAll: () => void;
}): JSX.Element {
  const { span, isZoomed } = props.view;
  return (
    <>
      <Button label="Zoom in" onClick={() => props.zoomBy(0.5)}>
        +
      </Button>
      <Button label="Zoom out" disabled={!isZoomed} onClick={() => props.zoomBy(2)}>
        −
      </Button>
      <Button label="Earlier" disabled={!isZoomed} onClick={() => props.moveBy(-0.5)}>
        ←
      </Button>
      <Button label="Later" disabled={!isZoomed} onClick={() => props.moveBy(0.5)}>
        →
      </Button>
      <Button disabled={!isZoomed} onClick={props.onAll}>
        Whole run
      </Button>
      <span class="strips-span" aria-live="polite">
        {isZoomed
          ? `${span.fromUs === 0 ? '0' : duration(span.fromUs)} to ${duration(span.toUs)} of ${duration(props.timeline.duration_us)}`
          : 'Drag across the strips to zoom.'}
      </span>
      {isZoomed && <a href={jobsHref(props.timeline, span)}>Jobs accepted in this time</a>}
    </>
  );
}

/** The jobs of the run that were accepted in a part of its time. */
function jobsHref({ job_id: run, from }: RunTimeline, { fromUs, toUs }: TimeSpan): string {
  const at = (us: number) => new Date((microsOf(from) + us) / 1000).toISOString();
  return href('jobs', null, { run, from: at(fromUs), to: at(toUs) });
}

export function StripLegend(): JSX.Element {
  return (
    <ul class="strip-legend" aria-label="What the strips show">
      <li>
        <span class="legend-running" aria-hidden="true" /> under way
      </li>
      <li>
        <span class="legend-ended" aria-hidden="true" /> ended
      </li>
      <li>
        <span class="legend-failed" aria-hidden="true">
          ▲
        </span>{' '}
        failed
      </li>
    </ul>
  );
}

/** The narrowest drag that zooms, in pixels. */
const dragPx = 6;

/** The rows of the strips. A drag across a strip zooms. */
export function Lane(props: {
  scale: TimeScale;
  width: number;
  onZoom: (span: TimeSpan) => void;
  children: ComponentChildren;
}): JSX.Element {
  const { scale, width, onZoom, children } = props;
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number; readonly left: number } | null>(null);
  const rows = useRef<HTMLDivElement>(null);
  const placeIn = (event: PointerEvent, lane: DOMRect) => Math.min(Math.max(event.clientX - lane.left, 0), lane.width);
  return (
    <div
      class="strip-lanes"
      ref={rows}
      onPointerDown={event => {
        const lane = (event.target as Element).closest('.strip-lane');
        if (!lane || event.button !== 0) return;
        const box = lane.getBoundingClientRect();
        const at = placeIn(event, box);
        setDrag({ from: at, to: at, left: box.left - rows.current!.getBoundingClientRect().left });
        rows.current!.setPointerCapture(event.pointerId);
      }}
      onPointerMove={event => {
        if (!drag) return;
        const left = rows.current!.getBoundingClientRect().left + drag.left;
        setDrag({ ...drag, to: Math.min(Math.max(event.clientX - left, 0), width) });
      }}
      onPointerCancel={() => setDrag(null)}
      onPointerUp={() => {
        if (!drag) return;
        setDrag(null);
        const [from, to] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
        if (to - from >= dragPx)
          onZoom({ fromUs: Math.round(scale.usAt(from / width)), toUs: Math.round(scale.usAt(to / width)) });
      }}
    >
      {children}
      {drag && Math.abs(drag.to - drag.from) >= dragPx && (
        <div
          class="strip-brush"
          style={{ left: `${drag.left + Math.min(drag.from, drag.to)}px`, width: `${Math.abs(drag.to - drag.from)}px` }}
        />
      )}
    </div>
  );
}

/** The room for each label of the axis, in pixels. */
const tickPx = 90;

export function Ticks({ scale, width }: { scale: TimeScale; width: number }): JSX.Element {
  const ticks = scale.ticks(Math.max(2, Math.floor(width / tickPx)));
  return (
    <div class="strip-ticks" aria-hidden="true">
      {ticks.map(us => (
        <span
          key={us}
          class={scale.at(us) > 0.96 ? 'tick tick-last' : 'tick'}
          style={{ left: `${scale.at(us) * 100}%` }}
        >
          {us === 0 ? '0' : duration(us)}
        </span>
      ))}
    </div>
  );
}
