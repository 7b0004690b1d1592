// A real gateway for a test: the command itself, on port 0, in a directory of its own that is gone afterwards.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, expect, onTestFailed, onTestFinished } from 'vitest';
import { livingStat } from '../../../runtime/processes/identity.ts';
import { childrenOf } from '../canary/processes.ts';
import { Traces } from '../canary/traces.ts';
import { everythingToken, type Settings, writeConfiguration } from './configuration.ts';
import { send } from './send.ts';
import { until } from './until.ts';

/** The error of an unanswered call says how the service ended, if the end is noticed within this time after the call failed. */
const deathMsMax = 500;
/** Garbage collection without helper threads: on two cores that tests share, a start takes 0.59 s of CPU with this option, 0.69 s without. */
const collector = '--single-threaded-gc';
const root = fileURLToPath(new URL('../../..', import.meta.url));

export type Status = 'queued' | 'running' | 'succeeded' | 'failed' | 'timed_out' | 'dead' | 'cancelled';

export type Output = {
  readonly status: string;
  readonly result: unknown;
  readonly error?: string;
  readonly events: readonly unknown[];
  readonly state_updates: object;
  readonly logs: readonly object[];
};

export type Job = {
  readonly job_id: string;
  readonly parent_job_id: string | null;
  readonly status: Status;
  readonly plugin: string;
  readonly command: string;
  readonly submitted_by: string;
  readonly attempt: number;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly result: Output | null;
  readonly last_error?: string;
};

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body if it is JSON, otherwise `{ text }`. */
  readonly body: { readonly [key: string]: unknown };
};

export type Ended = { readonly status: number | null; readonly signal: NodeJS.Signals | null };
export type Note = { readonly job: string; readonly attempt: number; readonly what: string; readonly name?: string };
export type LogLine = { readonly msg?: string; readonly level?: number; readonly [field: string]: unknown };
export type CallOptions = { readonly token?: string | null; readonly headers?: { readonly [name: string]: string } };

/** Starts a gateway that lives as long as the test. */
export async function startGateway(settings: Settings = {}, more: Launch = {}): Promise<Gateway> {
  const gateway = new Gateway(settings, more);
  onTestFinished(() => gateway.discard());
  onTestFailed(() => gateway.report());
  await gateway.start();
  return gateway;
}

/** Starts a gateway for all tests of a file that do not disturb one another. */
export function shareGateway(settings: Settings, more: Launch = {}): Gateway {
  const gateway = new Gateway(settings, more);
  beforeAll(async () => {
    await gateway.start();
    return () => gateway.discard();
  });
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') gateway.report();
  });
  return gateway;
}

/** Starts a gateway that must fail to come up. Returns how it ended, and what it logged. */
export async function refusedStart(settings: Settings, more: Launch = {}): Promise<Ended & { readonly said: string }> {
  const gateway = new Gateway(settings, more);
  onTestFinished(() => gateway.discard());
  await gateway.start().then(
    () => expect.fail('it came up'),
    () => {},
  );
  const end = await gateway.ended;
  return { ...end, said: gateway.log.map(({ msg }) => msg).join('\n') };
}

export type Launch = {
  readonly grace?: string;
  readonly environment?: { readonly [name: string]: string };
  /** A command, with its arguments, that runs the service in its own process. */
  readonly through?: readonly string[];
};

export class Gateway {
  /** The end of the process that was started last. */
  ended: Promise<Ended> = Promise.reject(new Error('it was never started'));
  stderr = '';
  #url = '';
  #webhooks = '';
  #child: ChildProcess | null = null;
  readonly #settings: Settings;
  #launch: Launch;
  #directory: string | null = null;
  readonly #traces = new Traces();

  constructor(settings: Settings, launch: Launch = {}) {
    this.#settings = settings;
    this.#launch = launch;
    this.ended.catch(() => {});
  }

