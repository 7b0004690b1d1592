// The main thread of a plugin host: reads frames from a pipe, runs them, sends their outcomes over another pipe, and ends with the service.

import { readFileSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { ignoreDebugSignal } from '../../debug-signal.ts';
import { forbidInspection } from '../../inspection.ts';
import { unpack } from '../../packing.ts';
import { sendSignal } from '../../processes/identity.ts';
import { ProgramPids } from '../../processes/program-pids.ts';
import { withSourceNames } from '../../source-names.ts';
import { frameHead } from '../wire/frame.ts';
import { type Configure, fromHostFd, type HostSetup, keyFd, type Stop, toHostFd } from '../wire/host-setup.ts';
import { LearnedMask } from '../wire/mask.ts';
import { MessageReader } from '../wire/message.ts';
import { readTask } from '../wire/outcome-message.ts';
import type { HostedPlugin } from '../wire/plugin-host.ts';
import type { ConcurrentFrames } from './concurrent-frames.ts';
import { captureConsole } from './console.ts';
import { HostSender } from './host-sender.ts';
import { ProcessFrames } from './process-frames.ts';
import type { WorkerFrames } from './worker-frames.ts';

type Workers = WorkerFrames | ConcurrentFrames;
type Generation = { readonly plugins: readonly HostedPlugin[]; readonly workers: Workers | null };

// If the system refuses, it has also refused the service's own call, and the service has logged the refusal.
await forbidInspection().catch(() => {});
ignoreDebugSignal();
const setup = JSON.parse(process.argv[2]!) as HostSetup;
if (setup.umask !== undefined) process.umask(setup.umask);
process.title = `headgate plugins ${setup.name}`;
// The modules for threads are loaded only if the host needs threads. Without these modules, a host stays small and starts programs faster,
// because each start of a program copies the host's page tables.
const FramesOfThreads = setup.runtimes.includes('worker') ? await framesOfThreads() : null;
const toHost = new Socket({ fd: toHostFd, readable: true, writable: false });
const fromHost = new Socket({ fd: fromHostFd, readable: false, writable: true });
// The host's key (wire/message.ts) is read before any plugin code is loaded, and stays in this thread.
const sender = new HostSender(fromHost, readFileSync(keyFd));
const learned = new LearnedMask();
const endConsole = captureConsole(sender, learned);
const marks = new ProgramPids(setup.runDirectory, setup.name, setup.marksId);
const processes = setup.isConcurrent
  ? new (await import('./concurrent-processes.ts')).ConcurrentProcesses(marks, setup.runDirectory, sender)
  : new ProcessFrames(setup.threads, marks, setup.runDirectory, sender);
const generations = new Map<number, Generation>();
let current = 0;
let stopping = false;

async function framesOfThreads() {
  return setup.isConcurrent
    ? (await import('./concurrent-frames.ts')).ConcurrentFrames
    : (await import('./worker-frames.ts')).WorkerFrames;
}

/**
 * Kills all plugin processes, and then the process group of this host, with the processes that plugin threads have started in the group.
 */
function die(): void {
  processes.kill();
  sendSignal(-process.pid, 'SIGKILL');
  process.kill(process.pid, 'SIGKILL');
}

function configure({ generation, plugins }: Configure): void {
  if (generations.has(generation)) return;
  const onStuck = () => {
    writeSync(2, 'a plugin thread cannot be stopped\n');
    die();
  };
  const { threads } = setup;
  const workers =
    FramesOfThreads && new FramesOfThreads({ threads, data: { generation, plugins }, sender, learned, onStuck });
  generations.set(generation, { plugins, workers });
  current = generation;
  processes.retire(plugins);
  retire();
}

/**
 * Ends the threads of each older configuration, once they have no unfinished frame. Looks again every 100 ms until no older configuration
 * is left.
 */
function retire(): void {
  let waits = false;
  for (const [number, { workers }] of generations) {
    if (number === current) continue;
    if (workers === null || workers.idle) {
      generations.delete(number);
      void workers?.close();
    } else {
      waits = true;
    }
  }
  if (waits) setTimeout(retire, 100).unref();
}

function submit(frame: Buffer): void {
  const head = frameHead(frame);
  const generation = generations.get(head.generation);
  if (stopping || generation === undefined) {
    sender.returned(head.frameId, 0, head.count, 'interrupted');
    return;
  }
  if (head.secrets !== null) learned.learn(head.secrets);
  const plugin = generation.plugins[head.plugin]!;
  if (plugin.runtime === 'process') processes.submit(frame, plugin);
  else generation.workers!.submit(head, frame);
}

function stop({ graceMs }: Stop): void {
  stopping = true;
  const endMs = performance.now() + graceMs;
  const ending = all();
  for (const frames of ending) frames.returnUnstarted();
  const endWhenIdle = () => {
    if (ending.some(frames => !frames.idle) && performance.now() < endMs) setTimeout(endWhenIdle, 5);
    else {
      endConsole();
      sender.end(die);
    }
  };
  endWhenIdle();
}

/** Cancels the task, wherever it is, and confirms the cancel. After that, a task that has not begun never begins. */
function cancel({ frameId, task, reason }: ReturnType<typeof readTask>): void {
  for (const frames of all()) frames.cancel(frameId, task, reason);
  sender.cancelling(frameId, task);
}

function all() {
  return [processes, ...[...generations.values()].flatMap(({ workers }) => workers ?? [])];
}

const reader = new MessageReader((kind, body) => {
  if (kind === 'frame') submit(body);
  else if (kind === 'configure') configure(unpack<never>(body));
  else if (kind === 'cancel') cancel(readTask(body));
  else if (kind === 'stop') stop(unpack<never>(body));
  else if (kind === 'ping') sender.pong();
});
toHost.on('data', chunk => reader.push(chunk));
toHost.on('end', die);
for (const pipe of [toHost, fromHost]) pipe.on('error', die).on('close', die);
process.on('uncaughtException', error => {
  writeSync(2, `plugin host: ${withSourceNames(error.stack ?? error.message)}\n`);
  die();
});
// These signals are ignored, because the service ends its hosts itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
sender.ready();
