// Tables: columns are as wide as their widest cell, and numbers are right-aligned.
import { type Piece, type TerminalLine, textOf, widthOf } from './text.ts';

const gap = '  ';

/**
 * A heading in bold, then the rows. A column that contains only numbers is aligned to the right. `widths`: the minimum widths of the
 * columns, which are raised as needed, so that a long table can be printed in parts.
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

/** A count, or a quantity with its unit: `12`, `0.53`, `1.20 s`. */
function isNumber(cell: Piece): boolean {
  return /^-?\d[\d,.]*( ?(µs|ms|s|%))?$|^-?$/.test(textOf(cell));
}
