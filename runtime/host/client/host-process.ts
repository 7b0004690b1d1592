// One process of a plugin host, from its start until its process group has been killed.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { PidFiles } from '../../processes/pid-files.ts';
import { ProcessGroup } from '../../processes/process-group.ts';
import { originVariable } from '../../processes/stray-processes.ts';
import { fromHostFd, type HostSetup, toHostFd } from '../wire/host-setup.ts';
import { encodeMessage, keyBytes, type Message, type MessageKind, MessageReader } from '../wire/message.ts';
import { OutputTail } from '../wire/output-tail.ts';
import type { HostOptions } from '../wire/plugin-host.ts';
import { describe } from '../wire/response.ts';
import { pluginEnvironment } from './environment.ts';
import { Outbox } from './outbox.ts';

/**
 * The interval of pings. If the host sends no message after `unansweredMax` pings in a row, it is killed when the next ping is
 * due, because it no longer enforces deadlines.
 */
export const pingMs = 10_000;
const unansweredMax = 3;
const ping = encodeMessage('ping', new Uint8Array(0));

/** When a host has died, the messages that it had written are read for at most this long. */
const lastWordsMs = 500;

/**
 * The Node options of a host that only starts programs. By default, short-lived objects would take half of such a host's memory.
 */
const smallOptions = ['--max-semi-space-size=1'];

export type HostMessage = (kind: MessageKind, body: Buffer) => void;

export class HostProcess {
  readonly pid: number;
  /**
   * Resolves when the host has ended. Its last messages are read before that, for at most `lastWordsMs`; after a fault none are read. The
   * value says why the host ended.
   */
  readonly gone: Promise<string>;
  readonly #child: ChildProcess;
  readonly #group: ProcessGroup;
  /** Each direction has a pipe of its own. A failed write destroys its pipe, but not the outcomes that the host has already sent. */
  readonly #toHost: Socket;
  readonly #fromHost: Socket;
  readonly #outbox: Outbox;
  readonly #stderr = new OutputTail();

  private constructor(child: ChildProcess, pid: number, take: HostMessage, hide: (text: string) => string) {
    this.pid = pid;
    const key = randomBytes(keyBytes);
    child.stdin!.on('error', () => {});
    child.stdin!.end(key);
    this.#child = child;
    this.#group = new ProcessGroup(child);
    this.#toHost = child.stdio[toHostFd] as Socket;
    this.#fromHost = child.stdio[fromHostFd] as Socket;
    this.#outbox = new Outbox(this.#toHost);
    this.gone = this.#live(key, take, hide);
  }

  /** Rejects if the system cannot start the process. `hide` masks secrets in the host's last output. */
  static async start(
    options: HostOptions,
    marks: PidFiles,
    take: HostMessage,
    hide: (text: string) => string,
  ): Promise<HostProcess> {
    const { name, threads, runtimes, runDirectory, envPassthrough, umask } = options;
    const { isConcurrent = false } = options;
    const setup: HostSetup = { name, threads, runtimes, isConcurrent, runDirectory, umask, marksId: marks.id };
    const main = fileURLToPath(new URL('../process/main.js', import.meta.url));
    const nodeOptions = runtimes.includes('worker') ? [] : smallOptions;
    const child = spawn(process.execPath, [...nodeOptions, main, JSON.stringify(setup)], {
      env: { ...pluginEnvironment(process.env, envPassthrough), [originVariable]: marks.id },
      stdio: ['pipe', 'ignore', 'pipe', 'pipe', 'pipe'],
      // Makes the host the leader of a process group. Killing the group also kills the processes that plugin threads have started in the
      // group.
      detached: true,
    });
    // `spawn` throws some errors and emits others as `error`.
    if (child.pid === undefined) throw (await once(child, 'error'))[0];
    const host = new HostProcess(child, child.pid, take, hide);
    try {
      marks.put(child.pid);
    } catch (error) {
      options.log('warn', 'the pid file of the plugin host cannot be written', { host: name, error: describe(error) });
    }
    return host;
  }

  /**
   * Writes the message at once, or after a long message that is still being written. The host can therefore begin while the ledger thread
   * is still sending other messages. If the pipe closes before it has taken the whole message, `onUnread` is called before `gone` resolves.
   * If the process has ended or the pipe is closed already, `onUnread` is called at once.
   */
  send(message: Message, onUnread: () => void = () => {}): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null || !this.#toHost.writable) onUnread();
    else this.#outbox.send(message, onUnread);
  }

  kill(): void {
    this.#group.signal('SIGKILL');
  }

  async #live(key: Buffer, take: HostMessage, hide: (text: string) => string): Promise<string> {
    const child = this.#child;
    let unanswered = 0;
    const reader = new MessageReader((kind, body) => {
      unanswered = 0;
      take(kind, body);
    }, key);
    let fault: string | null = null;
    const pinging = setInterval(() => {
      if (unanswered++ < unansweredMax) {
        this.send({ head: ping });
        return;
      }
      fault ??= ', which had stopped answering';
      this.kill();
    }, pingMs);
    this.#fromHost.on('data', chunk => {
      if (fault !== null) return;
      try {
        reader.push(chunk);
      } catch (error) {
        // The message may come from plugin code, which runs in the host's process and can write to the pipe.
        fault = `, which sent the service an invalid message: ${describe(error)}`;
        this.kill();
      }
    });
    for (const pipe of [this.#toHost, this.#fromHost]) pipe.on('error', () => {});
    this.#outbox.onFault = error => {
      fault ??= `, which received a message only in part: ${describe(error)}`;
      this.kill();
    };
    child.stderr!.on('data', chunk => this.#stderr.push(chunk));
    const closed = Promise.all(
      [this.#fromHost, child.stderr!].map(stream => new Promise(done => stream.once('close', done))),
    );
    const [code, signal] = await once(child, 'exit');
    clearInterval(pinging);
    this.#group.end();
    // Waits for the outcomes that the host sent before it died, because these outcomes count.
    await Promise.race([closed, sleep(lastWordsMs)]);
    this.#toHost.destroy();
    this.#fromHost.destroy();
    this.#outbox.close();
    child.stderr!.destroy();
    const output = hide(this.#stderr.text().trim());
    return `the plugin host died (${signal ?? `exit status ${code}`})${fault ?? ''}${output && `: ${output.slice(-1000)}`}`;
  }
}
