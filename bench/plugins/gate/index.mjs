// Blocks its thread until a file appears; leaves a mark that says it does.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const lookMs = 1;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

export function hold({ config, job_id }) {
  writeFileSync(join(config.directory, `held-${job_id}`), '');
  const open = join(config.directory, 'open');
  while (!existsSync(open)) Atomics.wait(sleeper, 0, 0, lookMs);
  return { result: { opened: true } };
}
