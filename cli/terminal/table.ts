// Formats tables. Columns are as wide as their widest cell, and columns of numbers are right-aligned.
import { type Piece, type TerminalLine, textOf, widthOf } from './text.ts';

const gap = '  ';

/**
 * A heading in bold, then the rows. A column that contains only numbers is aligned to the right. `widths` has the minimum widths
 * of the columns. The call raises these widths as needed; the parts of a long table share them.
 */
export function table(
  heading: readonly string[],
  rows: readonly (readonly Piece[])[],
  widths: number[] = [],
): TerminalLine[] {
  const all: readonly (readonly Piece[])[] = [heading.map(text => ({ text, style: 'bold' as const })), ...rows];
  for (const row of all)
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
    });
  const isRight = heading.map((_, column) => rows.length > 0 && rows.every(row => isNumber(row[column] ?? '')));
  return all.map(row =>
    heading.flatMap((_, column) => {
      const cell = row[column] ?? '';
      const isLast = column === heading.length - 1;
      const pad = ' '.repeat(widths[column]! - widthOf(cell));
      if (isRight[column]) return isLast ? [pad, cell] : [pad, cell, gap];
      return isLast ? [cell] : [cell, pad, gap];
    }),
  );
}

/**
 * Whether a cell is a number, with or without a unit, such as `12`, `0.53` or `1.20 s`. An empty cell and `-` fit into a column of numbers.
 */
function isNumber(cell: Piece): boolean {
  return /^-?\d[\d,.]*( ?(µs|ms|s|%))?$|^-?$/.test(textOf(cell));
}
