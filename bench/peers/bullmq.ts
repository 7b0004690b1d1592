// BullMQ on Redis: concurrency in one worker, bulk adds and flows; handlers in process, or sandboxed in worker threads.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { FlowProducer, type Job, Queue, Worker } from 'bullmq';
import { handle } from './bullmq-handlers.ts';
import { installed } from './installed.ts';
import { type Facts, type OnRun, type Peer, payloadOf } from './peer.ts';
import { Server } from './server.ts';

const concurrency = 100;
/**
 * The concurrency of the worker for steps, as a share of the parallel runs. It is below 1, so that some jobs wait: the call that completes a
 * job then also fetches the next one.
 */
const stepsConcurrencyShare = 0.5;
/** The number of threads, one per job. Of 1, 2 and 4 this is the fastest on two cores; child processes are slower. */
const sandboxConcurrency = 4;
const sandboxFile = new URL('./bullmq-handlers.js', import.meta.url);
const bulkMax = 1_000;

export type BullMqSetting = {
  readonly appendfsync: 'always' | 'everysec';
  readonly handlers: 'in process' | 'sandboxed';
};

export class BullMq implements Peer {
  readonly facts: Facts;
  readonly hasBulk = true;
  readonly #appendfsync: string;
  readonly #isSandboxed: boolean;
  readonly #workers: Worker[] = [];
  #server!: Server;
  #connection!: { readonly path: string; readonly maxRetriesPerRequest: null };
  #jobs!: Queue;
  #steps!: Queue;
  #stepsWorker!: Worker;
  #flows!: FlowProducer;
  #onRun!: OnRun;
  #settled = 0;
  readonly #waiting = new Map<string, () => void>();

  constructor({ appendfsync, handlers }: BullMqSetting) {
    this.#appendfsync = appendfsync;
    this.#isSandboxed = handlers === 'sandboxed';
    const redis = /v=([\d.]+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1];
    this.facts = {
      versions: `${installed('bullmq')}, Redis ${redis}`,
      durability: appendfsync === 'always' ? 'synced before it is acknowledged' : 'written, synced once a second',
      handlers: this.#isSandboxed ? `isolated: sandboxed, ${sandboxConcurrency} worker threads a queue` : handlers,
      records: 'kept',
      join: 'its own (flow)',
    };
  }

  async start(directory: string, onRun: OnRun): Promise<void> {
    this.#onRun = onRun;
    const path = join(directory, 'redis.sock');
    const options = { port: 0, unixsocket: path, dir: directory, appendonly: 'yes', appendfsync: this.#appendfsync };
    const args = Object.entries({ ...options, save: '' }).flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.#server = new Server('redis-server', args, directory);
    this.#connection = { path, maxRetriesPerRequest: null };
    const ping = ['-s', path, 'ping'];
    await this.#server.ready(async () => execFileSync('redis-cli', ping, { stdio: 'ignore' }));
    const { connection } = this.#options;
    this.#jobs = new Queue('jobs', { connection });
    this.#steps = new Queue('steps', { connection });
    this.#flows = new FlowProducer({ connection });
    await Promise.all([this.#jobs.waitUntilReady(), this.#steps.waitUntilReady(), this.#flows.waitUntilReady()]);
  }

  async submit(n: number): Promise<void> {
    await this.#jobs.add('run', payloadOf(n));
  }

  async submitMany(count: number): Promise<void> {
    for (let from = 0; from < count; from += bulkMax) {
      const size = Math.min(bulkMax, count - from);
      await this.#jobs.addBulk(Array.from({ length: size }, (_, k) => ({ name: 'run', data: payloadOf(from + k) })));
    }
  }

  async work(): Promise<void> {
    if (this.#workers.length === 0) await this.#hire();
    else for (const worker of this.#workers) worker.resume();
  }

  async rest(): Promise<void> {
    await Promise.all(this.#workers.map(worker => worker.pause()));
  }

  settled(): number {
    return this.#settled;
  }

  expectRuns(atOnce: number): void {
    if (!this.#isSandboxed) this.#stepsWorker.concurrency = atOnce * stepsConcurrencyShare;
  }

  steps(): Promise<void> {
    return this.#ended('steps', async jobId => {
      await this.#steps.add('run', { step: 1 }, { jobId });
    });
  }

  fanout(count: number): Promise<void> {
    const children = Array.from({ length: count }, (_, n) => ({
      name: 'c',
      queueName: 'children',
      data: payloadOf(n),
    }));
    return this.#ended('joins', async jobId => {
      await this.#flows.add({ name: 'join', queueName: 'joins', data: {}, opts: { jobId }, children });
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map(worker => worker.close()));
    await Promise.all([this.#jobs?.close(), this.#steps?.close(), this.#flows?.close()]);
    await this.#server?.stop('SIGKILL');
  }

  async #hire(): Promise<void> {
    const jobs = this.#worker('jobs');
    jobs.on('completed', (job, startedMs) => {
      this.#onRun(Number(job.data.n), startedMs);
      this.#settled++;
    });
    this.#stepsWorker = this.#worker('steps');
    this.#worker('children');
    const joins = this.#worker('joins');
    for (const worker of [this.#stepsWorker, joins]) worker.on('completed', job => this.#waiting.get(job.id!)?.());
    await Promise.all(this.#workers.map(worker => worker.waitUntilReady()));
  }

  get #options() {
    return { connection: this.#connection };
  }

  #worker(queue: string): Worker<Job['data'], number> {
    const worker = this.#isSandboxed
      ? new Worker(queue, sandboxFile, { ...this.#options, concurrency: sandboxConcurrency, useWorkerThreads: true })
      : new Worker(queue, handle, { ...this.#options, concurrency });
    worker.on('error', () => {});
    this.#workers.push(worker);
    return worker;
  }

  /**
   * Adds a job, and resolves when it has ended. Listens for the end before the job is added, because the job may end at
   * once.
   */
  async #ended(kind: string, add: (jobId: string) => Promise<void>): Promise<void> {
    const jobId = `${kind}-${performance.now()}-${this.#waiting.size}`;
    const ended = new Promise<void>(resolve => this.#waiting.set(jobId, resolve));
    await add(jobId);
    await ended;
    this.#waiting.delete(jobId);
  }
}
