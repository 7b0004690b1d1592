// Terminal lines, made of pieces of text. External text is escaped here, and colours are added only here.

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof codes;

export type Piece = string | { readonly text: string; readonly style: Style };
/** One line on the terminal. Line breaks in its pieces are escaped when the line is written. */
export type TerminalLine = string | readonly Piece[];

/** Matches control characters, including DEL and C1, line separators, and bidirectional embeddings, overrides and isolates. */
const unprintable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Escapes every unprintable character: as `\n`, `\t` or `\r`, or as a code such as `\u001b`. */
export function printable(text: string): string {
  return text.replace(unprintable, escaped);
}

/** Escapes as `printable` does, but keeps `\n` and `\t`. */
export function printableBlock(text: string): string {
  return text.replace(unprintable, character =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );
}

/** Returns equivalent JSON text without unprintable characters, except `\n` between values. */
export function printableJson(json: string): string {
  return json.replace(unprintable, character => (character === '\n' ? character : hex(character)));
}

function escaped(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  if (character === '\r') return '\\r';
  return hex(character);
}

function hex(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

export function writeLine(line: TerminalLine, hasColours: boolean): string {
  return (typeof line === 'string' ? [line] : line)
    .map(piece => {
      if (typeof piece === 'string') return printable(piece);
      const text = printable(piece.text);
      return hasColours && text !== '' ? `\u001b[${codes[piece.style]}m${text}\u001b[0m` : text;
    })
    .join('');
}

/** A line that begins with a label; the labels of neighbouring lines have the same width. */
export function field(label: string, ...pieces: readonly Piece[]): readonly Piece[] {
  return [dim(label.padEnd(9)), ...pieces];
}

export function dim(text: string): Piece {
  return { text, style: 'dim' };
}

export function textOf(piece: Piece): string {
  return typeof piece === 'string' ? piece : piece.text;
}

/** The width of a piece in columns, one per code point of the escaped text. */
export function widthOf(piece: Piece): number {
  return [...printable(textOf(piece))].length;
}

const statusStyles: { readonly [status: string]: Style } = {
  queued: 'dim',
  running: 'cyan',
  succeeded: 'green',
  failed: 'red',
  timed_out: 'red',
  dead: 'red',
  cancelled: 'yellow',
};

export function statusPiece(status: string): Piece {
  const style = Object.hasOwn(statusStyles, status) ? statusStyles[status] : undefined;
  return style === undefined ? status : { text: status, style };
}
