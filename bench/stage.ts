// A temporary directory with a configuration, and the services that a bench starts there. The directory is removed at
// the end.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandIn, pluginRoot, projectRoot } from './project.ts';
import { Service } from './service.ts';
import type { Stretch } from './usage.ts';

/** The number of plugin threads, and of programs that run at once. To close the gates, this many jobs must be held. */
export const workers = 2;
/** The service's limit of queued jobs. It is more than any bench queues. */
const queueDepthMax = 5_000_000;
const storedJobsMax = 100_000_000;
const bodyMax = '2MB';
const token = 'bench-token-0123456789abcdef';

export type Setting = {
  readonly pipelines?: readonly object[];
  readonly schedules?: readonly object[];
  /** Plugin instances besides those of the plugin root. */
  readonly instances?: { readonly [name: string]: object };
  /** The port to listen on; 0 lets the system choose. */
  readonly port?: number;
  /** The number of threads of the plugin host. */
  readonly threads?: number;
  /** Further keys of the section `service`. */
  readonly service?: object;
  /** Further keys of `state.retention`. */
  readonly retention?: object;
  /** The keys of `state.log`. */
  readonly log?: object;
  /** Options of node for the service's own process. */
  readonly nodeOptions?: readonly string[];
};

export type StageOptions = {
  /** The directory for CPU profiles of the services. */
  readonly profiles?: string | undefined;
  /** The file of the command to run; undefined: the command of this checkout. */
  readonly command?: string | undefined;
  /** The value of `api.server`; undefined: the default of the service. */
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

  /** The directory of the services' state. */
  get state(): string {
    return join(this.directory, 'data');
  }

  get #gates(): string {
    return join(this.directory, 'gates');
  }

  /** Starts the service on the existing state, without waiting for it. */
  launch(setting: Setting = {}): Service {
    const {
      pipelines = [],
      schedules = [],
      instances = {},
      port = 0,
      threads = workers,
      service: more,
      retention,
      log,
      nodeOptions,
    } = setting;
    const config = {
      service: { name: 'bench', max_workers: threads, max_queue_depth: queueDepthMax, ...more },
      state: { path: this.state, retention: { max_jobs: storedJobsMax, ...retention }, ...(log && { log }) },
      webhooks: { listen: '127.0.0.1:0' },
      api: {
        listen: `127.0.0.1:${port}`,
        ...(this.#server !== undefined && { server: this.#server }),
        max_body_size: bodyMax,
        auth: { tokens: [{ name: 'bench', token, scopes: ['*'] }] },
      },
      plugin_roots: [pluginRoot],
      plugins: {
        // A gate must end only when it is opened.
        gate: { config: { directory: this.#gates }, timeouts: { hold: '24h' } },
        'program-gate': { config: { directory: this.#gates }, timeouts: { hold: '24h' } },
        'persistent-gate': { config: { directory: this.#gates }, timeouts: { hold: '24h' } },
        ...instances,
      },
      pipelines,
      ...(schedules.length > 0 && { schedules }),
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

  /** The stretches that were measured on the services of this stage. */
  get stretches(): readonly Stretch[] {
    return this.#services.flatMap(({ stretches }) => stretches);
  }

  /** How many jobs wait at the gate, each in a thread or process of its own. */
  heldCount(): number {
    return readdirSync(this.#gates).filter(name => name.startsWith('held-')).length;
  }

  /** Releases the jobs at the gates. */
  openGates(): void {
    writeFileSync(join(this.#gates, 'open'), '');
  }

  /** Removes the state, so that the next service starts empty. */
  clear(): void {
    rmSync(this.state, { recursive: true, force: true });
    this.renewGates();
  }

  /** Makes opened gates usable again. */
  renewGates(): void {
    rmSync(this.#gates, { recursive: true, force: true });
    mkdirSync(this.#gates);
  }

  async close(): Promise<void> {
    await Promise.all(this.#services.map(service => service.end()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}
