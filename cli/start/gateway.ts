// The service put together: configuration, ledger thread, hub and HTTP face, each as a part that the supervisor runs.

import { isDeepStrictEqual } from 'node:util';
import { firstIdAt, type Hub, startHub as openHub } from '../../actors/hub/actor.ts';
import type { Observations, Observed } from '../../actors/hub/protocol.ts';
import { Gauges } from '../../actors/job/gauges.ts';
import type { HeldJobs, IdleReply } from '../../actors/job/protocol.ts';
import { JobOrigins } from '../../actors/job/views/job-origins.ts';
import type { EdgeMessage } from '../../actors/pipeline/protocol.ts';
import type { VaultState } from '../../actors/vault/protocol.ts';
import type { Config } from '../../config/config.ts';
import { type LoadOptions, type LoadResult, sealGap, sealWarnings } from '../../config/load.ts';
import { compareForReload } from '../../config/reload.ts';
import { accept } from '../../config/seal/acceptance.ts';
import type { Certificates } from '../../config/section/tls.ts';
import { makeAuthenticate } from '../../http/auth.ts';
import { makeRouteTable } from '../../http/route-table.ts';
import { apiRoutes } from '../../http/routes/api.ts';
import { bind, chooseTransport, type Server, serve } from '../../http/server.ts';
import type { TransportName } from '../../http/transport/transport.ts';
import { serveWebhooks } from '../../http/webhooks/listener.ts';
import { DeliveryNews } from '../../http/webhooks/news.ts';
import { type Link, openLink } from '../../runtime/link.ts';
import type { Logger } from '../../runtime/log.ts';
import { openReader } from '../../runtime/store/lmdb.ts';
import type { Running } from '../../runtime/supervisor.ts';
import type { ReloadReply, ReloadTrial } from '../../service/administration.ts';
import { openAdministration } from '../../service/administration.ts';
import { type GatewayEngine, openEngine } from '../../service/engine.ts';
import { type Commands, commandsOf, heldNow, heldText, heldUnder } from '../../service/held.ts';
import { startIndexer } from '../../service/indexer/indexer.ts';
import type { IndexCondition } from '../../service/indexer/thread.ts';
import type { LedgerData, LedgerNotice } from '../../service/ledger/thread.ts';
import { pluginsLoaded } from '../../service/plugins-loaded.ts';
import { Reader } from '../../service/reads/reader.ts';
import { ledgerThread } from '../../service/threads.ts';
import { VaultClient } from '../../service/vault-client.ts';
import { withLocalToken } from '../token.ts';
import { version } from '../version.ts';
import { ServedCertificates } from './certificates.ts';
import { WorkLog } from './work-log.ts';

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
  /** Of the listeners with TLS. */
  readonly certificates: Certificates;
  readonly graceMs: number;
  readonly log: Logger;
  /** Called with each configuration that comes into force: its log settings count from then on. */
  readonly applyLog: (config: Config) => void;
  /** Reads the configuration that is on disk now. */
  readonly read: () => LoadResult;
  /** What HEADGATE_VAULT_KEY was. */
  readonly vaultKey?: string | undefined;
  /** That plugins have; left out, they have that of the service. */
  readonly umask?: number | undefined;
  /** Where it lies: for the thread that reads it for the doctor. */
  readonly source: Omit<LoadOptions, 'env'>;
};

export class Gateway {
  readonly graceMs: number;
  readonly #log: Logger;
  readonly #workLog: WorkLog;
  readonly #applyLog: (config: Config) => void;
  readonly #read: () => LoadResult;
  readonly #umask: number | undefined;
  readonly #vaultKey: string | undefined;
  readonly #source: Omit<LoadOptions, 'env'>;
  readonly #reader = new Reader(ids => this.#askIdle(ids));
  readonly #gauges = new Gauges();
  readonly #certificates: Certificates;
  readonly #served: ServedCertificates;
  #config: Config;
  #stopping = false;
  #onFault: (error: Error) => void = () => {};
  #hub: Hub | null = null;
  readonly #origins = new JobOrigins();
  #link: Link | null = null;
  #engine: GatewayEngine | null = null;
  readonly #vault = new VaultClient(() => this.#link!);
  #server: Server | null = null;
  #webhooks: Server | null = null;
  #serverName: TransportName | null = null;
  #serverDetail = 'none';
  #index: IndexCondition = { kind: 'closed', reason: 'the indexer has not started yet' };

