#!/usr/bin/env node
// The command `headgate`.
import { withSourceNames } from '../runtime/source-names.ts';
import { exitStatus } from './exit-status.ts';
import { processIo } from './io.ts';
import { run } from './run.ts';

// Whoever reads may have had enough; a disk that is full under a redirection is trouble.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A command whose answer must not be lost reports this itself first, and its exit status stands.
  setImmediate(() => {
    if (process.exitCode || error.code === 'EPIPE') process.exit();
    process.stderr.write(`headgate: stdout cannot be written: ${error.message}\n`);
    process.exit(exitStatus.io);
  });
});
// What cannot be said beside the answer changes no exit status.
process.stderr.on('error', () => {});

try {
  process.exitCode = await run(process.argv.slice(2), processIo());
} catch (error) {
  process.stderr.write(
    `headgate: internal error: ${error instanceof Error ? withSourceNames(error.stack ?? error.message) : error}\n`,
  );
  process.exitCode = exitStatus.defect;
}
