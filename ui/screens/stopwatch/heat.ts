// A heat map: time from left to right, durations from bottom to top in powers of two, and the number of samples as colour.
import type { HeatCell, MeasuredWindow } from './measured.ts';

export type PlacedCell = {
  readonly cell: HeatCell;
  /** The column from the left and the row from the top. */
  readonly column: number;
  readonly row: number;
  /** From 0 to 1: the square root of the ratio of the cell's samples to those of the fullest cell. The root keeps cells with few samples visible. */
  readonly heat: number;
};

export type HeatGrid = {
  readonly columns: number;
  readonly rows: number;
  /** The shortest and the longest duration of the rows, in µs: `from` of the lowest and `to` of the highest. */
  readonly fromUs: number;
  readonly toUs: number;
  readonly most: number;
  readonly cells: readonly PlacedCell[];
};

/** The heat map of a window; null if it has no samples. Each bucket of the window has a column, with or without samples. */
export function heatGrid(window: MeasuredWindow, cells: readonly HeatCell[]): HeatGrid | null {
  if (cells.length === 0) return null;
  const bucketMs = (window.bucket_minutes ?? 1) * 60_000;
  const [start, end] = [Date.parse(window.from), Date.parse(window.to)];
  const rowOf = ({ from_us: from }: HeatCell) => (from === 0 ? 0 : Math.log2(from));
  const lowest = Math.min(...cells.map(rowOf));
  const highest = Math.max(...cells.map(rowOf));
  const most = Math.max(...cells.map(({ sample_count: n }) => n));
  return {
    columns: Math.max(1, Math.ceil((end - start) / bucketMs)),
    rows: highest - lowest + 1,
    fromUs: Math.min(...cells.map(({ from_us: from }) => from)),
    toUs: Math.max(...cells.map(({ to_us: to }) => to)),
    most,
    cells: cells.map(cell => ({
      cell,
      column: Math.floor((Date.parse(cell.at) - start) / bucketMs),
      row: highest - rowOf(cell),
      heat: Math.sqrt(cell.sample_count / most),
    })),
  };
}

/** The cell at a place of the drawing; null: the place has no samples. */
export function cellAt(grid: HeatGrid, x: number, y: number, width: number, height: number): PlacedCell | null {
  const column = Math.floor((x / width) * grid.columns);
  const row = Math.floor((y / height) * grid.rows);
  return grid.cells.find(cell => cell.column === column && cell.row === row) ?? null;
}

export type HeatDirection = 'left' | 'right' | 'up' | 'down';

/** The nearest cell with samples in a direction, preferably in the same row or column; `from` itself if there is none. */
export function cellBeside(grid: HeatGrid, from: PlacedCell, direction: HeatDirection): PlacedCell {
  const isAcross = direction === 'left' || direction === 'right';
  const sign = direction === 'left' || direction === 'up' ? -1 : 1;
  const along = (cell: PlacedCell) => sign * (isAcross ? cell.column - from.column : cell.row - from.row);
  const aside = (cell: PlacedCell) => Math.abs(isAcross ? cell.row - from.row : cell.column - from.column);
  const ahead = grid.cells.filter(cell => along(cell) > 0);
  const far = (cell: PlacedCell) => along(cell) + aside(cell) * 3;
  return ahead.reduce<PlacedCell | null>((best, cell) => (best && far(best) <= far(cell) ? best : cell), null) ?? from;
}
