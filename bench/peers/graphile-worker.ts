// graphile-worker on PostgreSQL, with the settings that its page on performance advises: a local queue, and completions in batches.
import { Logger, makeWorkerUtils, type Runner, run, type WorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { installed } from './installed.ts';
import { type Facts, nowMs, type OnRun, type Peer, payloadOf } from './peer.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { Runs } from './runs.ts';

const bulkMax = 10_000;
const settings = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};
const silent = new Logger(() => () => {});

type Payload = { readonly n: string };
type Step = { readonly run: number };

export class GraphileWorker implements Peer {
  #facts: Facts | null = null;
  readonly #runs = new Runs();
  readonly hasBulk = true;
  #postgres!: Postgres;
  #pool!: pg.Pool;
  #utils!: WorkerUtils;
  #runner: Runner | null = null;
  #onRun!: OnRun;
  #submitted = 0;
  #handled = 0;

  get facts(): Facts {
    return this.#facts!;
  }

  async start(directory: string, onRun: OnRun): Promise<void> {
    this.#onRun = onRun;
    this.#postgres = await startPostgres(directory);
    this.#facts = {
      versions: `${installed('graphile-worker')}, PostgreSQL ${this.#postgres.version}`,
      durability: 'synced before it is acknowledged',
      handlers: 'in process',
      records: 'deleted when done (it keeps none)',
      join: 'none: children are counted in memory by the bench, the last job is added by it',
    };
    this.#pool = new pg.Pool({ connectionString: this.#postgres.url, max: settings.maxPoolSize });
    this.#pool.on('error', () => {});
    this.#pool.on('connect', client => client.on('error', () => {}));
    this.#utils = await makeWorkerUtils({ pgPool: this.#pool, preset: { worker: settings }, logger: silent });
    await this.#utils.migrate();
  }

  async submit(n: number): Promise<void> {
    this.#submitted++;
    await this.#utils.addJob('run', payloadOf(n));
  }

  async submitMany(count: number): Promise<void> {
    this.#submitted += count;
    await this.#addMany('run', count);
  }

  async work(): Promise<void> {
    const add = (task: string, payload: Step) => this.#utils.addJob(task, payload);
    this.#runner = await run({
      pgPool: this.#pool,
      preset: { worker: settings },
      logger: silent,
      noHandleSignals: true,
      taskList: {
        run: async payload => {
          this.#onRun(Number((payload as Payload).n), nowMs());
          this.#handled++;
        },
        step1: async payload => void (await add('step2', payload as Step)),
        step2: async payload => void (await add('step3', payload as Step)),
        step3: async payload => this.#runs.end((payload as Step).run),
        child: async () => this.#runs.childEnded(),
        join: async payload => this.#runs.end((payload as Step).run),
      },
    });
  }

  async rest(): Promise<void> {
    await this.#runner?.stop();
    this.#runner = null;
  }

  tidy(): Promise<void> {
    return this.#postgres.vacuum();
  }

  /** The rows of the table are counted only when all jobs have run, because counting is slow. */
  async settled(): Promise<number> {
    if (this.#handled < this.#submitted) return this.#handled;
    const { rows } = await this.#pool.query('select count(*)::int as left from graphile_worker._private_jobs');
    return this.#submitted - rows[0].left;
  }

  steps(): Promise<void> {
    return this.#runs.run(run => this.#utils.addJob('step1', { run }));
  }

  async fanout(children: number): Promise<void> {
    await this.#runs.children(children, () => this.#addMany('child', children));
    await this.#runs.run(run => this.#utils.addJob('join', { run }));
  }

  async stop(): Promise<void> {
    await this.rest();
    await this.#utils?.release();
    await this.#pool?.end();
    await this.#postgres?.stop();
  }

  async #addMany(identifier: string, count: number): Promise<void> {
    for (let from = 0; from < count; from += bulkMax) {
      const size = Math.min(bulkMax, count - from);
      await this.#utils.addJobs(Array.from({ length: size }, (_, k) => ({ identifier, payload: payloadOf(from + k) })));
    }
  }
}
