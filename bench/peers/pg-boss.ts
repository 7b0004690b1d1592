// pg-boss on PostgreSQL. Jobs are fetched, completed and inserted in batches, as pg-boss's documentation advises for
// throughput. New jobs wake the worker.
import PgBoss from 'pg-boss';
import { installed } from './installed.ts';
import { type Facts, nowMs, type OnRun, type Peer, payloadOf } from './peer.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { Runs } from './runs.ts';

const batchSize = 1_000;
const bulkMax = 10_000;
const queues = ['run', 'step1', 'step2', 'step3', 'child', 'join'] as const;
type QueueName = (typeof queues)[number];
type Data = { readonly n: string; readonly run: number };
type Handler = (data: readonly Data[]) => unknown;

export class Boss implements Peer {
  #facts: Facts | null = null;
  readonly #runs = new Runs();
  readonly #wakers = new Map<QueueName, () => void>();
  readonly #loops: Promise<void>[] = [];
  readonly hasBulk = true;
  #postgres!: Postgres;
  #boss!: PgBoss;
  #onRun!: OnRun;
  #settled = 0;
  #stopping = false;

  get facts(): Facts {
    return this.#facts!;
  }

  async start(directory: string, onRun: OnRun): Promise<void> {
    this.#onRun = onRun;
    this.#postgres = await startPostgres(directory);
    this.#facts = {
      versions: `${installed('pg-boss')}, PostgreSQL ${this.#postgres.version}`,
      durability: 'synced before it is acknowledged',
      handlers: 'in process',
      records: 'kept',
      join: 'none: children are counted in memory by the bench, the last job is added by it',
    };
    this.#boss = new PgBoss({ connectionString: this.#postgres.url, max: 25, supervise: false, schedule: false });
    this.#boss.on('error', () => {});
    await this.#boss.start();
    for (const name of queues) await this.#boss.createQueue(name);
  }

  async submit(n: number): Promise<void> {
    await this.#send('run', payloadOf(n));
  }

  async submitMany(count: number): Promise<void> {
    await this.#insertMany('run', count);
  }

  async work(): Promise<void> {
    this.#stopping = false;
    this.#loop(
      'run',
      data => {
        for (const { n } of data) this.#onRun(Number(n), nowMs());
      },
      count => {
        this.#settled += count;
      },
    );
    const next =
      (name: QueueName): Handler =>
      data =>
        this.#insert(
          name,
          data.map(({ run }) => ({ run })),
        );
    const end: Handler = data => {
      for (const { run } of data) this.#runs.end(run);
    };
    this.#loop('step1', next('step2'));
    this.#loop('step2', next('step3'));
    this.#loop('step3', end);
    this.#loop(
      'child',
      () => {},
      count => this.#runs.childEnded(count),
    );
    this.#loop('join', end);
  }

  async rest(): Promise<void> {
    this.#stopping = true;
    for (const wake of this.#wakers.values()) wake();
    await Promise.all(this.#loops.splice(0));
  }

  tidy(): Promise<void> {
    return this.#postgres.vacuum();
  }

  settled(): number {
    return this.#settled;
  }

  steps(): Promise<void> {
    return this.#runs.run(run => this.#send('step1', { run }));
  }

  async fanout(children: number): Promise<void> {
    await this.#runs.children(children, () => this.#insertMany('child', children));
    await this.#runs.run(run => this.#send('join', { run }));
  }

  async stop(): Promise<void> {
    await this.rest();
    await this.#boss?.stop({ graceful: false });
    await this.#postgres?.stop();
  }

  async #send(name: QueueName, data: object): Promise<void> {
    await this.#boss.send(name, data);
    this.#wakers.get(name)?.();
  }

  async #insertMany(name: QueueName, count: number): Promise<void> {
    for (let from = 0; from < count; from += bulkMax) {
      const size = Math.min(bulkMax, count - from);
      await this.#insert(
        name,
        Array.from({ length: size }, (_, k) => payloadOf(from + k)),
      );
    }
  }

  /** Inserts a batch in one statement. */
  async #insert(name: QueueName, batch: readonly object[]): Promise<void> {
    await this.#boss.insert(batch.map(data => ({ name, data })));
    this.#wakers.get(name)?.();
  }

  #loop(name: QueueName, handler: Handler, onSettled: (count: number) => void = () => {}): void {
    this.#loops.push(this.#takeBatches(name, handler, onSettled));
  }

  async #takeBatches(name: QueueName, handler: Handler, onSettled: (count: number) => void): Promise<void> {
    while (!this.#stopping) {
      // The waker is set before the queue is checked, so that no job sent meanwhile is missed.
      const woken = new Promise<void>(resolve => this.#wakers.set(name, resolve));
      const jobs = await this.#boss.fetch<Data>(name, { batchSize });
      if (jobs.length === 0) {
        await woken;
        continue;
      }
      await handler(jobs.map(({ data }) => data));
      await this.#boss.complete(
        name,
        jobs.map(({ id }) => id),
      );
      onSettled(jobs.length);
    }
  }
}