  /** Where configuration, state and journal are; made when it is first asked for. */
  get directory(): string {
    if (this.#directory === null) {
      this.#directory = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-')));
      writeConfiguration(this.#directory, this.#settings);
    }
    return this.#directory;
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  get url(): string {
    return this.#url;
  }

  /** The URL of the webhook listener. */
  get webhooks(): string {
    return this.#webhooks;
  }

  /** Resolves when the service says that it is ready. */
  async start(): Promise<void> {
    const { grace, environment, through = [] } = this.#launch;
    const options = ['start', '--config', this.directory, ...(grace ? ['--grace', grace] : [])];
    const command = [collector, 'dist/cli/main.js', ...options];
    const [file, ...words] = [...through, process.execPath, ...command];
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const child = spawn(file!, words, {
      cwd: root,
      stdio: [...stdio],
      env: { ...process.env, ...environment },
    });
    this.#child = child;
    this.stderr = '';
    this.#url = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#traces.said(text));
    this.ended = new Promise(resolve => {
      child.once('close', (status, signal) => resolve({ status, signal }));
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#traces.said(text);
    });
    const ready = new Promise<null>(resolve => {
      const look = () => {
        if (!/"msg":"ready".*\n/.test(this.stderr)) return;
        child.stderr.off('data', look);
        resolve(null);
      };
      child.stderr.on('data', look);
    });
    const end = await Promise.race([ready, this.ended]);
    if (end !== null)
      throw new Error(`the service ended (${JSON.stringify(end)}) instead of getting ready:\n${this.stderr}`);
    const said = this.log.find(line => line.msg === 'ready')!;
    this.#url = String(said['url']);
    this.#webhooks = String(said['webhooks']);
  }

  /** For a failed test: prints whether the service lives, its children, and the end of its log. */
  report(): void {
    const pid = this.#child?.pid ?? 0;
    const state = livingStat(pid) === null ? 'has ended' : `lives, with the children ${childrenOf(pid).join(', ')}`;
    process.stderr.write(`the service, pid ${pid}, ${state}; its log:\n${this.stderr.slice(-4000)}\n`);
  }

  /** What the service has logged since its start. */
  get log(): LogLine[] {
    const whole = this.stderr.split('\n').slice(0, -1);
    return whole.filter(line => line.startsWith('{')).map(line => JSON.parse(line) as LogLine);
  }

  async call(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
    const { token = everythingToken, headers = {} } = options;
    const sent = {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    };
    const request = { method, headers: sent, body: body === undefined ? undefined : text(body) };
    const answer = await send(this.#url + path, request).catch(error => this.#unanswered(`${method} ${path}`, error));
    const isJson = answer.text !== '' && answer.headers.get('content-type')?.includes('json') === true;
    return {
      status: answer.status,
      headers: answer.headers,
      body: isJson ? JSON.parse(answer.text) : { text: answer.text },
    };
  }

  /** Throws a TypeError, as `fetch` does, if a call gets no answer, and says how the service ended, if it has. */
  async #unanswered(call: string, cause: unknown): Promise<never> {
    const end = await Promise.race([this.ended, new Promise<null>(resolve => setTimeout(resolve, deathMsMax, null))]);
    const state = end === null ? 'the service runs' : `the service ended (${JSON.stringify(end)})`;
    throw new TypeError(`${call} was not answered; ${state}:\n${this.stderr.slice(-4000)}`, { cause });
  }

  /** Calls `plugin/command`, and returns the id of the job, which must be accepted. */
  async submit(command: string, payload: object = {}): Promise<string> {
    return accepted(await this.call('POST', `/plugin/${command}`, { payload }));
  }

  /** Starts a run without waiting for it. */
  async run(pipeline: string, payload: object = {}): Promise<string> {
    return accepted(await this.call('POST', `/pipeline/${pipeline}?async=true`, { payload }));
  }

  async job(id: string): Promise<Job> {
    const { status, body } = await this.call('GET', `/job/${id}`);
    if (status !== 200) throw new Error(`job ${id}: ${status} ${JSON.stringify(body)}`);
    return body as unknown as Job;
  }

  /** The job once it waits for this reason. A slow ledger leaves the reason out of an answer (`waitsMsMax`). */
  waiting(id: string, reason: string, options: CallOptions = {}): Promise<Answer['body']> {
    return until(`job ${id} waits for ${reason}`, async () => {
      const { body } = await this.call('GET', `/job/${id}`, undefined, options);
      return (body['waits_for'] as { reason?: string } | undefined)?.reason === reason ? body : null;
    });
  }

  async tree(id: string): Promise<readonly Job[]> {
    const { status, body } = await this.call('GET', `/job/${id}/tree`);
    if (status !== 200) throw new Error(`tree of ${id}: ${status} ${JSON.stringify(body)}`);
    return body as unknown as readonly Job[];
  }

  /** Resolves with the job when it has settled. The service does the waiting, because polling would take more CPU than most jobs. */
  settled(id: string, limitMs?: number): Promise<Job> {
    return until(
      `job ${id} ends`,
      async () => {
        const { status, body } = await this.call('GET', `/job/${id}?wait=2s`);
        if (status === 200) return body as unknown as Job;
        if (status !== 202) throw new Error(`job ${id}: ${status} ${JSON.stringify(body)}`);
        return null;
      },
      limitMs,
    );
  }

  /** Waits for one job after another: hundreds of calls at once would take the processor from the jobs. */
  async allSettled(ids: readonly string[]): Promise<Job[]> {
    const jobs: Job[] = [];
    for (const id of ids) jobs.push(await this.settled(id));
    return jobs;
  }

  /** Submits and waits for the end. */
  async finished(command: string, payload?: object): Promise<Job> {
    return this.settled(await this.submit(command, payload));
  }

  /** Runs a pipeline and waits for its end. */
  async ran(pipeline: string, payload?: object): Promise<Job> {
    return this.settled(await this.run(pipeline, payload));
  }

  /** What plugins have written down so far. */
  journal(): Note[] {
    const path = join(this.directory, 'journal');
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    return lines.map(line => JSON.parse(line) as Note);
  }

  /** What the plugins of one job have written down. */
  notesOf(job: string): Note[] {
    return this.journal().filter(note => note.job === job);
  }

  /** Waits until this job, or this number of jobs, has noted this. */
  async noted(what: string, wanted: string | number = 1): Promise<void> {
    const matches = (note: Note) => note.what === what && (typeof wanted === 'number' || note.job === wanted);
    const count = typeof wanted === 'number' ? wanted : 1;
    await until(`a note "${what}" of ${wanted}`, () => this.journal().filter(matches).length >= count);
    this.#traces.look(this.pid);
  }

  /** Lets plugins pass that wait at this gate. */
  open(gate: string): void {
    writeFileSync(join(this.directory, `gate-${gate}`), '');
  }

  /** Changes how the next start launches the service. */
  launch(launch: Launch): void {
    this.#launch = launch;
  }

  /** Writes another configuration, which is not loaded yet. */
  write(settings: Settings): void {
    writeConfiguration(this.directory, settings);
  }

  /** Writes another configuration and has it loaded; resolves with what the service has logged meanwhile. */
  async reload(settings: Settings): Promise<string> {
    writeConfiguration(this.directory, settings);
    const before = this.stderr.length;
    const said = () => this.stderr.slice(before);
    this.signal('SIGHUP');
    await until('the reload is answered', () => /("level":50|configuration reloaded).*\n/.test(said()));
    return said();
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#child) this.#traces.look(this.pid);
    this.#child?.kill(signal);
  }

  async kill9(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  async restart(): Promise<void> {
    await this.kill9();
    await this.start();
  }

  /** A graceful stop. */
  async term(): Promise<Ended> {
    this.signal('SIGTERM');
    return this.ended;
  }

  /** Kills the service and removes its directory. Throws if the service left a secret where none may be. */
  async discard(): Promise<void> {
    const found = await this.end();
    if (this.#directory) rmSync(this.#directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    if (found.length > 0) throw new Error(`secrets were left behind:\n${found.join('\n')}`);
  }

  /** Kills the service; returns the places where it left secrets that may not be there. */
  async end(): Promise<string[]> {
    if (this.#child) {
      const hosts = childrenOf(this.pid);
      await this.kill9();
      // A host that was just starting would make its directory again.
      await until('its hosts are gone', () => !hosts.some(pid => livingStat(pid) !== null));
    }
    return this.#directory === null ? [] : this.#traces.sweep(this.#directory, this.#launch.environment ?? {});
  }
}

/** The body as it is sent: a string as it is, anything else as JSON. */
function text(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function accepted({ status, body }: Answer): string {
  if (status !== 202) throw new Error(`not accepted: ${status} ${JSON.stringify(body)}`);
  return String(body['job_id']);
}
