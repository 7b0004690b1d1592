// The failure of a command: an exit status, a message for people, and a problem document for programs.
import { exitStatus } from './exit-status.ts';
import type { Output } from './output.ts';

/** A problem document (RFC 9457) of the service or the command; `code` is stable. */
export type ProblemDocument = {
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly code: string;
  /** `index`: of a payload in a batch. `pointer` leads into the body, or into this payload. */
  readonly errors?: readonly { readonly message: string; readonly index?: number; readonly pointer?: string }[];
  readonly [member: string]: unknown;
};

export class CommandFailure extends Error {
  readonly exitStatus: number;
  readonly problem: ProblemDocument;
  /** A line for people about a possible cause on the caller's side. Null: no such cause is known. */
  readonly hint: string | null;

  constructor(status: number, problem: ProblemDocument, cause?: unknown, hint: string | null = null) {
    super(problem.detail, { cause });
    this.exitStatus = status;
    this.problem = problem;
    this.hint = hint;
  }
}

export function failure(status: number, code: string, title: string, detail: string, cause?: unknown): CommandFailure {
  return new CommandFailure(status, { type: 'about:blank', title, detail, code }, cause);
}

/** Whether a call failed because the service is unavailable; then it is worth asking again. */
export function isUnavailable(error: unknown): error is CommandFailure {
  return error instanceof CommandFailure && error.exitStatus === exitStatus.unavailable;
}

export function usageFailure(detail: string): CommandFailure {
  return failure(exitStatus.usage, 'usage', 'Invalid usage', detail);
}

/** Prints the failure on stderr, and with `--json` also its problem document on stdout. Resolves with the exit status. */
export async function report({ exitStatus: status, problem, hint }: CommandFailure, out: Output): Promise<number> {
  out.note(`headgate: ${problem.detail}`);
  for (const { message } of problem.errors ?? []) if (!problem.detail.includes(message)) out.note(message);
  if (hint !== null) out.note(hint);
  if (out.json) await out.item(problem, () => '');
  return status;
}
