// A temporary directory with a configuration in it, and the services that a bench starts there. Leaves nothing behind.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandIn, pluginRoot, projectRoot } from './project.ts';
import { Service } from './service.ts';
import type { Stretch } from './usage.ts';

/** Threads, and programs at once: as many as gates that must be held. */
export const workers = 2;
/** Above all that any bench queues. */
const queueDepthMax = 5_000_000;
const storedJobsMax = 100_000_000;
const bodyMax = '2MB';
const token = 'bench-token-0123456789abcdef';

export type Setting = {
  readonly pipelines?: readonly object[];
  /** Besides those of the plugin root: more instances. */
  readonly instances?: { readonly [name: string]: object };
  /** Where to listen; 0 lets the system choose. */
  readonly port?: number;
  /** Of the plugin host. */
  readonly threads?: number;
  /** More of these sections. */
  readonly service?: object;
  readonly retention?: object;
  /** For the service's own process. */
  readonly nodeOptions?: readonly string[];
};

export type StageOptions = {
  /** Where CPU profiles of the services are put. */
  readonly profiles?: string | undefined;
  /** The service's command, when it is not the one that is built here. */
  readonly command?: string | undefined;
  /** `api.server`; absent: the default of the service. */
  readonly server?: string | undefined;
};

export class Stage {
  readonly directory = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  readonly #services: Service[] = [];
  readonly #profiles: string | undefined;
  readonly #command: string;
  readonly #server: string | undefined;

  constructor({ profiles, server, command = commandIn(projectRoot) }: StageOptions) {
    this.#server = server;
    this.#profiles = profiles;
    this.#command = command;
    mkdirSync(this.#gates);
  }

  /** Where the services keep their state. */
  get state(): string {
    return join(this.directory, 'data');
  }

  get #gates(): string {
    return join(this.directory, 'gates');
  }

  /** Starts the service on the state that is there, without waiting for it. */
  launch(setting: Setting = {}): Service {
    const {
      pipelines = [],
      instances = {},
      port = 0,
      threads = workers,
      service: more,
      retention,
      nodeOptions,
    } = setting;
    const config = {
      service: { name: 'bench', max_workers: threads, max_queue_depth: queueDepthMax, ...more },
      state: { path: this.state, retention: { max_jobs: storedJobsMax, ...retention } },
      webhooks: { listen: '127.0.0.1:0' },
      api: {
        listen: `127.0.0.1:${port}`,
        ...(this.#server !== undefined && { server: this.#server }),
        max_body_size: bodyMax,
        auth: { tokens: [{ name: 'bench', token, scopes: ['*'] }] },
      },
      plugin_roots: [pluginRoot],
      plugins: {
        // Nothing may end a gate but its opening.
        gate: { config: { directory: this.#gates }, timeouts: { hold: '24h' } },
        'program-gate': { config: { directory: this.#gates }, timeouts: { hold: '24h' } },
        'persistent-gate': { config: { directory: this.#gates }, timeouts: { hold: '24h' } },
        ...instances,
      },
      pipelines,
    };
    // JSON is YAML.
    writeFileSync(join(this.directory, 'config.yaml'), JSON.stringify(config, null, 2));
    const logFile = join(this.directory, `service-${this.#services.length}.log`);
    const [command, profiles] = [this.#command, this.#profiles];
    const service = new Service({ directory: this.directory, logFile, token, command, profiles, nodeOptions });
    this.#services.push(service);
    return service;
  }

  /** Starts the service and waits until it is ready. */
  start(setting: Setting = {}): Promise<Service> {
    return this.launch(setting).ready();
  }

  /** What has been measured on its services. */
  get stretches(): readonly Stretch[] {
    return this.#services.flatMap(({ stretches }) => stretches);
  }

  /** How many jobs hold a thread at the gate. */
  heldCount(): number {
    return readdirSync(this.#gates).filter(name => name.startsWith('held-')).length;
  }

  /** Lets the threads go. */
  openGates(): void {
    writeFileSync(join(this.#gates, 'open'), '');
  }

  /** Forgets the state, for a service that starts empty. */
  clear(): void {
    rmSync(this.state, { recursive: true, force: true });
    this.renewGates();
  }

  /** After they were opened: they can be held again. */
  renewGates(): void {
    rmSync(this.#gates, { recursive: true, force: true });
    mkdirSync(this.#gates);
  }

  async close(): Promise<void> {
    await Promise.all(this.#services.map(service => service.end()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}
