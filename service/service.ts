// The service without its HTTP servers: hub, ledger, reads and indexer. Each is a part that the supervisor starts and stops.
import { firstIdAt, Hub } from '../actors/hub/hub.ts';
import type { JobOrigin, Observations, Observed } from '../actors/hub/protocol.ts';
import { Gauges } from '../actors/job/gauges.ts';
import type { EdgeMessage, HeldJobs } from '../actors/job/protocol.ts';
import { isRestoreHold } from '../actors/job/records/pause.ts';
import type { LedgerReport } from '../actors/job/reports/report-protocol.ts';
import { JobOrigins } from '../actors/job/views/job-origins.ts';
import type { VaultStatus } from '../actors/vault/protocol.ts';
import type { Config } from '../config/config.ts';
import { type LoadOptions, type LoadResult, loadConfig } from '../config/load.ts';
import type { JobId } from '../runtime/ids.ts';
import type { Link } from '../runtime/link.ts';
import type { Logger } from '../runtime/log.ts';
import { LoopDelay } from '../runtime/loop-delay.ts';
import { openReader } from '../runtime/store/ledger-store.ts';
import { storeIdIn } from '../runtime/store/store-id.ts';
import type { Running } from '../runtime/supervisor.ts';
import { openAdministration } from './administration.ts';
import { askLedger } from './ask-ledger.ts';
import { Backups } from './backup/backups.ts';
import { type GatewayEngine, openEngine } from './engine.ts';
import type { IndexCondition, IndexerData } from './indexer/thread.ts';
import { CommitMeter } from './ledger/commit-meter.ts';
import type { LedgerData } from './ledger/thread.ts';
import { LedgerReports } from './metrics/ledger-reports.ts';
import { openMetrics } from './metrics/metrics.ts';
import { ReadsClient } from './reads/reads-client.ts';
import { pluginsLoaded, Reload, type ReloadOptions } from './reload.ts';
import { startThread } from './start-thread.ts';
import { indexerThread, ledgerThread } from './threads.ts';
import { sessionFile, UiSessions } from './ui-sessions.ts';
import { VaultClient } from './vault-client.ts';

export type ServiceOptions = Pick<LedgerData, 'config' | 'vaultKey' | 'umask'> &
  Pick<ReloadOptions, 'log' | 'applyLog' | 'listeners'> & {
    readonly graceMs: number;
    readonly version: string;
    /** Receives all observations that the event stream receives. */
    readonly onObserved: (groups: readonly Observations[]) => void;
    /** Changes the configuration on each reload. */
    readonly adjust: (config: Config) => Config;
    /** The location of the configuration on disk, which the reads thread reads for reloads and for the doctor. */
    readonly source: Omit<LoadOptions, 'env'>;
  };

export class Service {
  readonly #options: ServiceOptions;
  readonly #log: Logger;
  readonly #reads = new ReadsClient(async ids => {
    return (await askLedger(this.#link!, { kind: 'ask_idle', ids }))?.ids ?? null;
  });
  readonly #gauges = new Gauges();
  readonly #commits = new CommitMeter();
  readonly #loopDelays = { ledger: new LoopDelay(), reads: new LoopDelay(), indexer: new LoopDelay() };
  readonly #reports = new LedgerReports();
  readonly #vault = new VaultClient(() => this.#link!);
  readonly #origins = new JobOrigins();
  readonly #reload: Reload;
  readonly #backups: Backups;
  #stopping = false;
  #drained: Promise<void> | null = null;
  #storeId: string | null = null;
  #hub: Hub | null = null;
  #link: Link | null = null;
  #engine: GatewayEngine | null = null;
  #index: IndexCondition = { kind: 'closed', reason: 'the indexer has not started yet' };

