// The ledger thread's side of a plugin host: sends frames to the host's process, and starts another process when that process dies.

import { setTimeout as sleep } from 'node:timers/promises';
import { pack, unpack } from '../../packing.ts';
import { PidFiles } from '../../processes/pid-files.ts';
import { encodeFrame } from '../wire/frame.ts';
import type { Configure, Stop } from '../wire/host-setup.ts';
import { LearnedMask } from '../wire/mask.ts';
import { encodeMessage, type Message, type MessageKind } from '../wire/message.ts';
import { readOutcomes, readReturned, readTask, taskMessage } from '../wire/outcome-message.ts';
import {
  type HostedPlugin,
  type HostOptions,
  hostLogLevels,
  type PluginHost,
  type TaskFrame,
} from '../wire/plugin-host.ts';
import { describe, resultOfFailure } from '../wire/response.ts';
import { HostProcess } from './host-process.ts';

const backoffMsMin = 100;
const backoffMsMax = 5_000;
/**
 * A process that ran for longer than this, or that came up and got frames, counts as sound. After the second unsound process in a row, the
 * start of the next process is delayed.
 */
const steadyMs = 10_000;
/** A host that does not confirm a cancel within this time is killed, because the task's code could still start. */
export const confirmMsMax = 5_000;
/** A stopping host that has not ended this long after its grace period is killed. */
const stopMarginMs = 3_000;

/**
 * `generation`: the number of this configuration, counted per host. `numbers`: the position of each plugin instance in the list of
 * plugins. `message`: the message that each process gets. `given`: the arguments of `configure`, by which a repeated call is recognized.
 */
type Configuration = {
  readonly generation: number;
  readonly numbers: ReadonlyMap<string, number>;
  readonly message: Buffer;
  readonly given: string;
};

type Submitted = { readonly frame: TaskFrame; readonly message: Message };

export class Host implements PluginHost {
  /** Resolves when the host has been stopped and all its processes have ended. */
  readonly over: Promise<void>;
  readonly #options: HostOptions;
  readonly #marks: PidFiles;
  readonly #stopping = new AbortController();
  #configuration: Configuration = { generation: 0, numbers: new Map(), message: Buffer.alloc(0), given: '' };
  #process: HostProcess | null = null;
  /** Whether the current process has come up. */
  #isUp = false;
  /** Whether the current process has been sent a frame. */
  #hadFrames = false;
  readonly #learned = new LearnedMask();
  /** The cancels that the current process has not confirmed yet, each with the timer that will kill the process. */
  readonly #unconfirmed = new Map<string, NodeJS.Timeout>();
  /**
   * Frames that no process has received completely: no process was up when they were submitted, or the process died before all their
   * bytes were written to it.
   */
  readonly #backlog: Submitted[] = [];

  constructor(options: HostOptions) {
    this.#options = options;
    this.#marks = new PidFiles(options.runDirectory, options.name);
    this.#marks.claim();
    this.over = this.#supervise().finally(() => this.#marks.release());
  }

