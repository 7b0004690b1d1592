// Forwards the printed output of the host and its plugin threads as log lines, at most `linesPerSecondMax` per second. A further line says
// how many lines were dropped.

import { StringDecoder } from 'node:string_decoder';
import type { LearnedMask } from '../wire/mask.ts';
import type { HostSender } from './host-sender.ts';

export const linesPerSecondMax = 200;
const lineCharsMax = 4_096;

/**
 * Turns lines that the host and its threads write to stdout and stderr into log lines. Masks secrets before it cuts long lines, because a
 * part of a secret would not be recognized. The returned function must be called when the host ends: it forwards last lines that have no
 * line end.
 */
export function captureConsole(sender: HostSender, learned: LearnedMask): () => void {
  const budget = new Budget(sender);
  const endings = (['stdout', 'stderr'] as const).map(name => {
    let rest = '';
    const decoder = new StringDecoder('utf8');
    const stream = process[name];
    const direct = stream.write.bind(stream);
    const take = (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      if (rest.length > lineCharsMax) rest = learned.text(rest).slice(-lineCharsMax);
      for (const line of lines) if (line !== '') budget.line(name, learned.text(line).slice(0, lineCharsMax));
    };
    stream.write = ((chunk: Uint8Array | string, encoding?: unknown, done?: unknown) => {
      const text = typeof chunk === 'string' ? chunk : decoder.write(Buffer.from(chunk));
      take(text);
      const callback = typeof encoding === 'function' ? encoding : done;
      if (typeof callback === 'function') process.nextTick(callback as () => void);
      return true;
    }) as typeof direct;
    return () => take('\n');
  });
  return () => {
    for (const end of endings) end();
  };
}

class Budget {
  readonly #sender: HostSender;
  #left = linesPerSecondMax;
  #cut = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(sender: HostSender) {
    this.#sender = sender;
  }

  line(stream: string, line: string): void {
    this.#timer ??= setTimeout(() => this.#refill(), 1000).unref();
    if (this.#left === 0) {
      this.#cut++;
      return;
    }
    this.#left--;
    this.#sender.log('debug', 'plugin output', { stream, line });
  }

  #refill(): void {
    this.#timer = null;
    this.#left = linesPerSecondMax;
    if (this.#cut > 0) this.#sender.log('debug', 'plugin output', { cut_lines: this.#cut });
    this.#cut = 0;
  }
}
