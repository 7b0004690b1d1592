// The bare gateway's ledger: all waiting calls become one value and one commit; then answers and steps leave. Its store has the same
// options as headgate's.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { open } from 'lmdb';
import type { Answer, Begun, Call, Steps } from './protocol.ts';

/** The most jobs that a frame of headgate has. */
const frameStepsMax = 512;

const store = open<Uint8Array, number>({
  path: workerData as string,
  overlappingSync: false,
  noMemInit: true,
  encoding: 'binary',
});
const program = fileURLToPath(new URL('./host.js', import.meta.url));
const host = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
/** The rest of each call: unfinished steps of the current stage, and the stages after it. */
const left = new Map<number, { open: number; readonly stages: readonly number[] }>();
let calls: Call[] = [];
let begun: Begun[number][] = [];
let turns = 0;

function turn(): void {
  const [taken, ended] = [calls, begun];
  [calls, begun] = [[], []];
  const answers: Answer[] = [];
  const steps: number[] = [];
  const goOn = (id: number, [open, ...stages]: readonly number[], startedUs: number) => {
    if (open === undefined) {
      left.delete(id);
      answers.push({ id, startedUs });
      return;
    }
    left.set(id, { open, stages });
    for (let step = 0; step < open; step++) steps.push(id);
  };
  for (const { id, stages } of taken) goOn(id, stages, 0);
  for (const [id, startedUs] of ended) {
    const call = left.get(id)!;
    if (--call.open === 0) goOn(id, call.stages, startedUs);
  }
  const record = Buffer.concat([...taken.map(({ body }) => body), Buffer.from(JSON.stringify([ended, steps]))]);
  store.transactionSync(() => void store.put(++turns, record));
  for (let at = 0; at < steps.length; at += frameStepsMax) {
    host.stdin.write(`${JSON.stringify(steps.slice(at, at + frameStepsMax) satisfies Steps)}\n`);
  }
  if (answers.length > 0) parentPort!.postMessage(answers);
}

function later(): void {
  if (calls.length + begun.length === 0) setImmediate(turn);
}

parentPort!.on('message', (packet: Call[]) => {
  later();
  calls.push(...packet);
});
createInterface({ input: host.stdout }).on('line', line => {
  later();
  begun.push(...(JSON.parse(line) as Begun));
});
