// Percentiles over time: p50, p95 and p99 as lines with bands between them. The only file that uses uPlot.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { duration } from '../../core/format.ts';
import { colour, isDark } from '../../core/theme.ts';
import { useWidth } from '../run/width.ts';
import type { SeriesColumns } from './measured.ts';
import { minuteText, type TimeWindow } from './window.ts';

const heightPx = 260;
/** Durations are on a logarithmic scale, which has no 0. */
const leastMs = 0.001;

export type PercentilesChartProps = {
  readonly columns: SeriesColumns;
  /** The p95 of the other window of a comparison, bucket by bucket; null: it is not drawn. */
  readonly before: readonly (number | null)[] | null;
  readonly window: TimeWindow;
  readonly label: string;
  /** Called with the part of the window over which the user has dragged. */
  readonly onZoom: (window: TimeWindow) => void;
};

export function PercentilesChart({ columns, before, window, label, onZoom }: PercentilesChartProps): JSX.Element {
  const { element, width } = useWidth<HTMLDivElement>();
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  const dark = isDark.value;
  useEffect(() => {
    if (width === 0) return;
    const chart = new uPlot(optionsOf(window, width, before !== null, zoom), dataOf(columns, before), element.current!);
    chart.setLegend({ idx: null as unknown as number });
    return () => chart.destroy();
  }, [columns, before, window.fromMs, window.toMs, width, dark]);
  return <div class="percentiles" ref={element} role="img" aria-label={label} />;
}

function dataOf(columns: SeriesColumns, before: PercentilesChartProps['before']): uPlot.AlignedData {
  const shown = (values: readonly (number | null)[]) => values.map(ms => (ms === null ? null : Math.max(leastMs, ms)));
  const lines = [columns.p99, columns.p95, columns.p50, ...(before ? [before.slice(0, columns.at.length)] : [])];
  return [[...columns.at], ...lines.map(shown)];
}

type Zoom = { readonly current: (window: TimeWindow) => void };

function optionsOf({ fromMs, toMs }: TimeWindow, width: number, compares: boolean, zoom: Zoom): uPlot.Options {
  const [text, line, accent, muted] = ['--text-muted', '--line', '--accent', '--line-strong'].map(colour) as [
    string,
    string,
    string,
    string,
  ];
  // Without a pointer, the legend has the latest values.
  const value = (chart: uPlot, _: number | null, series: number, at: number | null) => {
    const ms = chart.data[series]?.[at ?? latestOf(chart, series)];
    return ms === null || ms === undefined ? '–' : duration(ms * 1000);
  };
  const time = (chart: uPlot, _: number | null, __: number, at: number | null) => {
    const second = chart.data[0][at ?? latestOf(chart, 1)];
    return second === undefined ? '–' : minuteText(second * 1000, toMs - fromMs) + (at === null ? ' (latest)' : '');
  };
  const percentile = (name: string, dash: number[], stroke: string): uPlot.Series => ({
    label: name,
    stroke,
    width: 2,
    dash,
    value,
    points: { show: true, size: 5, fill: stroke, filter: lonePoints },
  });
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis = { stroke: text, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  return {
    width,
    height: heightPx,
    scales: { x: { time: true, range: [fromMs / 1000, toMs / 1000] }, y: { distr: 3 } },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map(second => minuteText(second * 1000, toMs - fromMs)) },
      { ...axis, size: 76, values: (_, ticks) => ticks.map(ms => (ms === null ? '' : duration(ms * 1000))) },
    ],
    legend: { markers: { dash: (_, series) => markers[series] ?? 'solid' } },
    series: [
      { label: 'Time', value: time },
      percentile('p99', [2, 3], colour('--status-dead')),
      percentile('p95', [7, 3], colour('--status-timed_out')),
      percentile('p50', [], accent),
      ...(compares ? [{ label: 'p95 before', stroke: muted, width: 1.5, dash: [7, 3], value }] : []),
    ],
    bands: [
      { series: [1, 2], fill: faded(accent, 0.08) },
      { series: [2, 3], fill: faded(accent, 0.16) },
    ],
    cursor: { drag: { x: true, y: false, setScale: false } },
    hooks: {
      setSelect: [
        chart => {
          const { left, width: selected } = chart.select;
          if (selected < 6) return;
          const at = (x: number) => Math.round(chart.posToVal(x, 'x') * 1000);
          zoom.current({ fromMs: at(left), toMs: at(left + selected) });
        },
      ],
    },
  };
}

/** The style of each series' mark in the legend, which is that of its line. */
const markers = ['', 'dotted', 'dashed', 'solid', 'dashed'];

/** The last bucket of a series that has samples; -1: none has. */
function latestOf(chart: uPlot, series: number): number {
  return chart.data[series]!.findLastIndex(value => value !== null && value !== undefined);
}

/** The points that no line shows, because the buckets on both sides have no samples. */
function lonePoints(chart: uPlot, series: number): number[] {
  const values = chart.data[series]!;
  const isThere = (at: number) => values[at] !== null && values[at] !== undefined;
  return Array.from(values.keys()).filter(at => isThere(at) && !isThere(at - 1) && !isThere(at + 1));
}

/** The colour, which is `rgb(r, g, b)`, with an opacity. */
function faded(rgb: string, opacity: number): string {
  return rgb.replace('rgb(', 'rgba(').replace(')', `, ${opacity})`);
}
