// Measures the CPU time of each turn of the ledger from inside the service, by a module that the threads of the service
// load first.
import { readFileSync } from 'node:fs';

/** Turns that take at most this much CPU time are not noted. */
const notedMs = 5;

const code = (file: string): string => `
import { appendFileSync, readFileSync } from 'node:fs';
if (/ledger\\/thread\\.[jt]s$/.test(process.argv[1] ?? '')) {
  const usedMs = () => Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6;
  appendFileSync(${JSON.stringify(file)}, '');
  const later = globalThis.setImmediate;
  // Each turn of the ledger is one callback.
  globalThis.setImmediate = (turn, ...given) => later(() => {
    const startMs = usedMs();
    turn(...given);
    const ms = usedMs() - startMs;
    if (ms > ${notedMs}) appendFileSync(${JSON.stringify(file)}, ms.toFixed(1) + '\\n');
  });
}
`;

/** The option of node with which the service writes the CPU times of its longer turns to this file. */
export function notingTurns(file: string): string {
  return `--import=data:text/javascript,${encodeURIComponent(code(file))}`;
}

/** The CPU times of the longer turns so far, in ms. Throws if the ledger thread has not created the file. */
export function notedTurns(file: string): number[] {
  return readFileSync(file, 'latin1').split('\n').slice(0, -1).map(Number);
}
