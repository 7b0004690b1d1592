// The bare gateway's ledger: what waits is one value and one commit, then answers and steps leave. The store is set up as the product's.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { open } from 'lmdb';
import type { Answer, Begun, Call, Steps } from './protocol.ts';

const store = open<Uint8Array, number>({
  path: workerData as string,
  overlappingSync: false,
  noMemInit: true,
  encoding: 'binary',
});
const program = fileURLToPath(new URL('./host.js', import.meta.url));
const host = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
const left = new Map<number, number>();
let calls: Call[] = [];
let begun: Begun[number][] = [];
let turns = 0;

function turn(): void {
  const [taken, ended] = [calls, begun];
  [calls, begun] = [[], []];
  const record = Buffer.concat([...taken.map(({ body }) => body), Buffer.from(JSON.stringify(ended))]);
  store.transactionSync(() => void store.put(++turns, record));
  const answers: Answer[] = [];
  const steps: number[] = [];
  const goOn = (id: number, more: number, startedUs: number) => {
    if (more > 0) {
      left.set(id, more - 1);
      steps.push(id);
    } else {
      left.delete(id);
      answers.push({ id, startedUs });
    }
  };
  for (const { id, steps: asked } of taken) goOn(id, asked, 0);
  for (const [id, startedUs] of ended) goOn(id, left.get(id)!, startedUs);
  if (steps.length > 0) host.stdin.write(`${JSON.stringify(steps satisfies Steps)}\n`);
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
