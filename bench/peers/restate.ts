// Restate, a server that calls handlers over HTTP/2. Jobs enter by its ingress; steps use ctx.run, and fan-outs use
// calls.
import './promise-resolvers.ts';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as restate from '@restatedev/restate-sdk';
import { HttpSocket } from './http-socket.ts';
import { installed } from './installed.ts';
import { type Facts, nowMs, type OnRun, type Peer, payloadOf } from './peer.ts';
import { Server } from './server.ts';

type Payload = { readonly n: string };

const serverPackage = `@restatedev/restate-server-linux-${process.arch}`;
const nodeName = 'bench';
/**
 * The number of partitions, each with a log to sync. On two cores, 1 is the fastest of 1, 2, 4, 10 and 24 (the default)
 * at submitting and at steps.
 */
const partitions = 1;
const options = [
  '--no-logo',
  '--listen-mode=unix',
  `--node-name=${nodeName}`,
  `--default-num-partitions=${partitions}`,
];
const submitsAtOnce = 128;

export class Restate implements Peer {
  readonly facts: Facts;
  readonly hasBulk = false;
  readonly #program = fileURLToPath(new URL(`../node_modules/${serverPackage}/bin/restate-server`, import.meta.url));
  #server!: Server;
  #endpoint!: Http2Server;
  #ingress!: HttpSocket;
  #admin!: HttpSocket;
  #onRun!: OnRun;
  #submitted = 0;
  #handled = 0;
  /** The handlers of single jobs wait for this promise; null: they do not wait. */
  #gate: Promise<void> | null = null;
  #openGate: () => void = () => {};

  constructor() {
    if (!existsSync(this.#program)) throw new Error(`${serverPackage} is not installed`);
    this.facts = {
      versions: `${installed('@restatedev/restate-sdk')}, server ${installed(serverPackage)}`,
      durability: 'synced before it is acknowledged',
      handlers: 'outside of the server: it calls this process over HTTP/2',
      records: 'kept, with journal',
      join: 'its own (calls awaited by a durable handler)',
    };
  }

  async start(directory: string, onRun: OnRun): Promise<void> {
    this.#onRun = onRun;
    const env = { ...process.env, DO_NOT_TRACK: '1', RESTATE_DISABLE_TELEMETRY: 'true' };
    this.#server = new Server(this.#program, [...options, '--base-dir', directory], directory, { env });
    this.#admin = new HttpSocket(join(directory, nodeName, 'admin.sock'));
    this.#ingress = new HttpSocket(join(directory, nodeName, 'ingress.sock'));
    this.#endpoint = createServer(restate.createEndpointHandler({ services: this.#services(), logger: () => {} }));
    await once(this.#endpoint.listen(0, '127.0.0.1'), 'listening');
    const uri = `http://127.0.0.1:${(this.#endpoint.address() as AddressInfo).port}`;
    await this.#server.ready(() => this.#admin.post('/deployments', { uri }));
    await this.#server.ready(() => this.#ingress.post('/jobs/none', {}));
    await this.rest();
  }

  async submit(n: number): Promise<void> {
    this.#submitted++;
    await this.#ingress.post('/jobs/run/send', payloadOf(n));
  }

  async submitMany(count: number): Promise<void> {
    let next = 0;
    const submitOn = async () => {
      while (next < count) await this.submit(next++);
    };
    await Promise.all(Array.from({ length: submitsAtOnce }, submitOn));
  }

  async work(): Promise<void> {
    this.#gate = null;
    this.#openGate();
  }

  async rest(): Promise<void> {
    this.#gate = new Promise(resolve => {
      this.#openGate = resolve;
    });
  }

  /** The server is asked only when all jobs have run, because the query scans all invocations. */
  async settled(): Promise<number> {
    if (this.#handled < this.#submitted) return this.#handled;
    const query = `select count(*) as left from sys_invocation_status where status <> 'completed'`;
    const { rows } = (await this.#admin.post('/query', { query })) as { rows: [{ left: number }] };
    return this.#submitted - rows[0].left;
  }

  async steps(): Promise<void> {
    await this.#ingress.post('/runs/three', {});
  }

  async fanout(children: number): Promise<void> {
    await this.#ingress.post('/runs/fan', { children });
  }

  async stop(): Promise<void> {
    this.#ingress?.close();
    this.#admin?.close();
    this.#endpoint?.close();
    await this.#server?.stop('SIGKILL');
  }

  #services() {
    const jobs = restate.service({
      name: 'jobs',
      handlers: {
        run: async (_: restate.Context, { n }: Payload) => {
          if (this.#gate !== null) await this.#gate;
          this.#onRun(Number(n), nowMs());
          this.#handled++;
        },
        none: async (_: restate.Context, __: object) => {},
      },
    });
    const runs = restate.service({
      name: 'runs',
      handlers: {
        three: async (ctx: restate.Context, _: object) => {
          for (const step of ['first', 'second', 'third']) await ctx.run(step, () => {});
        },
        fan: async (ctx: restate.Context, { children }: { children: number }) => {
          const client = ctx.serviceClient(jobs);
          await restate.RestatePromise.all(Array.from({ length: children }, (_, n) => client.none(payloadOf(n))));
          await client.none({});
        },
      },
    });
    return [jobs, runs];
  }
}
