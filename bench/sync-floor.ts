// Measures the smallest durable write of the disk. The acknowledgement of a job cannot be faster.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pause } from './pause.ts';
import { Samples } from './percentile.ts';

const pageBytes = 4096;

/**
 * Writes a page `samples` times, with a pause between two writes. Resolves with the times in µs until each page was on
 * disk.
 */
export async function measureSync(samples: number, pauseMs: number): Promise<Samples> {
  const file = join(tmpdir(), `headgate-sync-${process.pid}`);
  const fd = openSync(file, 'w', 0o600);
  const page = Buffer.alloc(pageBytes, 1);
  const times = new Samples();
  try {
    for (let n = 0; n < samples; n++) {
      const start = performance.now();
      writeSync(fd, page, 0, pageBytes, (n % 256) * pageBytes);
      fdatasyncSync(fd);
      times.add((performance.now() - start) * 1000);
      await pause(pauseMs);
    }
  } finally {
    closeSync(fd);
    rmSync(file, { force: true });
  }
  return times;
}