  constructor(options: ServiceOptions) {
    const { log, version } = options;
    this.#options = options;
    this.#log = log;
    this.#backups = new Backups({
      config: () => this.config,
      log,
      version,
      storeId: () => this.#storeId,
      isHeld: () => this.engine.pauses.list().some(isRestoreHold),
      archiveFailure: () => this.#reports.pulse?.archiveFailure ?? null,
    });
    this.#reload = new Reload({
      ...options,
      read: () => this.#readConfiguration(),
      link: () => this.#link!,
      uiSessions: () => this.engine.uiSessions,
      publish: groups => this.publish(groups),
    });
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#reload.config;
  }

  get engine(): GatewayEngine {
    if (!this.#engine) throw new Error('the ledger has not started');
    return this.#engine;
  }

  /** The number of jobs whose code is running. */
  get running(): number {
    return this.#gauges.get('running');
  }

  /** The SHA-256 of the vault's admin token; null if no vault is open. */
  get adminDigest(): string | null {
    return this.#vault.adminDigest;
  }

  /** Makes the HTTP servers refuse new work from now on. */
  refuse(): void {
    this.#stopping = true;
  }

  /**
   * Reads and checks the configuration on disk: on the reads thread, so that calls are answered meanwhile. If that thread cannot do it, for
   * example because it has died, the calling thread does.
   */
  async #readConfiguration(): Promise<LoadResult> {
    const { source, adjust } = this.#options;
    const loaded = await this.#reads.load(source).catch(() => loadConfig({ ...source, env: process.env }));
    return loaded.ok ? { ...loaded, config: adjust(loaded.config) } : loaded;
  }

  reload(): Promise<unknown> {
    return this.#reload.reload({ refuseHeld: false });
  }

  logHeld(): Promise<readonly HeldJobs[]> {
    return this.#reload.logHeld();
  }

  /** The id of the store; null before the ledger has started. */
  get storeId(): string | null {
    return this.#storeId;
  }

  /** The tree, the runs and the tags of a job; null: the job is no longer stored, or its record is unusable. */
  originOf(id: JobId): JobOrigin | null {
    this.#origins.refresh();
    return this.#origins.find(id);
  }

  publish(groups: readonly Observations[]): void {
    this.#options.onObserved(groups);
    this.#hub?.observe(groups);
  }

  readonly startHub = async (): Promise<Running> => {
    this.#hub = new Hub(firstIdAt(Date.now() * 1000), this.#origins);
    return { died: new Promise(() => {}), stop: async () => {} };
  };

  readonly startLedger = async (): Promise<Running> => {
    const { umask, vaultKey } = this.#options;
    const { shared: commits } = this.#commits;
    const data: LedgerData = {
      config: this.config,
      gauges: this.#gauges.shared,
      commits,
      loopDelay: this.#loopDelays.ledger.shared,
      umask,
      vaultKey,
    };
    const { link, died } = await startThread(ledgerThread, data, this.#log, (actor, message) => {
      if (actor === 'hub') this.publish((message as Observed).groups);
      else if (actor === 'edge') this.#receive(message as EdgeMessage | VaultStatus | LedgerReport);
    });
    this.#link = link;
    this.#engine = this.#openEngine(link);
    this.#engine.actions.resume();
    this.#backups.start();
    this.publish(pluginsLoaded(this.config));
    return { died, stop: () => this.#close(link) };
  };

  #openEngine(link: Link): GatewayEngine {
    const { vaultKey, version, source, listeners } = this.#options;
    const reader = openReader(this.config.state.path);
    this.#origins.open(reader);
    this.#storeId = storeIdIn(reader);
    const startedMs = performance.now();
    const shared = {
      link,
      reader,
      gauges: this.#gauges,
      reads: this.#reads,
      config: () => this.config,
      startedAtMs: Date.now(),
      upMs: () => performance.now() - startedMs,
    };
    const administration = openAdministration({
      ...shared,
      backups: this.#backups,
      vaultKey,
      source,
      listeners,
      reload: this.#reload,
      index: () => this.#index,
    });
    const stopping = () => this.#stopping;
    const metrics = openMetrics({
      ...shared,
      backups: this.#backups,
      version,
      commits: this.#commits,
      reports: this.#reports,
      index: () => this.#index,
      areReadsUp: () => this.#reads.isUp,
      loopDelays: this.#loopDelays,
      streams: () => this.engine.events,
      reloads: this.#reload.outcomes,
    });
    const uiSessions = new UiSessions(
      sessionFile(this.config.state.path, file => {
        this.#log.warn({ file }, 'the file of dashboard sessions is damaged: sign in again');
      }),
      Date.now,
    );
    uiSessions.keepThoseOf(this.config.api.tokens);
    return openEngine({
      ...shared,
      metrics,
      selecting: this.#reads,
      hub: this.#hub!,
      administration,
      backups: this.#backups,
      vault: this.#vault,
      uiSessions,
      stopping,
      log: this.#log,
      version,
    });
  }

  readonly startReads = (): Promise<Running> => {
    const data = { path: this.config.state.path, loopDelay: this.#loopDelays.reads.shared };
    return this.#reads.start(data, this.#log);
  };

  readonly startIndexer = async (): Promise<Running> => {
    const data: IndexerData = {
      path: this.config.state.path,
      gauges: this.#gauges.shared,
      loopDelay: this.#loopDelays.indexer.shared,
    };
    const { link, died } = await startThread(indexerThread, data, this.#log, (_, condition) => {
      this.#index = condition as IndexCondition;
    });
    void died.then(({ message }) => {
      this.#index = { kind: 'closed', reason: message };
    });
    return { died, stop: () => link.ask<void>('indexer', { kind: 'stop' }) };
  };

  /** Lets running jobs finish, for at most `graceMs`, and then stops the hosts. Repeated calls return the same promise. */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  async #close(link: Link): Promise<void> {
    await this.drain();
    await link.ask('ledger', { kind: 'close' });
  }

  async #drain(): Promise<void> {
    const { graceMs } = this.#options;
    this.#vault.flush();
    this.#backups.stop();
    await this.#link?.ask('job', { kind: 'stop', graceMs });
  }

  #receive(message: EdgeMessage | VaultStatus | LedgerReport): void {
    if (message.kind === 'vault_status') this.#vault.update(message);
    else if (message.kind === 'ledger_figures' || message.kind === 'ledger_pulse') this.#reports.receive(message);
    else {
      if (message.kind === 'actors_restarted') this.#vault.actorsRestarted();
      this.#engine?.receive(message);
    }
  }
}
