// The service that a bench measures, which is the real command in a process of its own. Its log line "ready" has the
// address.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { Caller } from './caller.ts';
import { Connection } from './load/connection.ts';
import { until } from './pause.ts';
import { endProfiles, profilingOptions } from './profile/recording.ts';
import { descendantsOf, type Stretch, type Usage, usageOf } from './usage.ts';

const readyMsMax = 120_000;
const stopMsMax = 60_000;

export type Launch = {
  /** The directory with config.yaml. */
  readonly directory: string;
  readonly logFile: string;
  readonly token: string;
  /** The file that node runs. */
  readonly command: string;
  /** The directory for CPU profiles of all threads of the service; undefined: no profiles are made. */
  readonly profiles?: string | undefined;
  /** Options of node. */
  readonly nodeOptions?: readonly string[] | undefined;
};

type ReadyLine = { readonly msg: string; readonly url: string; readonly time: string };

export class Service {
  readonly token: string;
  readonly #child: ChildProcess;
  readonly #logFile: string;
  readonly #exit: Promise<number | string>;
  readonly #profiles: string | undefined;
  /** The stretches measured so far. */
  readonly stretches: Stretch[] = [];
  readonly spawnedAtMs = Date.now();
  #exited = false;
  #orphans: readonly number[] = [];
  #url: URL | null = null;
  /** The time from the start of the process to the time in the log line "ready". */
  #readyMs = Number.NaN;

  constructor({ directory, logFile, token, command, profiles, nodeOptions: more = [] }: Launch) {
    this.token = token;
    this.#profiles = profiles;
    this.#logFile = logFile;
    // The log goes to a file, because the bench would have to read every line of a pipe.
    const log = openSync(logFile, 'w');
    const options = ['--config', directory, '--grace', '5s'];
    const nodeOptions = (process.env['HEADGATE_BENCH_NODE_OPTIONS'] ?? '').split(' ').filter(option => option !== '');
    nodeOptions.push(...more);
    if (profiles !== undefined) nodeOptions.push(...profilingOptions(profiles));
    this.#child = spawn(process.execPath, [...nodeOptions, command, 'start', ...options], {
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#exit = new Promise(resolve => {
      this.#child.once('error', error => resolve(error.message));
      this.#child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
    });
    void this.#exit.then(() => {
      this.#exited = true;
    });
  }

  /** Resolves when the service has logged that it is ready. */
  async ready(): Promise<this> {
    const line = await until(() => this.#readyLine(), {
      everyMs: 5,
      withinMs: readyMsMax,
      what: 'start of the service',
    });
    this.#url = new URL(line.url);
    this.#readyMs = Date.parse(line.time) - this.spawnedAtMs;
    return this;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get url(): URL {
    if (!this.#url) throw new Error('the service is not ready');
    return this.#url;
  }

  get readyMs(): number {
    return this.#readyMs;
  }

  caller(): Caller {
    return new Caller(this.url, this.token);
  }

  /** Opens a connection for requests that are measured one by one. */
  connect(): Promise<Connection> {
    return Connection.open(this.url.hostname, Number(this.url.port));
  }

  usage(): Usage {
    return usageOf(this.pid);
  }

  /** Begins a measured stretch of work; the returned function ends it. */
  stretch(): () => Stretch {
    const before = this.usage();
    return () => {
      const stretch = { before, after: this.usage() };
      this.stretches.push(stretch);
      return stretch;
    };
  }

  /** Stops the service as an operator would. Throws if its exit status is not 0. */
  async stop(): Promise<void> {
    await this.#endProfiles();
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), stopMsMax);
    const status = await this.#exit;
    clearTimeout(late);
    if (status !== 0) throw new Error(`the service ended with ${status}: ${this.lastWords()}`);
  }

  /** Kills the service. Its hosts end a moment later. */
  async kill(): Promise<void> {
    if (!this.#exited) {
      await this.#endProfiles();
      this.#orphans = descendantsOf(this.pid);
    }
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  /** Kills the service; resolves when its hosts have ended too. */
  async end(): Promise<void> {
    await this.kill();
    const isGone = () => (this.#orphans.some(pid => existsSync(`/proc/${pid}`)) ? undefined : true);
    await until(isGone, { everyMs: 10, withinMs: 60_000, what: 'the end of the plugin hosts' });
  }

  /** The last lines of the service's log. */
  lastWords(): string {
    return readFileSync(this.#logFile, 'utf8').trim().split('\n').slice(-5).join('\n');
  }

  /** Throws if the service has ended by itself. */
  assertRunning(): void {
    if (this.#exited) throw new Error(`the service has ended: ${this.lastWords()}`);
  }

  async #endProfiles(): Promise<void> {
    if (this.#profiles !== undefined) await endProfiles(this.pid, this.#profiles);
  }

  #readyLine(): ReadyLine | undefined {
    this.assertRunning();
    const line = readFileSync(this.#logFile, 'utf8')
      .split('\n')
      .find(text => text.includes('"msg":"ready"') && text.endsWith('}'));
    return line === undefined ? undefined : (JSON.parse(line) as ReadyLine);
  }
}
