// Draws the strips of a run on canvases. Colours come from the style, so that they follow light and dark.
import { colour } from '../../core/theme.ts';
import type { TimeScale } from './scale.ts';
import { type PathKind, stretchesOf } from './shares.ts';
import { barHeight, type StripColumn } from './strip.ts';
import { microsOf, type PathEntry } from './timeline.ts';

export type StripColours = {
  readonly running: string;
  readonly succeeded: string;
  readonly failed: string;
  readonly timedOut: string;
  readonly dead: string;
  readonly cancelled: string;
  readonly idle: string;
  readonly line: string;
  readonly path: string;
};

export function stripColours(): StripColours {
  return {
    running: colour('--status-running'),
    succeeded: colour('--status-succeeded'),
    failed: colour('--status-failed'),
    timedOut: colour('--status-timed_out'),
    dead: colour('--status-dead'),
    cancelled: colour('--status-cancelled'),
    idle: colour('--text-muted'),
    line: colour('--line'),
    path: colour('--accent'),
  };
}

export type DrawingSize = { readonly width: number; readonly height: number };

/** Gives the canvas the resolution of the screen, clears it, and returns its context, which draws in CSS pixels. */
export function contextOf(canvas: HTMLCanvasElement, { width, height }: DrawingSize): CanvasRenderingContext2D | null {
  const ratio = Math.max(1, devicePixelRatio);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** The height, in px, of the space at the bottom of a strip for the marks of failures (`drawMark`). */
const marksPx = 8;

/** Draws an area for the jobs that ran, bars for those that ended, and below them marks where jobs failed. */
export function drawStrip(
  canvas: HTMLCanvasElement,
  columns: readonly StripColumn[],
  scale: TimeScale,
  size: DrawingSize,
  colours: StripColours,
): void {
  const context = contextOf(canvas, size);
  if (!context) return;
  const floor = size.height - marksPx;
  const mostRunning = Math.max(1, ...columns.map(({ running }) => running));
  const mostEnded = Math.max(1, ...columns.map(({ ended }) => ended));
  drawCollapsed(context, scale, size, colours);
  for (const column of columns) {
    const { x, width } = column;
    context.fillStyle = colours.running;
    context.globalAlpha = 0.22;
    const area = barHeight(column.running, mostRunning, floor - 1);
    context.fillRect(x, floor - area, width, area);
    context.globalAlpha = 1;
    const gap = width > 4 ? 1 : 0;
    let top = floor;
    const ended = barHeight(column.ended, mostEnded, floor - 1);
    const bar = (n: number, fill: string) => {
      if (n === 0) return;
      const height = Math.max(1, (n / column.ended) * ended);
      context.fillStyle = fill;
      top -= height;
      context.fillRect(x, top, width - gap, height);
    };
    bar(column.failed, colours.failed);
    bar(column.timedOut, colours.timedOut);
    bar(column.dead, colours.dead);
    bar(column.cancelled, colours.cancelled);
    bar(column.ended - column.failed - column.timedOut - column.dead - column.cancelled, colours.succeeded);
    drawMark(context, column, size.height, colours);
  }
  context.fillStyle = colours.line;
  context.fillRect(0, floor, size.width, 1);
}

/** Draws a triangle below a column in which jobs failed, so that failures are seen beside any number of other jobs, and without colours. */
function drawMark(context: CanvasRenderingContext2D, column: StripColumn, bottom: number, colours: StripColours): void {
  const { x, width, failed, timedOut, dead } = column;
  if (failed + timedOut + dead === 0) return;
  context.fillStyle = failed > 0 ? colours.failed : dead > 0 ? colours.dead : colours.timedOut;
  const middle = x + width / 2;
  context.beginPath();
  context.moveTo(middle, bottom - marksPx + 2);
  context.lineTo(middle + 3, bottom);
  context.lineTo(middle - 3, bottom);
  context.fill();
}

/** Draws collapsed idle time as hatched columns. */
function drawCollapsed(
  context: CanvasRenderingContext2D,
  scale: TimeScale,
  { width, height }: DrawingSize,
  { idle }: StripColours,
): void {
  for (const { from, to } of scale.collapsed) {
    const [left, right] = [from * width, to * width];
    context.save();
    context.beginPath();
    context.rect(left, 0, right - left, height);
    context.clip();
    context.strokeStyle = idle;
    context.globalAlpha = 0.35;
    for (let x = left - height; x < right; x += 6) {
      context.beginPath();
      context.moveTo(x, height);
      context.lineTo(x + height, 0);
      context.stroke();
    }
    context.restore();
  }
}

/** The height of a stretch of the critical path, as a share of the row. Running is a full bar; the other kinds differ in height and pattern. */
const pathHeights: { readonly [K in PathKind]: number } = {
  running: 1,
  waiting: 0.55,
  handing_out: 0.55,
  retrying: 0.55,
  commit: 0.3,
};

/** Draws the critical path: over time, what the job on the path was doing. */
export function drawPath(
  canvas: HTMLCanvasElement,
  path: readonly PathEntry[],
  startUs: number,
  scale: TimeScale,
  size: DrawingSize,
  colours: StripColours,
): void {
  const context = contextOf(canvas, size);
  if (!context) return;
  drawCollapsed(context, scale, size, colours);
  let entryIndex = 0;
  for (const entry of path) {
    let atUs = microsOf(entry.from) - startUs;
    const isOdd = entryIndex++ % 2 === 1;
    for (const { kind, us } of stretchesOf(entry)) {
      const left = scale.at(atUs) * size.width;
      atUs += us;
      const right = scale.at(atUs) * size.width;
      if (right < 0 || left > size.width) continue;
      const height = Math.round(size.height * pathHeights[kind]);
      drawStretch(
        context,
        kind,
        { x: left, y: size.height - height, width: Math.max(1, right - left), height },
        isOdd,
        colours,
      );
    }
  }
}

type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };

function drawStretch(
  context: CanvasRenderingContext2D,
  kind: PathKind,
  { x, y, width, height }: Box,
  isOdd: boolean,
  { path, idle }: StripColours,
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  if (kind === 'running') {
    context.fillStyle = path;
    context.globalAlpha = isOdd ? 0.7 : 1;
    context.fillRect(x, y, width, height);
  } else {
    context.strokeStyle = idle;
    context.fillStyle = idle;
    context.globalAlpha = 0.18;
    context.fillRect(x, y, width, height);
    context.globalAlpha = 0.8;
    const slope = kind === 'handing_out' ? 0 : kind === 'retrying' ? -height : height;
    for (let at = x - height; at < x + width + height; at += 5) {
      context.beginPath();
      context.moveTo(at, y + height);
      context.lineTo(at + slope, y);
      context.stroke();
    }
  }
  context.restore();
}
