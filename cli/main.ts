#!/usr/bin/env node
// The command `headgate`.
import { withSourceNames } from '../runtime/source-names.ts';
import { exitStatus } from './exit-status.ts';
import { processIo } from './io.ts';
import { run } from './run.ts';

// A reader that closes its end of a pipe early causes no error. Any other failure to write to stdout, such as a full disk, is an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Waits for one iteration of the event loop. A command whose answer must not be lost can then report the error
  // itself, and set its own exit status.
  setImmediate(() => {
    if (process.exitCode || error.code === 'EPIPE') process.exit();
    process.stderr.write(`headgate: stdout cannot be written: ${error.message}\n`);
    process.exit(exitStatus.io);
  });
});
// A message that cannot be written to stderr does not change the exit status.
process.stderr.on('error', () => {});

try {
  process.exitCode = await run(process.argv.slice(2), processIo());
} catch (error) {
  process.stderr.write(
    `headgate: internal error: ${error instanceof Error ? withSourceNames(error.stack ?? error.message) : error}\n`,
  );
  process.exitCode = exitStatus.defect;
}
