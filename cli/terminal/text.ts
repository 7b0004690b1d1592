// Lines of text as pieces: what comes from outside is made harmless here, and only here are colours put around it.

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof codes;

export type Piece = string | { readonly text: string; readonly style: Style };
/** One line on the terminal; nothing in its pieces can start another. */
export type TerminalLine = string | readonly Piece[];

/** Control characters, DEL and C1 among them, line separators, and what turns the direction of writing around. */
const unprintable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** The text with each character that a terminal would obey written as `\n`, `\t` or `\u001b`. */
export function printable(text: string): string {
  return text.replace(unprintable, escaped);
}

/** As `printable`, but lines and tabs stay. */
export function printableBlock(text: string): string {
  return text.replace(unprintable, character =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );
}

/** JSON text that means the same, and holds nothing that a terminal would obey. Between values there is only `\n`. */
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
  return piecesOf(line)
    .map(piece => {
      if (typeof piece === 'string') return printable(piece);
      const text = printable(piece.text);
      return hasColours && text !== '' ? `\u001b[${codes[piece.style]}m${text}\u001b[0m` : text;
    })
    .join('');
}

function piecesOf(line: TerminalLine): readonly Piece[] {
  return typeof line === 'string' ? [line] : line;
}

export function textOf(piece: Piece): string {
  return typeof piece === 'string' ? piece : piece.text;
}

/** In columns, counting every character as one. */
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
};

/** A job's status in its colour. */
export function statusPiece(status: string): Piece {
  const style = Object.hasOwn(statusStyles, status) ? statusStyles[status] : undefined;
  return style === undefined ? status : { text: status, style };
}
