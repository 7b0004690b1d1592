// A screen that is redrawn repeatedly. Its events are keys, size changes, calls of `wake`, and its end. It uses the
// alternate screen of the terminal, so that the terminal shows its earlier contents again when the screen closes.
import type { Io } from '../io.ts';
import { type Piece, printable, type TerminalLine, textOf, writeLine } from './text.ts';

/** `ended`: the terminal is gone, or a signal asks the process to end. `news`: `wake` was called. */
export type ScreenEvent =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'resized' }
  | { readonly kind: 'news' }
  | { readonly kind: 'ended'; readonly signal: NodeJS.Signals | null };

/** The assumed size of a terminal that does not report its size. */
const usualSize = { columns: 80, rows: 24 };

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `enter` switches to the alternate screen, hides the cursor, switches line wrapping off, and clears the screen. `leave` switches back. */
const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J';
const leave = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const endOfLine = '\u001b[K';
const endOfScreen = '\u001b[J';
const wholeScreen = '\u001b[2J';

const suspendKey = '\u001a';

export class Screen {
  readonly #io: Io;
  readonly #hasColours: boolean;
  readonly #undo: (() => void)[] = [];
  #isShown = false;
  #isClear = false;
  #events: ScreenEvent[] = [];
  #wake = (): void => {};

  constructor(io: Io, hasColours: boolean) {
    this.#io = io;
    this.#hasColours = hasColours;
    const { stdin, stdout } = io;
    this.#on(stdout, 'resize', () => {
      this.#isClear = false;
      this.#push({ kind: 'resized' });
    });
    for (const signal of endingSignals) this.#on(process, signal, () => this.#push({ kind: 'ended', signal }));
    // Restores the terminal even if an internal error ends the process.
    this.#on(process, 'exit', () => this.#hide());
    if (stdin.isTTY) {
      this.#on(stdin, 'data', (typed: Buffer | string) => this.#type(String(typed)));
      for (const end of ['end', 'error']) this.#on(stdin, end, () => this.#push({ kind: 'ended', signal: null }));
    }
    this.#show();
  }

  get columns(): number {
    return this.#io.stdout.columns || usualSize.columns;
  }

  get rows(): number {
    return this.#io.stdout.rows || usualSize.rows;
  }

  /** Draws the lines from the top. Lines that are too long are cut, and lines below the last row are left out. */
  draw(lines: readonly TerminalLine[]): void {
    const shown = lines
      .slice(0, this.rows)
      .map(line => writeLine(cutLine(line, this.columns), this.#hasColours) + endOfLine);
    const before = this.#isClear ? home : wholeScreen + home;
    this.#isClear = true;
    this.#io.stdout.write(`${before}${shown.join('\r\n')}${endOfScreen}`);
  }

  /** Makes the next `draw` clear the whole screen first, for a terminal to which another program has written. */
  clear(): void {
    this.#isClear = false;
  }

  /** Resolves with the events since the last call: as soon as there are any, or after `ms`. */
  async next(ms: number): Promise<readonly ScreenEvent[]> {
    if (this.#events.length === 0) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.#events.splice(0);
  }

  wake(): void {
    this.#push({ kind: 'news' });
  }

  /** Removes all listeners, and restores the terminal. */
  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
    this.#hide();
    if (this.#io.stdin.isTTY) this.#io.stdin.pause();
  }

  #show(): void {
    this.#isShown = true;
    this.#isClear = true;
    this.#io.stdout.write(enter);
    if (this.#io.stdin.isTTY) this.#io.stdin.setRawMode?.(true);
  }

  #hide(): void {
    if (!this.#isShown) return;
    this.#isShown = false;
    if (this.#io.stdin.isTTY) this.#io.stdin.setRawMode?.(false);
    this.#io.stdout.write(leave);
  }

  #type(typed: string): void {
    for (const key of typed.match(keys) ?? []) {
      if (key === suspendKey) this.#suspend();
      else this.#push({ kind: 'key', key });
    }
  }

  /** Stops the process group, as Ctrl+Z does outside raw mode. `process.kill` returns when the group is continued. */
  #suspend(): void {
    this.#hide();
    process.kill(0, 'SIGTSTP');
    this.#show();
    this.#push({ kind: 'resized' });
  }

  #push(event: ScreenEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  #on(source: NodeJS.EventEmitter, name: string, listener: (...args: never[]) => void): void {
    const general = listener as (...args: unknown[]) => void;
    source.on(name, general);
    this.#undo.push(() => source.off(name, general));
  }
}

/** Each match is one key: an escape sequence, such as an arrow key sends, or one character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const keys = /\u001b(?:\[[0-9;]*[ -/]*[@-~]|O[A-Z])|[\s\S]/gu;

/** The beginning of the line, with at most as many characters as there are columns. */
export function cutLine(line: TerminalLine, columns: number): TerminalLine {
  let left = columns;
  const cut: Piece[] = [];
  for (const piece of typeof line === 'string' ? [line] : line) {
    const characters = [...printable(textOf(piece))];
    const text = characters.slice(0, left).join('');
    left -= Math.min(left, characters.length);
    cut.push(typeof piece === 'string' ? text : { ...piece, text });
  }
  return cut;
}
