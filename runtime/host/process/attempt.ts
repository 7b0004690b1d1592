// One attempt of a process plugin: a program of its own, request on stdin, response on stdout.
import { timerMsMax } from '../../clock.ts';
import { parseExactly } from '../../exact-json.ts';
import { answerOfDuctile } from '../wire/ductile.ts';
import type { Mask } from '../wire/mask.ts';
import type { HostedPlugin } from '../wire/port.ts';
import type { AnyRequest } from '../wire/request.ts';
import { describe, type Settled, settleAnswer, settleFailure, timeOutReason } from '../wire/response.ts';
import { Tail } from '../wire/tail.ts';
import { endText, type Program, type ProgramEnd } from './program.ts';

export const stdoutBytesMax = 10 * 2 ** 20;
/** The exit status of a failure that another attempt would not mend. */
export const permanentStatus = 78;

/** Asks the program once. At the deadline it is ended. */
export async function runAttempt(
  plugin: HostedPlugin,
  program: Program,
  request: AnyRequest,
  deadlineMs: number,
  mask: Mask | null,
): Promise<Settled> {
  if (!program.hasStarted) return settleEnd(plugin, await program.ended, '', {}, mask);
  const stdout: Buffer[] = [];
  let stdoutBytes = 0;
  const stderr = new Tail(mask);
  program.stdout.on('data', (chunk: Buffer) => {
    stdoutBytes += chunk.length;
    if (stdoutBytes <= stdoutBytesMax) stdout.push(chunk);
    else program.kill();
  });
  program.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  // A plugin need not read its request.
  program.stdin.end(`${JSON.stringify(request)}\n`);
  let isLate = false;
  const deadline = setTimeout(
    () => {
      isLate = true;
      program.terminate();
    },
    Math.min(deadlineMs, timerMsMax),
  );
  const end = await program.ended;
  clearTimeout(deadline);
  const aside = { stderr: stderr.text() };
  if (end.kind === 'refused') return settleEnd(plugin, end, '', aside, mask);
  if (isLate) return settleFailure(timeOutReason(deadlineMs), false, aside, 'timed_out', mask);
  if (stdoutBytes > stdoutBytesMax) return settleFailure(tooLongReason, false, aside, 'error', mask);
  return settleEnd(plugin, end, Buffer.concat(stdout).toString().trim(), aside, mask);
}

export const tooLongReason = `stdout has more than ${stdoutBytesMax} bytes`;

/** Valid JSON counts, whatever the exit status. */
function settleEnd(
  plugin: HostedPlugin,
  end: ProgramEnd,
  text: string,
  aside: { stderr?: string },
  mask: Mask | null,
): Settled {
  if (end.kind === 'refused') return settleFailure(end.reason, false);
  const permanent = end.code === permanentStatus;
  const how = endText(end);
  if (text === '') return settleFailure(`no response on stdout (${how})`, permanent, aside, 'error', mask);
  let answer: unknown;
  let texted = 0;
  try {
    ({ value: answer, texted } = parseExactly(text));
  } catch (error) {
    // What is wrong with it is told with a piece of it, which may be a piece of a secret.
    const what = mask === null ? `: ${describe(error)}` : '';
    return settleFailure(`the response is not JSON (${how})${what}`, permanent, aside, 'error', mask);
  }
  if (plugin.dialect === 'ductile') answer = answerOfDuctile(answer);
  const settled = settleAnswer(answer, true, { ...aside, texted }, mask);
  return permanent && settled.verdict !== 'ok' ? { ...settled, permanent } : settled;
}
