// Runs jobs of plugins in a host, without a gateway.

import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../runtime/clock.ts';
import { pluginEnvironment } from '../../runtime/host/client/environment.ts';
import { Host } from '../../runtime/host/client/host.ts';
import { Program, type ProgramEnd } from '../../runtime/host/process/program.ts';
import { type BodyParts, decodeBody } from '../../runtime/host/wire/outcome.ts';
import type { HostedPlugin, Outcome, PluginHost } from '../../runtime/host/wire/plugin-host.ts';
import { jobId, makeBlockKeys } from '../../runtime/ids.ts';
import { type Json, pack, packedEmpty } from '../../runtime/packing.ts';
import { ProgramPids } from '../../runtime/processes/program-pids.ts';
import { commandLine } from '../../runtime/processes/sandbox.ts';

/** `lost`: the host died during the job, or returned the job without starting it. */
export type HarnessAnswer = {
  readonly verdict: Outcome['verdict'] | 'lost';
  /** The error message; empty if the verdict is `ok`. */
  readonly error: string;
  readonly parts: BodyParts;
  readonly runMs: number;
  /** Whether the host had to replace the thread of the job. */
  readonly isReplaced: boolean;
};

export class PluginHarness {
  readonly #directory = mkdtempSync(join(tmpdir(), 'headgate-plugin-test-'));
  readonly #keys = makeBlockKeys(() => randomInt(2 ** 32));
  readonly #host: PluginHost;
  #frameId = 0;
  #isReplaced = false;
  #finish: (outcome: Outcome | string) => void = () => {};

  constructor(plugins: readonly HostedPlugin[], envPassthrough: readonly string[] = []) {
    this.#host = new Host({
      name: 'plugin-test',
      threads: 1,
      runtimes: ['worker', 'process'],
      runDirectory: this.#directory,
      envPassthrough,
      clock: systemClock(),
      listener: {
        onOutcomes: (_, [outcome]) => this.#finish(outcome!),
        onReturned: () => this.#finish('the host returned the job without starting it'),
        onLost: reason => this.#finish(reason),
        onCancelling: () => {},
        onThreadReplaced: () => {
          this.#isReplaced = true;
        },
      },
      log: () => {},
    });
    this.#host.configure(1, plugins);
  }

  /** Runs one job. Calls must not overlap. */
  async ask(instance: string, command: string, payload: Json, deadlineMs: number): Promise<HarnessAnswer> {
    this.#isReplaced = false;
    const nowMs = Date.now();
    const event =
      command === 'handle' ? { type: 'api.trigger', source: 'plugin test', eventId: null, dedupeKey: null } : null;
    const rest = { context: packedEmpty, pipeline: null, stepId: null, depth: 0 };
    const outcome = await new Promise<Outcome | string>(finish => {
      this.#finish = finish;
      this.#host.submit({
        frameId: ++this.#frameId,
        instance,
        command,
        deadlineMs,
        state: packedEmpty,
        groups: [{ count: 1, ...rest, event, createdUs: nowMs * 1000 }],
        ids: jobId(this.#keys.next(nowMs), 0),
        attempts: [1],
        payloads: [pack(payload)],
      });
    });
    if (typeof outcome === 'string')
      return { verdict: 'lost', error: outcome, parts: {}, runMs: Date.now() - nowMs, isReplaced: false };
    const parts = decodeBody(outcome.body);
    const error = parts.error === undefined ? '' : Buffer.from(parts.error).toString();
    return { verdict: outcome.verdict, error, parts, runMs: outcome.runUs / 1000, isReplaced: this.#isReplaced };
  }

  /** Starts a process plugin, writes `input` to its stdin, and closes stdin. Resolves with the end of the process and its stdout. */
  async feed(plugin: HostedPlugin, input: string): Promise<{ readonly end: ProgramEnd; readonly stdout: string }> {
    const words = commandLine(plugin, this.#directory);
    const marks = new ProgramPids(this.#directory, 'stand', 'garbage');
    const program = new Program(plugin, words, marks, pluginEnvironment(process.env, []));
    if (!program.hasStarted) return { end: await program.ended, stdout: '' };
    const chunks: Buffer[] = [];
    program.stdout.on('data', chunk => chunks.push(chunk));
    program.stderr.resume();
    program.stdin.write(input);
    program.endInput();
    return { end: await program.ended, stdout: Buffer.concat(chunks).toString() };
  }

  async close(): Promise<void> {
    await this.#host.stop(0);
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
