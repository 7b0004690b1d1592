// Rows of equal height. Of a long list, only the rows near the view are in the document. `j` and `k` choose a row, and Enter opens it.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../core/keys.ts';

/** The maximum number of rows in the document. */
const shownMax = 300;
const aboveRows = 100;
/** The number of rows in the first frame, more than a page shows. The others follow in the next frame, because rows are slow to draw. */
const firstRows = 40;
/** The space that `j` and `k` keep free above and below the row, in px. */
const marginPx = { above: 120, below: 40 } as const;

export type RowsOptions<Row> = {
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Absent: rows cannot be opened. */
  readonly open?: ((row: Row) => void) | undefined;
  /** Whether the keys j, k and Enter belong to these rows. On a screen, at most one list may have them. */
  readonly keys: boolean;
};

export type Rows<Row> = {
  /** The `ref` of the element that contains the rows. Each row must have its index as `data-row`. */
  readonly body: RefObject<HTMLElement | null>;
  /** The rows that are in the document. */
  readonly shown: readonly Row[];
  /** The index of the first row in the document. */
  readonly from: number;
  /** The total heights, in px, of the rows before and after those in the document. */
  readonly abovePx: number;
  readonly belowPx: number;
  /** The key of the row that `j` and `k` have chosen. */
  readonly current: string | null;
};

export function useRows<Row>({ rows, rowKey, open, keys }: RowsOptions<Row>): Rows<Row> {
  const body = useRef<HTMLElement>(null);
  const [first, setFirst] = useState(0);
  const [rowPx, setRowPx] = useState(0);
  const [isWhole, setWhole] = useState(false);
  const [current, setCurrent] = useState<string | null>(null);

  useEffect(() => setWhole(true), []);
  useEffect(() => {
    const place = () => {
      // The height depends on the width of the page.
      const px = rowOf(body.current)?.getBoundingClientRect().height ?? 0;
      setRowPx(px);
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const wanted = px === 0 ? 0 : Math.floor(Math.max(0, -top) / px) - aboveRows;
      // The first row changes in steps of 50, so that a small movement renders nothing.
      setFirst(Math.max(0, Math.min(wanted - (wanted % 50), rows.length - shownMax)));
    };
    if (rows.length <= shownMax) {
      setFirst(0);
      return;
    }
    place();
    addEventListener('scroll', place, { passive: true });
    addEventListener('resize', place);
    return () => {
      removeEventListener('scroll', place);
      removeEventListener('resize', place);
    };
  }, [rows.length, isWhole]);

  const move = (by: number) => {
    const at = rows.findIndex(row => rowKey(row) === current);
    const next = Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by));
    const row = rows[next];
    if (row === undefined) return;
    setCurrent(rowKey(row));
    const { top, bottom } = edgesOf(body.current, next, rowPx);
    if (top < marginPx.above) scrollBy(0, top - marginPx.above);
    else if (bottom > innerHeight - marginPx.below) scrollBy(0, bottom - innerHeight + marginPx.below);
  };
  const openCurrent = () => {
    const row = rows.find(one => rowKey(one) === current);
    if (row !== undefined) open?.(row);
  };
  useKeys(
    keys
      ? {
          j: { text: 'next row', run: () => move(1) },
          k: { text: 'previous row', run: () => move(-1) },
          ...(open && { Enter: { text: 'open the row', run: openCurrent } }),
        }
      : {},
  );

  const most = isWhole ? shownMax : firstRows;
  const from = rows.length <= most ? 0 : Math.min(first, rows.length - most);
  const shown = rows.slice(from, from + most);
  return { body, shown, from, abovePx: from * rowPx, belowPx: (rows.length - from - shown.length) * rowPx, current };
}

function rowOf(body: HTMLElement | null, index?: number): Element | null | undefined {
  return body?.querySelector(index === undefined ? '[data-row]' : `[data-row="${index}"]`);
}

/** Where a row is in the view, in px; also of a row that is not in the document. */
function edgesOf(body: HTMLElement | null, index: number, rowPx: number): { top: number; bottom: number } {
  const row = rowOf(body, index);
  if (row) return row.getBoundingClientRect();
  const top = (body?.getBoundingClientRect().top ?? 0) + index * rowPx;
  return { top, bottom: top + rowPx };
}

/** Whether a click in a row opens it: clicks on controls and the selection of text do not. */
export function opensRow(event: MouseEvent): boolean {
  if (event.defaultPrevented || getSelection()?.isCollapsed === false) return false;
  return (event.target as Element).closest('a, button, input, label, select, dialog') === null;
}
