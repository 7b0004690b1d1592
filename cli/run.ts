// One call of the command, in the process that calls it.
import { CommanderError } from 'commander';
import { commands } from './commands.ts';
import { exitStatus } from './exit-status.ts';
import { Failure, usageFailure } from './failure.ts';
import type { Io } from './io.ts';
import { makeProgram } from './program.ts';

/** `words` is what stands behind `headgate`; resolves with the exit status. A defect is thrown. */
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
      // Commander has said it on stderr.
      if (isJson) writeProblem(io, usageFailure(error.message.replace(/^error: /, '')));
      return exitStatus.usage;
    }
    if (!(error instanceof Failure)) throw error;
    io.stderr.write(`headgate: ${error.message}\n`);
    if (isJson) writeProblem(io, error);
    return error.exitStatus;
  }
}

function writeProblem(io: Io, { problem }: Failure): void {
  io.stdout.write(`${JSON.stringify(problem)}\n`);
}
