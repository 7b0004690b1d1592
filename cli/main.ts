#!/usr/bin/env node
// The command `headgate`.
import { exitStatus } from './exit-status.ts';
import { processIo } from './io.ts';
import { run } from './run.ts';

// Whoever reads may have had enough; a disk that is full under a redirection is trouble.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? exitStatus.ok : exitStatus.io);
});
// What cannot be said beside the answer changes no exit status.
process.stderr.on('error', () => {});

try {
  process.exitCode = await run(process.argv.slice(2), processIo());
} catch (error) {
  process.stderr.write(`headgate: this is a defect: ${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = exitStatus.defect;
}