  constructor({ config, certificates, graceMs, log, applyLog, read, umask, vaultKey, source }: GatewayOptions) {
    this.#config = config;
    this.#certificates = certificates;
    this.#served = new ServedCertificates(log, () => this.#config);
    this.graceMs = graceMs;
    this.#log = log;
    this.#workLog = new WorkLog({ log, settings: () => this.#config.log, later });
    this.#applyLog = applyLog;
    this.#read = read;
    this.#umask = umask;
    this.#vaultKey = vaultKey;
    this.#source = source;
  }

  /** Where the API listens; known once the edge is up. */
  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** Where webhooks are received; known once that listener is up. */
  get webhookPort(): number {
    return this.#webhooks?.port ?? 0;
  }

  /** Which HTTP server is in use; known once the edge is up. */
  get serverName(): TransportName | null {
    return this.#serverName;
  }

  get hub(): Hub {
    if (!this.#hub) throw new Error('the hub is not up');
    return this.#hub;
  }

  get engine(): GatewayEngine {
    if (!this.#engine) throw new Error('the ledger is not up');
    return this.#engine;
  }

  /** Something on the main thread threw, and nobody caught it: what is in its memory may be wrong. */
  fault(error: Error): void {
    this.refuse();
    this.#onFault(error);
  }

  /** From now on new work is refused. */
  refuse(): void {
    this.#stopping = true;
  }

  readonly startHub = async (): Promise<Running> => {
    this.#hub = openHub(firstIdAt(Date.now() * 1000), this.#origins);
    return lasting;
  };

  readonly startLedger = async (): Promise<Running> => {
    const data: LedgerData = {
      config: this.#config,
      gauges: this.#gauges.shared,
      umask: this.#umask,
      vaultKey: this.#vaultKey,
    };
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
    const reader = openReader(this.#config.state.path);
    this.#origins.open(reader);
    const shared = {
      link,
      reader,
      gauges: this.#gauges,
      hub: this.hub,
      reads: this.#reader,
      config: () => this.#config,
      startedAtMs: Date.now(),
    };
    this.#engine = openEngine({
      ...shared,
      administration: openAdministration({
        ...shared,
        vaultKey: this.#vaultKey,
        selfcheck: () => this.#reader.selfcheck(),
        inspect: () => this.#reader.inspect(this.#source),
        trySandboxes: asked => this.#reader.trySandboxes(asked),
        certificates: () => this.#served.served(),
        reload: options => this.reload(options),
        tryReload: () => this.tryReload(),
        server: () => this.#serverDetail,
        index: () => this.#index,
      }),
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

  readonly startReads = (): Promise<Running> => this.#reader.start({ path: this.#config.state.path });

  readonly startIndexer = (): Promise<Running> => {
    this.#index = { kind: 'open', replaced: null };
    const data = { path: this.#config.state.path, gauges: this.#gauges.shared };
    return startIndexer(data, this.#log, condition => {
      this.#index = condition;
    });
  };

  /**
   * API and webhooks. Both addresses are bound before either answers. The webhook listener is there without endpoints too: the next
   * reload may bring some.
   */
  readonly startEdge = async (): Promise<Running> => {
    const { api, webhooks, state } = this.#config;
    const certificates = this.#certificates;
    const { transport, reason } = await chooseTransport(api.server, state.path);
    this.#serverName = transport.name;
    this.#serverDetail = reason === null ? transport.name : `${transport.name} (${reason})`;
    if (reason !== null)
      this.#log.warn({ reason }, 'uWebSockets.js cannot be loaded here: node:http serves in its place');
    const apiListener = api.enabled ? await bind(transport, api.listen, 'api', certificates.api) : null;
    const webhookListener = await bind(transport, webhooks.listen, 'webhooks', certificates.webhooks).catch(error => {
      apiListener?.close();
      throw error;
    });
    const common = { engine: this.engine, nowMs: Date.now };
    this.#webhooks = serveWebhooks(webhookListener, {
      ...common,
      // Of a refused delivery its endpoint is told.
      log: this.#workLog.serverLog(false),
      idPrefix: `w${Date.now().toString(36)}`,
      news: new DeliveryNews({
        publish: groups => this.#publish(groups),
        nowMs: Date.now,
        later,
        onRejected: (...refusal) => this.#workLog.refusedDelivery(...refusal),
      }),
    });
    this.#served.add('webhooks', this.#webhooks);
    const running: Running = {
      died: new Promise(resolve => {
        this.#onFault = resolve;
      }),
      stop: async () => {},
    };
    if (apiListener === null) return running;
    const table = makeRouteTable(apiRoutes);
    this.#server = serve(apiListener, {
      ...common,
      log: this.#workLog.serverLog(true),
      table: () => table,
      authenticate: makeAuthenticate(Date.now, () => this.#vault.adminDigest),
      idPrefix: Date.now().toString(36),
    });
    this.#served.add('api', this.#server);
    return running;
  };

  /** What a reload would say and hold now. */
  async tryReload(): Promise<ReloadTrial> {
    const loaded = this.#read();
    if (!loaded.ok) return { errors: loaded.problems, warnings: loaded.warnings, held: [] };
    const { config } = compareForReload(this.#config, loaded.config);
    const warnings = [...config.warnings, ...sealWarnings(loaded.seal)];
    return { errors: [], warnings, held: await heldUnder(this.#link!, config) };
  }

  async reload({ refuseHeld }: { readonly refuseHeld: boolean }): Promise<ReloadReply> {
    const swapped = await (refuseHeld ? this.#swapWithoutHolding() : this.#swap());
    if (swapped.kind !== 'reloaded') return swapped;
    const { kept } = swapped;
    const held = await this.tellHeld();
    const message = kept.length > 0 ? 'configuration reloaded; some settings need a restart' : 'configuration reloaded';
    this.#log.info({ kept }, message);
    return { ...swapped, held };
  }

  /** Says which jobs are held. */
  async tellHeld(): Promise<readonly HeldJobs[]> {
    const held = (await heldNow(this.#link!)) ?? [];
    if (held.length > 0) this.#log.warn({ held }, `jobs are held: ${heldText(held)}`);
    return held;
  }

  /** Swaps what was looked at: where the files change meanwhile, it looks again. */
  async #swapWithoutHolding(): Promise<ReloadReply> {
    for (;;) {
      const loaded = this.#read();
      // What is wrong with it is told as it is of any other.
      if (!loaded.ok) return this.#swap();
      const held = await heldUnder(this.#link!, loaded.config);
      if (held === null || held.length > 0) return { kind: 'would_hold', held };
      const swapped = this.#swap(commandsOf(loaded.config));
      if (swapped !== null) return swapped;
    }
  }

  #swap(): ReloadReply;
  /** Null: the plugins that are read now do not have these commands. */
  #swap(expected: Commands): ReloadReply | null;
  /** Reads, checks and swaps without a pause in between: two reloads never mix, and nobody sees half of one. */
  #swap(expected?: Commands): ReloadReply | null {
    const loaded = this.#read();
    if (expected && loaded.ok && !isDeepStrictEqual(commandsOf(loaded.config), expected)) return null;
    if (!loaded.ok) {
      for (const problem of loaded.problems) this.#log.error(problem);
      this.#log.error('the configuration was not reloaded; the old one stays in force');
      return { kind: 'refused', problems: loaded.problems };
    }
    const { config: next, kept } = compareForReload(this.#config, loaded.config);
    let config: Config;
    let gap: string | null;
    try {
      ({ config } = withLocalToken(next));
      gap = accept(config.state.path, loaded.seal);
    } catch (error) {
      const problem = `${next.state.path}: what this configuration needs cannot be kept there: ${(error as Error).message}`;
      this.#log.error(problem);
      return { kind: 'refused', problems: [problem] };
    }
    this.#config = config;
    this.#served.renew(loaded.certificates);
    this.#applyLog(config);
    this.#link?.tell('job', { kind: 'reconfigure', config });
    this.#link?.tell('pipeline', { kind: 'reconfigure', config });
    this.#link?.tell('vault', { kind: 'reconfigure', config });
    for (const warning of [...config.warnings, ...sealWarnings(loaded.seal)]) this.#log.warn(warning);
    if (gap !== null) this.#log.warn(sealGap(gap));
    const atUs = Date.now() * 1000;
    const fields = { plugins: Object.keys(config.plugins).length, kept: kept.join(', ') };
    this.#publish([{ kind: 'plain', type: 'config.reloaded', atUs, fields }, ...pluginsLoaded(config)]);
    return { kind: 'reloaded', atUs, kept, held: [] };
  }

  async #askIdle(ids: Uint8Array): Promise<Uint8Array | null> {
    const reply = await this.#link!.ask<IdleReply | { readonly kind: 'refused' }>('job', { kind: 'ask_idle', ids });
    return reply.kind === 'idle' ? reply.ids : null;
  }

  #told(message: EdgeMessage | VaultState): void {
    if (message.kind === 'vault_state') this.#vault.changed(message);
    else this.#engine?.told(message);
  }

  #publish(groups: readonly Observations[]): void {
    this.#workLog.observe(groups);
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

function later(act: () => void, ms: number): void {
  setTimeout(act, ms).unref();
}

/** A part that lives and dies with the process: listeners answer on until the ledger, which closes them, has stopped. */
const lasting: Running = { died: new Promise(() => {}), stop: async () => {} };
