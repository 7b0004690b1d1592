// Runs a command line in the calling process.
import { CommanderError } from 'commander';
import { StoreFault } from '../runtime/store/store.ts';
import { commands } from './commands.ts';
import { exitStatus } from './exit-status.ts';
import { CommandFailure, failure, report, usageFailure } from './failure.ts';
import type { Io } from './io.ts';
import { Output } from './output.ts';
import { makeProgram } from './program.ts';

/** Runs `headgate` with `words` as its arguments. Resolves with the exit status; internal errors are thrown. */
export async function run(words: readonly string[], io: Io): Promise<number> {
  let status: number = exitStatus.ok;
  const program = makeProgram(commands, io, ended => {
    status = ended;
  });
  const isJson = words.includes('--json');
  try {
    await program.parseAsync(words, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitStatus.ok;
      // Commander has already printed the message on stderr.
      const { problem } = usageFailure(error.message.replace(/^error: /, ''));
      if (isJson) await new Output(io, true).item(problem, () => '');
      return exitStatus.usage;
    }
    return report(asFailure(error), new Output(io, isJson));
  }
}

/** Converts errors of the store, of files and of devices to a `CommandFailure`. Any other error is a bug, and is thrown again. */
function asFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof StoreFault)
    return failure(exitStatus.io, error.code, 'The state cannot be used', error.message, error);
  if (!(error instanceof Error) || !('syscall' in error)) throw error;
  return failure(exitStatus.io, 'io_error', 'A file or device failed', error.message, error);
}
