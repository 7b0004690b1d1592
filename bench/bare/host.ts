// The plugin host of the bare gateway, a process with a pool of two threads. It ends when its stdin ends.
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Begun, Steps } from './protocol.ts';

const threads = 2;
const pool = new Piscina({
  filename: fileURLToPath(new URL('./step.js', import.meta.url)),
  name: 'runSteps',
  minThreads: threads,
  maxThreads: threads,
  atomics: 'disabled',
  recordTiming: false,
});

createInterface({ input: process.stdin })
  .on('line', async line => {
    const begun = (await pool.run(JSON.parse(line) as Steps)) as Begun;
    process.stdout.write(`${JSON.stringify(begun)}\n`);
  })
  .on('close', () => process.exit(0));
