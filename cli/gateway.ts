// The service put together: configuration, ledger thread, hub and HTTP face, each as a part that the supervisor runs.
import { firstIdAt, type Hub, startHub as openHub } from '../actors/hub/actor.ts';
import type { Observations, Observed } from '../actors/hub/protocol.ts';
import { Gauges } from '../actors/job/gauges.ts';
import type { LedgerData, LedgerNotice } from '../actors/ledger.ts';
import type { EdgeMessage } from '../actors/pipeline/protocol.ts';
import type { VaultState } from '../actors/vault/protocol.ts';
import type { Config } from '../config/config.ts';
import { type LoadResult, sealWarnings } from '../config/load.ts';
import { compareForReload } from '../config/reload.ts';
import { accept } from '../config/seal/acceptance.ts';
import type { ReloadReply } from '../http/administration.ts';
import { makeAuthenticate } from '../http/auth.ts';
import type { ServerLog } from '../http/log.ts';
import { makeRouteTable } from '../http/route-table.ts';
import { apiRoutes } from '../http/routes/api.ts';
import { type Server, serve } from '../http/server.ts';
import { serveWebhooks } from '../http/webhooks/listener.ts';
import { DeliveryNews } from '../http/webhooks/news.ts';
import { type Link, openLink } from '../runtime/link.ts';
import type { Logger } from '../runtime/log.ts';
import { openIndexReader, openReader } from '../runtime/store/lmdb.ts';
import type { Running } from '../runtime/supervisor.ts';
import { openAdministration } from './administration.ts';
import { type GatewayEngine, openEngine } from './engine.ts';
import { startIndexer } from './indexer.ts';
import { ledgerThread } from './threads.ts';
import { withLocalToken } from './token.ts';
import { LedgerVaultDoor } from './vault/door.ts';
import { version } from './version.ts';

/** The service cannot go on, or cannot start: the exit status says why. */
export class ServiceFault extends Error {
  readonly exitStatus: number;
  constructor(message: string, exitStatus: number) {
    super(message);
    this.exitStatus = exitStatus;
  }
}

export type GatewayOptions = {
  readonly config: Config;
  readonly graceMs: number;
  readonly log: Logger;
  /** Reads the configuration that is on disk now. */
  readonly read: () => LoadResult;
};

export class Gateway {
  readonly graceMs: number;
  readonly #log: Logger;
  readonly #read: () => LoadResult;
  readonly #gauges = new Gauges();
  #config: Config;
  #stopping = false;
  #hub: Hub | null = null;
  #link: Link | null = null;
  #engine: GatewayEngine | null = null;
  readonly #vault = new LedgerVaultDoor(() => this.#link!);
  #server: Server | null = null;
  #webhooks: Server | null = null;

  constructor({ config, graceMs, log, read }: GatewayOptions) {
    this.#config = config;
    this.graceMs = graceMs;
    this.#log = log;
    this.#read = read;
  }

  /** Where the API listens; known once the edge is up. */
  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** Where webhooks are received; known once that listener is up. */
  get webhookPort(): number {
    return this.#webhooks?.port ?? 0;
  }

