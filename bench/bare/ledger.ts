// The ledger of the bare gateway. In each turn, all waiting calls become one record. The record is appended to a log
// and synced, and then put into LMDB without a sync. Only then are answers and steps sent. There are no checkpoints.
import { spawn } from 'node:child_process';
import { fdatasyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { open } from 'lmdb';
import type { Answer, Begun, Call, Steps } from './protocol.ts';

/** The maximum number of steps in one message to the host. A frame of headgate has at most as many jobs. */
const frameStepsMax = 512;

/**
 * The size of the log. The log is filled with zeros at the start. When it is full, writing continues at its beginning.
 */
const logBytes = 64 * 2 ** 20;
const pageBytes = 4096;

const directory = workerData as string;
mkdirSync(directory, { recursive: true });
const log = openSync(join(directory, 'log'), 'w');
writeAll(Buffer.alloc(logBytes), 0);
fdatasyncSync(log);
let logAt = 0;

const store = open<Uint8Array, number>({
  path: directory,
  noSubdir: false,
  overlappingSync: false,
  noSync: true,
  encoding: 'binary',
});
const program = fileURLToPath(new URL('./host.js', import.meta.url));
const host = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
/**
 * What remains of each call, by its id: the number of unfinished steps in the current stage, and the stages after it.
 */
const left = new Map<number, { open: number; readonly stages: readonly number[] }>();
let calls: Call[] = [];
let begun: Begun[number][] = [];
let turns = 0;

function writeAll(bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(log, bytes, at, bytes.length - at, position + at);
}

function append(record: Uint8Array): void {
  const padded = Buffer.alloc(Math.ceil(record.length / pageBytes) * pageBytes);
  padded.set(record);
  if (logAt + padded.length > logBytes) logAt = 0;
  writeAll(padded, logAt);
  logAt += padded.length;
  fdatasyncSync(log);
}

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
  append(record);
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
