// A table of rows of equal height. Of a long list only the rows near the view are in the document. `j`, `k` and Enter move and open.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../core/keys.ts';
import { go } from '../core/router.ts';

export type Column<Row> = {
  readonly name: string;
  /** The heading, if it is not the name. */
  readonly title?: ComponentChildren;
  render(row: Row): ComponentChildren;
  readonly align?: 'left' | 'right';
  readonly width?: string;
  /** The column takes the room that the others leave, and cuts longer texts. */
  readonly grow?: boolean;
  /** The column is left out on pages narrower than this. */
  readonly hideBelow?: 768 | 1024;
};

/** The height of `.table tbody tr` in parts.css. */
const rowPx = 36;
/** The maximum number of rows in the document. */
const shownMax = 300;
const aboveRows = 100;
/** The rows that are drawn first: more than a page shows. The others follow after that frame, because a row has many parts. */
const firstRows = 40;

export function Table<Row>(props: {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  href?: (row: Row) => string;
  onOpen?: (row: Row) => void;
  empty: ComponentChildren;
  label?: string;
  /** Whether the keys j, k and Enter belong to this table; one table of a screen. Default: true if rows can be opened. */
  keys?: boolean;
}): JSX.Element {
  const { columns, rows, rowKey, href, onOpen, empty } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const [first, setFirst] = useState(0);
  const [isWhole, setWhole] = useState(false);
  const [current, setCurrent] = useState<string | null>(null);
  const opens = href !== undefined || onOpen !== undefined;

  useEffect(() => setWhole(true), []);
  useEffect(() => {
    if (rows.length <= shownMax) {
      setFirst(0);
      return;
    }
    const place = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const wanted = Math.floor(Math.max(0, -top) / rowPx) - aboveRows;
      // In steps, so that a small movement renders nothing.
      setFirst(Math.max(0, Math.min(wanted - (wanted % 50), rows.length - shownMax)));
    };
    place();
    addEventListener('scroll', place, { passive: true });
    return () => removeEventListener('scroll', place);
  }, [rows.length]);

  const open = (row: Row) => {
    if (onOpen) onOpen(row);
    else if (href) go(href(row));
  };
  const move = (by: number) => {
    const at = rows.findIndex(row => rowKey(row) === current);
    const next = Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by));
    const row = rows[next];
    if (row === undefined) return;
    setCurrent(rowKey(row));
    const top = (body.current?.getBoundingClientRect().top ?? 0) + next * rowPx;
    if (top < 120) scrollBy(0, top - 120);
    else if (top + rowPx > innerHeight - 40) scrollBy(0, top + rowPx - innerHeight + 40);
  };
  useKeys(
    (props.keys ?? opens)
      ? {
          j: { text: 'next row', run: () => move(1) },
          k: { text: 'previous row', run: () => move(-1) },
          Enter: {
            text: 'open the row',
            run: () => {
              const row = rows.find(one => rowKey(one) === current);
              if (row !== undefined) open(row);
            },
          },
        }
      : {},
  );

  if (rows.length === 0) return <>{empty}</>;
  const most = isWhole ? shownMax : firstRows;
  const from = rows.length <= most ? 0 : Math.min(first, rows.length - most);
  const shown = rows.slice(from, from + most);
  const classOf = ({ align, hideBelow, grow }: Column<Row>) =>
    `${align === 'right' ? 'right' : ''} ${grow ? 'grow' : ''} ${hideBelow ? `hide-${hideBelow}` : ''}`;
  const spacer = (count: number) =>
    count > 0 && (
      <tr class="spacer">
        <td colSpan={columns.length} style={{ height: `${count * rowPx}px` }} />
      </tr>
    );
  return (
    <div class="table-frame">
      <table class="table" aria-rowcount={rows.length + 1} aria-label={props.label}>
        <thead>
          <tr>
            {columns.map(column => (
              <th
                key={column.name}
                scope="col"
                class={classOf(column)}
                style={column.width ? { width: column.width } : {}}
              >
                {column.title ?? column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {spacer(from)}
          {shown.map((row, index) => {
            const key = rowKey(row);
            return (
              <tr
                key={key}
                aria-rowindex={from + index + 2}
                class={`${opens ? 'opens' : ''} ${key === current ? 'current' : ''}`}
                onClick={event => {
                  if (!opens || event.defaultPrevented || getSelection()?.isCollapsed === false) return;
                  if ((event.target as Element).closest('a, button, input, label, select') === null) open(row);
                }}
              >
                {columns.map(column => (
                  <td key={column.name} class={classOf(column)}>
                    {column.render(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {spacer(rows.length - from - shown.length)}
        </tbody>
      </table>
    </div>
  );
}
