// plainjob on SQLite, inside this process. Each type of job has one worker, as plainjob's documentation advises, which
// polls every 1 ms.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { better, defineQueue, defineWorker, type Queue, type Worker } from 'plainjob';
import { installed } from './installed.ts';
import { type Facts, nowMs, type OnRun, type Peer, payloadOf } from './peer.ts';
import { Runs } from './runs.ts';

const pollIntervall = 1;
const ignore = () => {};
const logger = { error: ignore, warn: ignore, info: ignore, debug: ignore };

/** The data of a job: the number of the job, or the number of its run. */
type Data = { readonly n: string; readonly run: number };

export class PlainJob implements Peer {
  readonly facts: Facts;
  readonly hasBulk = true;
  readonly #synchronous: 'normal' | 'full';
  readonly #runs = new Runs();
  readonly #workers: Worker[] = [];
  #queue!: Queue;
  #onRun!: OnRun;
  #settled = 0;

  /** `full` makes commits of SQLite's write-ahead log durable; plainjob's default is `normal`. */
  constructor(synchronous: 'normal' | 'full') {
    this.#synchronous = synchronous;
    this.facts = {
      versions: `${installed('plainjob')}, ${installed('better-sqlite3')}`,
      durability: synchronous === 'full' ? 'synced before it is acknowledged' : 'written, synced at checkpoints',
      handlers: 'in process',
      records: 'kept',
      join: 'none: children are counted in memory by the bench, the last job is added by it',
    };
  }

  async start(directory: string, onRun: OnRun): Promise<void> {
    this.#onRun = onRun;
    const database = new Database(join(directory, 'jobs.db'));
    this.#queue = defineQueue({ connection: better(database), logger });
    database.pragma(`synchronous = ${this.#synchronous}`);
  }

  async submit(n: number): Promise<void> {
    this.#queue.add('run', payloadOf(n));
  }

  async submitMany(count: number): Promise<void> {
    this.#addMany('run', count);
  }

  async work(): Promise<void> {
    const chain =
      (next: string) =>
      ({ run }: Data) =>
        void this.#queue.add(next, { run });
    this.#worker(
      'run',
      payload => this.#onRun(Number(payload.n), nowMs()),
      () => this.#settled++,
    );
    this.#worker('step1', chain('step2'));
    this.#worker('step2', chain('step3'));
    this.#worker('step3', ignore, ({ run }) => this.#runs.end(run));
    this.#worker('child', ignore, () => this.#runs.childEnded());
    this.#worker('join', ignore, ({ run }) => this.#runs.end(run));
  }

  async rest(): Promise<void> {
    await Promise.all(this.#workers.splice(0).map(worker => worker.stop()));
  }

  settled(): number {
    return this.#settled;
  }

  steps(): Promise<void> {
    return this.#runs.run(async run => this.#queue.add('step1', { run }));
  }

  async fanout(children: number): Promise<void> {
    await this.#runs.children(children, async () => this.#addMany('child', children));
    await this.#runs.run(async run => this.#queue.add('join', { run }));
  }

  async stop(): Promise<void> {
    await this.rest();
    this.#queue?.close();
  }

  #addMany(type: string, count: number): void {
    this.#queue.addMany(
      type,
      Array.from({ length: count }, (_, n) => payloadOf(n)),
    );
  }

  #worker(type: string, handler: (data: Data) => void, onSettled: (data: Data) => void = ignore): void {
    const worker = defineWorker(type, job => handler(JSON.parse(job.data)), {
      queue: this.#queue,
      pollIntervall,
      logger,
      onCompleted: job => onSettled(JSON.parse(job.data)),
    });
    this.#workers.push(worker);
    // The promise resolves when the worker is stopped.
    void worker.start();
  }
}
