// The command in a pseudo-terminal, which `script` of util-linux opens: what it draws, how it reacts to keys, and how it leaves the terminal.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from '../../service/gateway/until.ts';

const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

/** Whether this machine has the needed `script`; that of macOS has other options. */
export const hasTerminals = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

const [home, endOfScreen] = ['\u001b[H', '\u001b[J'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const sequences = /\u001b\[[?0-9;]*[A-Za-z]/g;

/** The settings of a terminal, as `stty -g` prints them. */
const settings = /^[0-9a-f]+(?::[0-9a-f]+){10,}$/gm;

export type PseudoTerminalOptions = {
  readonly columns: number;
  readonly rows: number;
  readonly env: { readonly [name: string]: string };
  /** A script for the shell, which runs the command by `$top`; without it, the shell only runs the command. */
  readonly shell?: string;
};

export class PseudoTerminal {
  /** Everything that was written to the terminal. */
  written = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(words: readonly string[], { columns, rows, env, shell = 'top; echo "ended $?"' }: PseudoTerminalOptions) {
    const command = [process.execPath, main, ...words].map(word => `'${word}'`).join(' ');
    const before = `tty; stty columns ${columns} rows ${rows}; stty -g`;
    const top = `top() { sh -c 'echo "pid $$"; exec "$0" "$@"' ${command}; }`;
    const line = `${before}; ${top}; ${shell}; stty -g`;
    this.#child = spawn('script', ['--quiet', '--flush', '--command', line, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, SHELL: '/bin/sh', TERM: 'xterm-256color', ...env },
    });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.written += text;
    });
    this.#ended = new Promise(resolve => {
      this.#child.once('close', () => resolve());
    });
    onTestFinished(async () => {
      this.#child.kill('SIGKILL');
      await this.#ended;
    });
  }

  type(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  /** Sends the signal to the command that was started last. */
  signal(signal: NodeJS.Signals): void {
    process.kill(Number([...this.written.matchAll(/^pid (\d+)/gm)].at(-1)![1]), signal);
  }

  resize(columns: number, rows: number): void {
    const [device = ''] = /^\/dev\/\S+/m.exec(this.written) ?? [];
    spawnSync('stty', ['-F', device, 'columns', String(columns), 'rows', String(rows)]);
  }

  /** The lines of the last complete drawing, with their escape sequences. */
  get drawn(): string[] {
    const drawings = this.written.split(home).slice(1);
    const last = drawings.findLast(drawing => drawing.includes(endOfScreen)) ?? '';
    return last.split(endOfScreen, 1)[0]!.split(/\r+\n/);
  }

  /** The lines of the last complete drawing, as they can be read. */
  get lines(): string[] {
    return this.drawn.map(line => line.replaceAll(sequences, ''));
  }

  /** Resolves with the lines once the screen has this text. */
  shows(text: string): Promise<string[]> {
    return until(`the terminal shows ${JSON.stringify(text)}`, () => {
      const { lines } = this;
      return lines.some(line => line.includes(text)) && lines;
    });
  }

  /** Resolves when the shell has ended, with everything that was written since the screen was left. */
  async ended(): Promise<{ readonly after: string; readonly settings: readonly string[] }> {
    await this.#ended;
    const after = this.written.slice(this.written.lastIndexOf('\u001b[?1049l') + 8);
    return { after, settings: [...this.written.replaceAll('\r', '').matchAll(settings)].map(([text]) => text) };
  }
}
