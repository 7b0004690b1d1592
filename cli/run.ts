// One call of the command, in the process that calls it.
import { CommanderError } from 'commander';
import { commands } from './commands.ts';
import { exitStatus } from './exit-status.ts';
import { Failure, failure, type ProblemDocument, usageFailure } from './failure.ts';
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
      if (isJson) await writeProblem(new Output(io, true), usageFailure(error.message.replace(/^error: /, '')).problem);
      return exitStatus.usage;
    }
    const { exitStatus: ended, problem } = asFailure(error);
    const out = new Output(io, isJson);
    out.note(`headgate: ${problem.detail}`);
    for (const { message } of problem.errors ?? []) if (!problem.detail.includes(message)) out.note(message);
    if (isJson) await writeProblem(out, problem);
    return ended;
  }
}

/** Files and devices that say no are trouble of the user's; what else is no failure is a defect, and thrown on. */
function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (!(error instanceof Error) || !('syscall' in error)) throw error;
  return failure(exitStatus.io, 'io_error', 'A file or device failed', error.message, error);
}

function writeProblem(out: Output, problem: ProblemDocument): Promise<void> {
  return out.item(problem, () => '');
}
