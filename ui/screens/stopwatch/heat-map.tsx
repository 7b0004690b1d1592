// The heat map of a step on a canvas. The pointer or the arrow keys choose a cell, whose figures and jobs are shown below the map.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, counted, duration } from '../../core/format.ts';
import { href } from '../../core/router.ts';
import { colour, isDark } from '../../core/theme.ts';
import { JobId } from '../../parts/index.ts';
import { contextOf } from '../run/draw.ts';
import { useWidth } from '../run/width.ts';
import { cellAt, cellBeside, type HeatDirection, type HeatGrid, heatGrid, type PlacedCell } from './heat.ts';
import { type MeasuredStopwatchStep, type MeasuredWindow, measuredName } from './measured.ts';
import { minuteText } from './window.ts';

const rowPx = 22;
const directions: { readonly [key: string]: HeatDirection } = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
};

export function HeatMap({ window, step }: { window: MeasuredWindow; step: MeasuredStopwatchStep }): JSX.Element {
  const { element, width } = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [chosen, choose] = useState<PlacedCell | null>(null);
  const grid = useMemo(() => heatGrid(window, step.heat ?? []), [window, step]);
  useEffect(() => choose(null), [step.step, window.from, window.to]);
  const dark = isDark.value;
  useEffect(() => {
    if (grid && width > 0) drawHeat(canvas.current!, grid, width, chosen);
  }, [grid, width, chosen, dark]);
  if (!grid) return <p class="muted">There are no samples in this window.</p>;
  const height = grid.rows * rowPx;
  return (
    <div class="heat">
      <div class="heat-grid">
        <HeatRows grid={grid} />
        {/* biome-ignore lint/a11y/useSemanticElements: the group is no set of form fields */}
        <div
          class="heat-field"
          ref={element}
          role="group"
          aria-label="Heat map. The arrow keys choose a cell; its jobs are named below."
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys choose cells
          tabIndex={0}
          onKeyDown={event => {
            const direction = directions[event.key];
            if (!direction || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            choose(chosen ? cellBeside(grid, chosen, direction) : grid.cells.at(-1)!);
          }}
          onClick={event => {
            const box = canvas.current!.getBoundingClientRect();
            choose(cellAt(grid, event.clientX - box.left, event.clientY - box.top, width, height));
          }}
        >
          <canvas ref={canvas} role="img" aria-label={summaryOf(grid, step)} />
        </div>
        <HeatTimes window={window} />
      </div>
      <div class="heat-told" aria-live="polite">
        {chosen ? (
          <ChosenCell chosen={chosen} window={window} step={step} />
        ) : (
          <span class="muted">
            Choose a cell to see its jobs. The fullest has {counted(grid.most, 'sample')}; the stronger the colour, the
            more.
          </span>
        )}
      </div>
      <HeatTable grid={grid} windowMs={lengthOf(window)} />
    </div>
  );
}

function summaryOf(grid: HeatGrid, { sample_count: n, p50_us, p99_us }: MeasuredStopwatchStep): string {
  return (
    `${n} samples between ${duration(grid.fromUs)} and ${duration(grid.toUs)}, ` +
    `half of them up to ${duration(p50_us)}, one in a hundred over ${duration(p99_us)}. The table below has the cells.`
  );
}

function drawHeat(canvas: HTMLCanvasElement, grid: HeatGrid, width: number, chosen: PlacedCell | null): void {
  const height = grid.rows * rowPx;
  const context = contextOf(canvas, { width, height });
  if (!context) return;
  const [hot, line, mark] = [colour('--accent'), colour('--line'), colour('--text')];
  const columnPx = width / grid.columns;
  context.fillStyle = line;
  for (let row = 1; row <= grid.rows; row++) context.fillRect(0, row * rowPx - 1, width, 1);
  const gap = columnPx > 4 ? 1 : 0;
  context.fillStyle = hot;
  for (const { column, row, heat } of grid.cells) {
    context.globalAlpha = 0.15 + 0.85 * heat;
    context.fillRect(column * columnPx, row * rowPx, Math.max(1, columnPx - gap), rowPx - 1);
  }
  context.globalAlpha = 1;
  if (!chosen) return;
  context.strokeStyle = mark;
  context.lineWidth = 2;
  context.strokeRect(chosen.column * columnPx, chosen.row * rowPx, Math.max(3, columnPx - gap), rowPx - 1);
}

/** The longest duration of each row, beside the rows. */
function HeatRows({ grid }: { grid: HeatGrid }) {
  return (
    <div class="heat-rows" aria-hidden="true">
      {Array.from({ length: grid.rows }, (_, row) => (
        <span key={row} style={{ height: `${rowPx}px` }}>
          {duration(grid.toUs / 2 ** row)}
        </span>
      ))}
    </div>
  );
}

/** Times at the quarters of the window. */
function HeatTimes({ window }: { window: MeasuredWindow }) {
  const [from, length] = [Date.parse(window.from), lengthOf(window)];
  return (
    <div class="heat-times" aria-hidden="true">
      {[0, 0.25, 0.5, 0.75, 1].map(share => (
        <span key={share}>{minuteText(from + share * length, length)}</span>
      ))}
    </div>
  );
}

/** The length of the window, in ms. */
function lengthOf({ from, to }: MeasuredWindow): number {
  return Date.parse(to) - Date.parse(from);
}

type ChosenCellProps = { chosen: PlacedCell; window: MeasuredWindow; step: MeasuredStopwatchStep };

function ChosenCell({ chosen: { cell }, window, step }: ChosenCellProps) {
  const from = Date.parse(cell.at);
  const to = from + (window.bucket_minutes ?? 1) * 60_000;
  const timeText = (ms: number) => minuteText(ms, lengthOf(window));
  return (
    <>
      <p>
        <strong>{counted(cell.sample_count, 'sample')}</strong> from {duration(cell.from_us)} to {duration(cell.to_us)},
        ended between {timeText(from)} and {timeText(to)}.{' '}
        <a href={jobsHref(window.plugin, step.step, from, to)}>Jobs accepted in this time</a>
      </p>
      {cell.exemplars && cell.exemplars.length > 0 && (
        <ul class="exemplars" aria-label="The longest of them">
          {cell.exemplars.map(({ job_id, us }) => (
            <li key={job_id}>
              <JobId id={job_id} /> <span class="number">{duration(us)}</span>
            </li>
          ))}
        </ul>
      )}
      {window.exemplars_unavailable && <p class="muted">This token may not list jobs.</p>}
    </>
  );
}

function jobsHref(plugin: string, name: string, fromMs: number, toMs: number): string {
  const what = measuredName(name);
  const filter = what.kind === 'command' ? { plugin, command: what.command } : { plugin, pipeline: what.pipeline };
  return href('jobs', null, { ...filter, from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() });
}

const tableRowsMax = 200;

/** The cells as a table, the latest first. */
function HeatTable({ grid, windowMs }: { grid: HeatGrid; windowMs: number }) {
  const latest = grid.cells.slice(-tableRowsMax).reverse();
  return (
    <details class="step-table">
      <summary>The cells as a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reachable by keyboard */}
      <section class="scrolls heat-table" tabIndex={0} aria-label="Cells of the heat map">
        <table>
          <thead>
            <tr>
              {['Time', 'From', 'To', 'Samples', 'Longest'].map(name => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {latest.map(({ cell }) => (
              <tr key={`${cell.at} ${cell.from_us}`}>
                <th scope="row">{minuteText(Date.parse(cell.at), windowMs)}</th>
                <td>{duration(cell.from_us)}</td>
                <td>{duration(cell.to_us)}</td>
                <td>{count(cell.sample_count)}</td>
                <td>{cell.exemplars?.[0] ? <JobId id={cell.exemplars[0].job_id} /> : '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
