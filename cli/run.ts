// One call of the command, in the process that calls it.
import { CommanderError } from 'commander';
import { commands } from './commands.ts';
import { exitStatus } from './exit-status.ts';
import { Failure, usageFailure } from './failure.ts';
import type { Io } from './io.ts';
import { Output } from './output.ts';
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
      if (isJson) await writeProblem(new Output(io, true), usageFailure(error.message.replace(/^error: /, '')));
      return exitStatus.usage;
    }
    if (!(error instanceof Failure)) throw error;
    const out = new Output(io, isJson);
    out.note(`headgate: ${error.message}`);
    for (const { message } of error.problem.errors ?? []) out.note(message);
    if (isJson) await writeProblem(out, error);
    return error.exitStatus;
  }
}

function writeProblem(out: Output, { problem }: Failure): Promise<void> {
  return out.item(problem, () => '');
}
