// A line on the stdout of a persistent process: the answer to the question with its `id`.
import { parseExactly } from '../../exact-json.ts';
import type { Mask } from '../wire/mask.ts';
import type { Verdict } from '../wire/port.ts';
import { describe } from '../wire/response.ts';
import { permanentStatus } from './attempt.ts';
import { endText, type ProgramEnd } from './program.ts';

/** Why a process is gone, for the job that it was about to answer. */
export type Failure = { readonly reason: string; readonly verdict: Verdict; readonly permanent: boolean };

/** `texted`: how many integers of it became text. */
export type AnswerLine<Asked> = { readonly asked: Asked; readonly answer: unknown; readonly texted: number };

/** Whose answer the line is, who waits for it no more; or what is wrong with the line. */
export function takeAnswer<Asked>(
  line: string,
  waiting: Map<number, Asked>,
  mask: Mask | null,
): AnswerLine<Asked> | string {
  let answer: unknown;
  let texted: number;
  try {
    ({ value: answer, texted } = parseExactly(line));
  } catch (error) {
    // What is wrong with it is told with a piece of it, which may be a piece of a secret.
    return `a line on stdout is not JSON${mask === null ? `: ${describe(error)}` : ''}`;
  }
  const id = typeof answer === 'object' && answer !== null ? (answer as { id?: unknown }).id : undefined;
  if (id === undefined) return 'a line on stdout has no id';
  const asked = waiting.get(id as number);
  if (asked === undefined) {
    const shown = JSON.stringify(id);
    return `a line on stdout has the id ${(mask?.text(shown) ?? shown).slice(0, 40)}, which waits for no answer`;
  }
  waiting.delete(id as number);
  return { asked, answer, texted };
}

/** Of a process that ended by itself while it had questions. */
export function unanswered(end: ProgramEnd): Failure {
  if (end.kind === 'refused') return { reason: end.reason, verdict: 'error', permanent: false };
  const reason = `the process ended (${endText(end)}) without an answer`;
  return { reason, verdict: 'error', permanent: end.code === permanentStatus };
}
