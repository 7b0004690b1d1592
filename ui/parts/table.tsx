// A table of rows of equal height.
import type { ComponentChildren, JSX, Ref } from 'preact';
import { go } from '../core/router.ts';
import { opensRow, useRows } from './rows.ts';

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

export function Table<Row>(props: {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  href?: (row: Row) => string;
  onOpen?: (row: Row) => void;
  empty: ComponentChildren;
  label?: string;
  /** Whether the keys j, k and Enter belong to this table (see `RowsOptions`). Default: true if rows can be opened. */
  keys?: boolean;
}): JSX.Element {
  const { columns, rows, rowKey, href, onOpen, empty } = props;
  const open = onOpen ?? (href && ((row: Row) => go(href(row))));
  const keys = props.keys ?? open !== undefined;
  const { body, shown, from, abovePx, belowPx, current } = useRows({ rows, rowKey, open, keys });

  if (rows.length === 0) return <>{empty}</>;
  const classOf = ({ align, hideBelow, grow }: Column<Row>) =>
    `${align === 'right' ? 'right' : ''} ${grow ? 'grow' : ''} ${hideBelow ? `hide-${hideBelow}` : ''}`;
  const spacer = (px: number) =>
    px > 0 && (
      <tr class="spacer">
        <td colSpan={columns.length} style={{ height: `${px}px` }} />
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
        <tbody ref={body as Ref<HTMLTableSectionElement>}>
          {spacer(abovePx)}
          {shown.map((row, index) => {
            const key = rowKey(row);
            return (
              <tr
                key={key}
                data-row={from + index}
                aria-rowindex={from + index + 2}
                class={`${open ? 'opens' : ''} ${key === current ? 'current' : ''}`}
                onClick={event => open && opensRow(event) && open(row)}
              >
                {columns.map(column => (
                  <td key={column.name} class={classOf(column)}>
                    {column.render(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {spacer(belowPx)}
        </tbody>
      </table>
    </div>
  );
}
