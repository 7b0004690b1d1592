// The use of `strace` on a service: whether it is installed, its options, and a parser of its output.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export const hasStrace = spawnSync('strace', ['-V'], { stdio: 'ignore' }).status === 0;
if (!hasStrace) console.log('SKIPPED: what needs strace, which is not installed');

/** How many segments of the log, and how many checkpoint files, the options of strace name in advance. Calls on further ones are not seen. */
const segmentsMax = 8;

/** Options of strace that limit it to the files to which the next start on this state writes the ledger. */
export function ledgerFiles(state: string): string[] {
  const log = join(state, 'log');
  const numbers = existsSync(log) ? readdirSync(log).map(name => Number.parseInt(name, 10)) : [];
  const first = Math.max(0, ...numbers.filter(number => number > 0)) + 1;
  const segments = Array.from({ length: segmentsMax }, (_, n) => `${String(first + n).padStart(12, '0')}.log`);
  const checkpoints = Array.from({ length: segmentsMax }, (_, n) => `checkpoint-unfinished-${n + 1}`);
  const files = [join(state, 'data.mdb'), ...[...segments, ...checkpoints].map(name => join(log, name))];
  return files.flatMap(file => ['-P', file]);
}

/** A call of the system at its beginning or at its end. */
export type Call = {
  readonly thread: number;
  readonly name: string;
  /** The arguments, as far as they are known when the call begins. */
  readonly words: string;
  /** The return value; null at the beginning of the call. */
  readonly result: number | null;
};

const line = /^(\d+) +(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$/;
const ending = /\) += (-?\d+|\?)[^=]*$/;

/** Calls in the order in which they began and ended. */
export function readCalls(text: string): Call[] {
  const calls: Call[] = [];
  const unfinished = new Map<number, Call>();
  for (const written of text.split('\n')) {
    const [, pid, resumed, begun, rest = ''] = line.exec(written) ?? [];
    if (pid === undefined) continue;
    const thread = Number(pid);
    const end = ending.exec(rest);
    const result = end && end[1] !== '?' ? Number(end[1]) : null;
    if (resumed !== undefined) {
      const call = unfinished.get(thread);
      unfinished.delete(thread);
      if (call && result !== null) calls.push({ ...call, words: call.words + rest, result });
      continue;
    }
    const words = end ? rest.slice(0, end.index) : rest.replace(/ <unfinished \.\.\.>$/, '');
    const call = { thread, name: begun!, words, result: null };
    calls.push(call);
    if (result !== null) calls.push({ ...call, result });
    else unfinished.set(thread, call);
  }
  return calls;
}

/** Every text of the call, as bytes: `strace -xx` writes each byte as `\x00`. */
export function bytesOf(words: string): Buffer[] {
  return [...words.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex]) =>
    Buffer.from(hex!.replaceAll('\\x', ''), 'hex'),
  );
}

/** The file behind the first descriptor, and its number. */
export function fileOf(words: string): { readonly descriptor: number; readonly path: string } | null {
  const [, descriptor, path] = /^(\d+)<((?:[^<>\\]|\\.)*)>/.exec(words) ?? [];
  return descriptor === undefined ? null : { descriptor: Number(descriptor), path: plain(path!) };
}

/** Decodes a path, whose bytes `strace -xx` writes in hex. */
export function plain(path: string): string {
  return Buffer.from(
    path.replaceAll(/\\x([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString();
}