  get hub(): Hub {
    if (!this.#hub) throw new Error('the hub is not up');
    return this.#hub;
  }

  get engine(): GatewayEngine {
    if (!this.#engine) throw new Error('the ledger is not up');
    return this.#engine;
  }

  /** From now on new work is refused. */
  refuse(): void {
    this.#stopping = true;
  }

  readonly startHub = async (): Promise<Running> => {
    this.#hub = openHub(firstIdAt(Date.now() * 1000));
    return lasting;
  };

  readonly startLedger = async (): Promise<Running> => {
    const data: LedgerData = { config: this.#config, gauges: this.#gauges.shared };
    const worker = ledgerThread.start(data);
    let onReady = (): void => {};
    let onDeath = (_: Error): void => {};
    const ready = new Promise<void>(resolve => {
      onReady = resolve;
    });
    const died = new Promise<Error>(resolve => {
      onDeath = resolve;
    });
    const link = openLink({
      thread: 'edge',
      port: worker as never,
      schedule: flush => setImmediate(flush),
      onTold: (actor, message) => {
        if (actor === 'hub') this.#publish((message as Observed).groups);
        else if (actor === 'edge') this.#told(message as EdgeMessage | VaultState);
        else if (actor === 'supervisor') this.#noticed(message as LedgerNotice, onReady, onDeath);
      },
    });
    worker.on('error', onDeath);
    worker.on('exit', code => onDeath(new Error(`the ledger thread ended with ${code}`)));
    void died.then(error => link.fail(error));
    await Promise.race([ready, died.then(error => Promise.reject(error))]);
    this.#link = link;
    const shared = {
      link,
      reader: openReader(this.#config.state.path),
      gauges: this.#gauges,
      hub: this.hub,
      openIndex: () => openIndexReader(this.#config.state.path),
      config: () => this.#config,
      startedAtMs: Date.now(),
    };
    this.#engine = openEngine({
      ...shared,
      administration: openAdministration({ ...shared, read: this.#read, reload: () => this.reload() }),
      vault: this.#vault,
      stopping: () => this.#stopping,
      version,
    });
    this.#publish(pluginsLoaded(this.#config));
    return {
      died,
      stop: async () => {
        this.#vault.flush();
        await link.ask('job', { kind: 'stop', graceMs: this.graceMs });
        // Until now reads were answered, and new work with 503.
        this.#server?.stopListening();
        this.#webhooks?.stopListening();
        this.#engine?.release();
        // Their answers go out before anything else is closed.
        await new Promise(resolve => setImmediate(resolve));
      },
    };
  };

  readonly startIndexer = (): Promise<Running> =>
    startIndexer({ path: this.#config.state.path, gauges: this.#gauges.shared }, this.#log);

  readonly startEdge = async (): Promise<Running> => {
    const { enabled, listen } = this.#config.api;
    if (!enabled) return lasting;
    const table = makeRouteTable(apiRoutes);
    this.#server = await serve({
      listen,
      setting: 'api.listen',
      table: () => table,
      authenticate: makeAuthenticate(Date.now, () => this.#vault.adminDigest),
      engine: this.engine,
      log: requestLog(this.#log),
      nowMs: Date.now,
      idPrefix: Date.now().toString(36),
    });
    return lasting;
  };

  /** It listens without endpoints too: the next reload may bring some. */
  readonly startWebhooks = async (): Promise<Running> => {
    this.#webhooks = await serveWebhooks({
      listen: this.#config.webhooks.listen,
      engine: this.engine,
      log: requestLog(this.#log),
      nowMs: Date.now,
      idPrefix: `w${Date.now().toString(36)}`,
      news: new DeliveryNews({
        publish: groups => this.#publish(groups),
        nowMs: Date.now,
        later: (act, ms) => void setTimeout(act, ms).unref(),
      }),
    });
    return lasting;
  };

  /** Reads, checks and swaps without a pause in between: two reloads never mix, and nobody sees half of one. */
  reload(): ReloadReply {
    const loaded = this.#read();
    if (!loaded.ok) {
      for (const problem of loaded.problems) this.#log.error(problem);
      return { kind: 'refused', problems: loaded.problems };
    }
    const { config: next, kept } = compareForReload(this.#config, loaded.config);
    const { lock } = loaded.seal;
    let config: Config;
    try {
      ({ config } = withLocalToken(next));
      if (lock !== null) accept(config.state.path, lock);
    } catch (error) {
      const problem = `${next.state.path}: what this configuration needs cannot be kept there: ${(error as Error).message}`;
      this.#log.error(problem);
      return { kind: 'refused', problems: [problem] };
    }
    this.#config = config;
    this.#log.level = config.service.logLevel;
    this.#link?.tell('job', { kind: 'reconfigure', config });
    this.#link?.tell('pipeline', { kind: 'reconfigure', config });
    this.#link?.tell('vault', { kind: 'reconfigure', config });
    for (const warning of [...config.warnings, ...sealWarnings(loaded.seal)]) this.#log.warn(warning);
    const message = kept.length > 0 ? 'configuration reloaded; some settings need a restart' : 'configuration reloaded';
    this.#log.info({ kept }, message);
    const atUs = Date.now() * 1000;
    const fields = { plugins: Object.keys(config.plugins).length, kept: kept.join(', ') };
    this.#publish([{ kind: 'plain', type: 'config.reloaded', atUs, fields }, ...pluginsLoaded(config)]);
    return { kind: 'reloaded', atUs, kept };
  }

  #told(message: EdgeMessage | VaultState): void {
    if (message.kind === 'vault_state') this.#vault.changed(message);
    else this.#engine?.told(message);
  }

  #publish(groups: readonly Observations[]): void {
    this.#hub?.observe(groups);
  }

  /** After everything has stopped: lets go of connections that are still open. */
  close(): void {
    this.#server?.close();
    this.#webhooks?.close();
  }

  #noticed(notice: LedgerNotice, onReady: () => void, onDeath: (error: Error) => void): void {
    if (notice.kind === 'ready') onReady();
    else if (notice.kind === 'log') this.#log[notice.level](notice.fields, notice.message);
    else onDeath(new ServiceFault(notice.message, notice.exitStatus));
  }
}

/** One for each enabled instance. */
function pluginsLoaded({ plugins }: Config): Observations[] {
  const atUs = Date.now() * 1000;
  return Object.values(plugins).map(({ name, manifest }) => {
    const fields = { plugin: name, version: manifest.version, runtime: manifest.runtime };
    return { kind: 'plain', type: 'plugin.loaded', atUs, fields };
  });
}

function requestLog(log: Logger): ServerLog {
  return {
    // The level may change with a reload.
    get debug() {
      return log.isLevelEnabled('debug');
    },
    request: line => log.debug(line, 'request'),
    fault: (error, requestId) => log.error({ err: error, requestId }, 'a request failed'),
  };
}

/** A part that lives and dies with the process: listeners answer on until the ledger, which closes them, has stopped. */
const lasting: Running = { died: new Promise(() => {}), stop: async () => {} };
