// The process of the bare gateway, with the sockets on this thread and the ledger on another. It does only what durable
// jobs require.

import uws, { type HttpResponse, type us_listen_socket } from 'uWebSockets.js';
import { Worker } from 'node:worker_threads';
import { type Answer, type Call, stagesOf } from './protocol.ts';

const [directory] = process.argv.slice(2);
const ledger = new Worker(new URL('./ledger.js', import.meta.url), { workerData: directory });
const waiting = new Map<number, HttpResponse>();
let calls: Call[] = [];
let count = 0;

/** Sends all calls of one poll of the sockets as one packet. */
function send(): void {
  ledger.postMessage(calls);
  calls = [];
}

function take(response: HttpResponse, id: number, stages: readonly number[], body: Uint8Array): void {
  waiting.set(id, response);
  if (calls.push({ id, stages, body }) === 1) setImmediate(send);
}

ledger.on('message', (answers: Answer[]) => {
  for (const { id, startedUs } of answers) {
    const response = waiting.get(id);
    waiting.delete(id);
    response?.cork(() => {
      response.writeStatus('202 Accepted').end(JSON.stringify({ job_id: id, started_us: startedUs }));
    });
  }
});
ledger.on('error', error => {
  throw error;
});

uws
  .App()
  .post('/*', (response, request) => {
    const stages = stagesOf[request.getUrl()]!;
    const id = ++count;
    let body: Buffer = Buffer.alloc(0);
    response.onAborted(() => void waiting.delete(id));
    response.onData((chunk, isLast) => {
      body = Buffer.concat([body, Buffer.from(chunk)]);
      if (isLast) take(response, id, stages, body);
    });
  })
  .listen('127.0.0.1', 0, (socket: us_listen_socket | false) => {
    if (!socket) throw new Error('cannot listen');
    process.stdout.write(`${uws.us_socket_local_port(socket)}\n`);
  });

// This process ends when the process that started it ends.
process.stdin.on('end', () => process.exit(0)).resume();
