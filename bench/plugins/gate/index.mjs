// Creates a file that marks the job as waiting, and blocks its thread until another file appears.
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