  configure(generation: number, plugins: readonly HostedPlugin[]): void {
    const given = JSON.stringify([generation, plugins]);
    if (given === this.#configuration.given) return;
    const body: Configure = { generation: this.#configuration.generation + 1, plugins };
    const message = encodeMessage('configure', pack(body));
    const numbers = new Map(plugins.map(({ instance }, i) => [instance, i]));
    this.#configuration = { generation: body.generation, numbers, message, given };
    this.#process?.send({ head: message });
  }

  submit(frame: TaskFrame): void {
    const { generation, numbers } = this.#configuration;
    const number = numbers.get(frame.instance);
    if (this.#stopping.signal.aborted) setImmediate(() => this.#return(frame));
    else if (number === undefined)
      setImmediate(() => this.#refuse(frame, `the plugin "${frame.instance}" is not configured`));
    else {
      let message: Message;
      try {
        if (frame.secrets) this.#learned.learn(frame.secrets);
        message = encodeFrame(frame, generation, number);
      } catch (error) {
        // Reports an outcome, because an exception would make the ledger's actors restart and send the same frame again.
        setImmediate(() =>
          this.#refuse(frame, `the job cannot be sent to its plugin host: ${(error as Error).message}`),
        );
        return;
      }
      this.#send({ frame, message });
    }
  }

  #send(submitted: Submitted): void {
    const keep = () => void this.#backlog.push(submitted);
    // A process that is not up yet may die without starting any job.
    if (this.#process === null || !this.#isUp) keep();
    else {
      this.#hadFrames = true;
      this.#process.send(submitted.message, keep);
    }
  }

  cancel(frameId: number, task: number, reason: string): void {
    const place = this.#backlog.findIndex(({ frame }) => frame.frameId === frameId);
    if (place >= 0) {
      const [{ frame }] = this.#backlog.splice(place, 1) as [Submitted];
      setImmediate(() => this.#return(frame));
      return;
    }
    const running = this.#process;
    // The process has ended, and the task with it.
    if (running === null) return;
    const name = `${frameId} ${task}`;
    // A task may be cancelled again before the first cancel is confirmed: one timer waits for the first confirmation.
    if (!this.#unconfirmed.has(name)) {
      // If this thread was busy, the confirmation may have arrived unread. It is read before `setImmediate` calls back.
      const late = setTimeout(() => {
        setImmediate(() => this.#unconfirmed.get(name) === late && running.kill());
      }, confirmMsMax);
      this.#unconfirmed.set(name, late);
    }
    running.send({ head: taskMessage('cancel', frameId, task, reason) });
  }

  #confirm(frameId: number, task: number): void {
    const name = `${frameId} ${task}`;
    clearTimeout(this.#unconfirmed.get(name));
    this.#unconfirmed.delete(name);
    this.#options.listener.onCancelling(frameId, task);
  }

  async stop(graceMs: number): Promise<void> {
    if (this.#stopping.signal.aborted) return this.over;
    this.#stopping.abort();
    for (const { frame } of this.#backlog.splice(0)) this.#return(frame);
    const running = this.#process;
    running?.send({ head: encodeMessage('stop', pack({ graceMs } satisfies Stop)) });
    const late = setTimeout(() => running?.kill(), graceMs + stopMarginMs);
    await this.over;
    clearTimeout(late);
  }

  /**
   * Runs one process after another until the host is stopped. A process starts only when all processes that the previous process started
   * have ended.
   */
  async #supervise(): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 0; ; ) {
      await this.#clear();
      if (signal.aborted) return;
      const startedMs = performance.now();
      const running = await this.#start();
      if (running !== null) {
        const reason = await running.gone;
        await this.#clear();
        this.#process = null;
        for (const late of this.#unconfirmed.values()) clearTimeout(late);
        this.#unconfirmed.clear();
        // No frame in the backlog has completely reached the process, so these frames are returned, and do not count as lost.
        for (const { frame } of this.#backlog.splice(0)) this.#return(frame);
        if (signal.aborted) return;
        this.#options.log('error', reason, { host: this.#options.name, pid: running.pid });
        this.#options.listener.onLost(reason);
      }
      const isSound = performance.now() - startedMs > steadyMs || (this.#isUp && this.#hadFrames);
      failures = isSound ? 0 : failures + 1;
      const delayMs = failures < 2 ? 0 : Math.min(backoffMsMax, backoffMsMin * 2 ** (failures - 2));
      if (delayMs > 0) this.#log('warn', `the plugin host keeps failing to start; next attempt in ${delayMs} ms`);
      await sleep(delayMs, null, { signal }).catch(() => {});
    }
  }

  #log(level: 'warn' | 'error', message: string): void {
    this.#options.log(level, message, { host: this.#options.name });
  }

  /** Starts a process. Returns null if the system cannot start it; submitted frames then wait for a later process. */
  async #start(): Promise<HostProcess | null> {
    this.#isUp = false;
    this.#hadFrames = false;
    const running = await HostProcess.start(
      this.#options,
      this.#marks,
      (kind, body) => this.#take(kind, body),
      text => this.#learned.text(text),
    ).catch(error => describe(error));
    if (typeof running === 'string') {
      this.#log('error', `the plugin host cannot be started: ${running}`);
      return null;
    }
    if (this.#stopping.signal.aborted) running.kill();
    this.#process = running;
    if (this.#configuration.message.length > 0) running.send({ head: this.#configuration.message });
    return running;
  }

  /**
   * Kills everything that ended hosts have left behind: earlier processes of this host, and other hosts. Resolves only when all these
   * processes have ended, so that no job runs twice at once.
   */
  async #clear(): Promise<void> {
    const { log, name } = this.#options;
    for (;;) {
      try {
        await this.#marks.killAll(message => log('warn', message, { host: name }));
        return;
      } catch (error) {
        log('error', 'surviving plugin processes cannot be searched for', { host: name, error: describe(error) });
        await sleep(backoffMsMax);
      }
    }
  }

  #take(kind: MessageKind, body: Buffer): void {
    const { listener, log, name } = this.#options;
    if (kind === 'outcomes') {
      const { frameId, outcomes } = readOutcomes(body, this.#options.clock.wallUs);
      listener.onOutcomes(frameId, outcomes);
    } else if (kind === 'returned') {
      const { frameId, tasks, reason } = readReturned(body);
      listener.onReturned(frameId, tasks, reason);
    } else if (kind === 'cancelling') {
      const { frameId, task } = readTask(body);
      this.#confirm(frameId, task);
    } else if (kind === 'replaced') {
      listener.onThreadReplaced(body.toString());
    } else if (kind === 'log') {
      const { level, message, fields } = readLog(body);
      log(level, message, { host: name, ...fields });
    } else if (kind === 'ready') {
      this.#isUp = true;
      for (const submitted of this.#backlog.splice(0)) this.#send(submitted);
      log('debug', 'the plugin host is up', { host: name, pid: this.#process?.pid });
    } else if (kind !== 'pong') throw new RangeError(`unexpected message type "${kind}" from a host`);
  }

  #return(frame: TaskFrame): void {
    this.#options.listener.onReturned(
      frame.frameId,
      frame.payloads.map((_, task) => task),
      'interrupted',
    );
  }

  #refuse(frame: TaskFrame, reason: string): void {
    const { verdict, permanent, body } = resultOfFailure(reason, true);
    const startedUs = this.#options.clock.nowUs();
    const outcomes = frame.payloads.map((_, task) => ({ task, verdict, permanent, startedUs, runUs: 0, body }));
    this.#options.listener.onOutcomes(frame.frameId, outcomes);
  }
}

/** Throws if the bytes are not a log line. */
function readLog(body: Buffer) {
  const decoded = unpack<unknown>(body);
  const [name, message, fields] = Array.isArray(decoded) ? decoded : [];
  const level = hostLogLevels.find(known => known === name);
  if (level === undefined || typeof message !== 'string' || typeof fields !== 'object')
    throw new RangeError('invalid log message');
  return { level, message, fields: { ...fields } as Record<string, unknown> };
}
