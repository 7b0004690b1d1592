// A plugin host as the ledger thread has it: a child process that is fed frames, and started again when it dies.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { pack, unpack } from '../packing.ts';
import { pluginEnvironment } from './environment.ts';
import { encodeFrame } from './frame.ts';
import type { HostSetup } from './main.ts';
import { killGroup, Marks } from './marks.ts';
import type { HostedPlugin, HostOptions, PluginHost, TaskFrame } from './port.ts';
import { settleFailure } from './response.ts';
import { readOutcomes, readReturned } from './settlement.ts';
import { Tail } from './tail.ts';
import { encodeMessage, type MessageKind, MessageReader } from './wire.ts';

const backoffMsMin = 100;
const backoffMsMax = 5_000;
/** A host that lived so long did not die of how it was started. */
const steadyMs = 10_000;
/** How long beyond its grace a stopping host may take before it is killed. */
const stopMarginMs = 3_000;
/** For what the host wrote before it died. */
const lastWordsMs = 500;

type Configuration = { generation: number; numbers: Map<string, number>; message: Buffer; asked: string };
type Running = { readonly child: ChildProcess; readonly pipe: Socket; readonly startedMs: number };

export function startHost(options: HostOptions): PluginHost {
  const { listener, log, name } = options;
  const marks = new Marks(options.runDirectory, name);
  let configuration: Configuration = { generation: 0, numbers: new Map(), message: Buffer.alloc(0), asked: '' };
  let running: Running | null = null;
  /** What was submitted while no process was there. */
  let backlog: Buffer[] = [];
  let backlogFrames: TaskFrame[] = [];
  let failures = 0;
  let restart: NodeJS.Timeout | null = null;
  let stopped: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null;

  void start();
  return { configure, submit, stop };

  async function start(): Promise<void> {
    restart = null;
    await marks.killAll(message => log('warn', message, { host: name }));
    if (stopped) return stopped.resolve();
    const setup: HostSetup = { name, threads: options.threads, runDirectory: options.runDirectory };
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('./main.js', import.meta.url)), JSON.stringify(setup)],
      {
        env: pluginEnvironment(process.env, options.envPassthrough),
        stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
        // A group of its own: what its threads start can be killed with it.
        detached: true,
      },
    );
    const pipe = child.stdio[3] as Socket;
    const stderr = new Tail();
    const startedMs = performance.now();
    child.on('error', error => {
      log('error', 'the plugin host cannot be started', { host: name, error: error.message });
      if (child.pid === undefined) again();
    });
    if (child.pid === undefined) return;
    marks.put(child.pid);
    running = { child, pipe, startedMs };
    const reader = new MessageReader(take);
    pipe.on('data', chunk => reader.push(chunk));
    pipe.on('error', () => {});
    child.stderr!.on('data', chunk => stderr.push(chunk));
    const pipeClosed = new Promise<void>(resolve => pipe.once('close', () => resolve()));
    child.once('exit', async (code, signal) => {
      killGroup(child.pid!);
      // What it had answered before counts.
      await Promise.race([pipeClosed, new Promise(resolve => setTimeout(resolve, lastWordsMs))]);
      pipe.destroy();
      await marks.killAll(message => log('warn', message, { host: name }));
      running = null;
      if (stopped) return stopped.resolve();
      failures = performance.now() - startedMs > steadyMs ? 0 : failures + 1;
      const said = stderr.text().trim();
      const reason = `the plugin host died (${signal ?? `exit status ${code}`})${said && `: ${lastLine(said)}`}`;
      log('error', reason, { host: name, pid: child.pid, stderr: said });
      backlog = [];
      backlogFrames = [];
      listener.onLost(reason);
      again();
    });
    if (configuration.message.length > 0) pipe.write(configuration.message);
    for (const message of backlog) pipe.write(message);
    backlog = [];
    backlogFrames = [];
  }

  function again(): void {
    if (stopped) {
      stopped.resolve();
      return;
    }
    const delayMs = failures <= 1 ? 0 : Math.min(backoffMsMax, backoffMsMin * 2 ** (failures - 2));
    restart = setTimeout(() => void start(), delayMs);
  }

  function take(kind: MessageKind, body: Buffer): void {
    if (kind === 'outcomes') {
      const { frameId, outcomes } = readOutcomes(body);
      listener.onOutcomes(frameId, outcomes);
    } else if (kind === 'returned') {
      const { frameId, tasks } = readReturned(body);
      listener.onReturned(frameId, tasks);
    } else if (kind === 'replaced') {
      listener.onThreadReplaced(body.toString());
    } else if (kind === 'log') {
      const [level, message, fields] = unpack<[never, string, Record<string, unknown>]>(body);
      log(level, message, { host: name, ...fields });
    } else if (kind === 'ready') {
      log('debug', 'the plugin host is up', { host: name, pid: running?.child.pid });
    }
  }

  function configure(generation: number, plugins: readonly HostedPlugin[]): void {
    const asked = JSON.stringify([generation, plugins]);
    if (asked === configuration.asked) return;
    const numbers = new Map(plugins.map(({ instance }, i) => [instance, i]));
    const next = configuration.generation + 1;
    const message = encodeMessage('configure', pack({ generation: next, plugins }));
    configuration = { generation: next, numbers, message, asked };
    running?.pipe.write(message);
  }

  function submit(frame: TaskFrame): void {
    if (stopped) {
      setImmediate(() => listener.onReturned(frame.frameId, allTasks(frame)));
      return;
    }
    const number = configuration.numbers.get(frame.instance);
    if (number === undefined) {
      refuse(frame, `there is no plugin "${frame.instance}"`);
      return;
    }
    const message = encodeFrame(frame, configuration.generation, number);
    if (running === null) {
      backlog.push(message);
      backlogFrames.push(frame);
      return;
    }
    // One write to the system for all frames of a turn.
    const { pipe } = running;
    if (pipe.writableCorked === 0) {
      pipe.cork();
      process.nextTick(() => pipe.uncork());
    }
    pipe.write(message);
  }

  function refuse(frame: TaskFrame, reason: string): void {
    const { verdict, permanent, body } = settleFailure(reason, true);
    const startedUs = Date.now() * 1000;
    const outcomes = frame.payloads.map((_, task) => ({ task, verdict, permanent, startedUs, runUs: 0, body }));
    setImmediate(() => listener.onOutcomes(frame.frameId, outcomes));
  }

  function stop(graceMs: number): Promise<void> {
    if (stopped) return stopped.promise;
    let resolve = (): void => {};
    const promise = new Promise<void>(done => {
      resolve = done;
    });
    stopped = { promise, resolve };
    for (const frame of backlogFrames) {
      listener.onReturned(frame.frameId, allTasks(frame));
    }
    backlog = [];
    backlogFrames = [];
    if (restart !== null) {
      clearTimeout(restart);
      void marks.killAll().then(resolve);
    }
    if (running !== null) {
      const { child, pipe } = running;
      pipe.write(encodeMessage('stop', pack({ graceMs })));
      const late = setTimeout(() => killGroup(child.pid!), graceMs + stopMarginMs);
      void promise.then(() => clearTimeout(late));
    }
    return promise;
  }
}

function allTasks(frame: TaskFrame): number[] {
  return frame.payloads.map((_, task) => task);
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1);
}
