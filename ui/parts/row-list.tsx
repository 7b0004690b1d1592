// A list whose rows have the same height and more than one line.
import type { ComponentChildren, JSX, Ref } from 'preact';
import { opensRow, useRows } from './rows.ts';

export function RowList<Row>(props: {
  label: string;
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  onOpen: (row: Row) => void;
  /** The class of a row, whose style sets its height. */
  rowClass: (row: Row) => string;
  render: (row: Row) => ComponentChildren;
}): JSX.Element {
  const { rows, rowKey, onOpen, rowClass, render } = props;
  const { body, shown, from, abovePx, belowPx, current } = useRows({ rows, rowKey, open: onOpen, keys: true });
  const spacer = (px: number) => px > 0 && <li aria-hidden="true" style={{ height: `${px}px` }} />;
  return (
    <ul class="rows" ref={body as Ref<HTMLUListElement>} aria-label={props.label}>
      {spacer(abovePx)}
      {shown.map((row, index) => {
        const key = rowKey(row);
        const isCurrent = key === current;
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: `j`, `k` and Enter do the same, and so does a link or button of the row
          <li
            key={key}
            data-row={from + index}
            aria-posinset={from + index + 1}
            aria-setsize={rows.length}
            class={`${rowClass(row)} ${isCurrent ? 'current' : ''}`}
            {...(isCurrent && { 'aria-current': 'true' })}
            onClick={event => opensRow(event) && onOpen(row)}
          >
            {render(row)}
          </li>
        );
      })}
      {spacer(belowPx)}
    </ul>
  );
}
