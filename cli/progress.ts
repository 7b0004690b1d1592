// A bar on the terminal; off a terminal nothing is drawn.
import { progressBar } from './terminal/plot.ts';

export type Progress = { draw(done: number, of: number, what: string): void; end(): void };

export function progress(stream: NodeJS.WriteStream): Progress {
  if (!stream.isTTY) return { draw() {}, end() {} };
  return {
    draw: (done, of, what) => void stream.write(`\r${progressBar(done, of)} ${what} `),
    end: () => void stream.write('\n'),
  };
}
