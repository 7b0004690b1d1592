// A bar on the terminal; off a terminal nothing is drawn.

export type Progress = { draw(done: number, of: number, what: string): void; end(): void };

const barWidth = 30;

export function progress(stream: NodeJS.WriteStream): Progress {
  if (!stream.isTTY) return { draw() {}, end() {} };
  return {
    draw(done, of, what) {
      const filled = of === 0 ? 0 : Math.round((done / of) * barWidth);
      stream.write(`\r[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${done}/${of} ${what} `);
    },
    end: () => void stream.write('\n'),
  };
}
