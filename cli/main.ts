#!/usr/bin/env node
// The command `headgate`.
import { withSourceNames } from '../runtime/source-names.ts';
import { exitStatus } from './exit-status.ts';
import { processIo } from './io.ts';
import { run } from './run.ts';

// A reader may close the pipe early: that is not an error. A full disk under a redirection is.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A command whose answer must not be lost has reported this itself, with its own exit status.
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
