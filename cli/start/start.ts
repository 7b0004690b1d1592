// Starts the service, for `headgate start` and for programs that run the service in their own process: loads the configuration,
// and runs the service and its HTTP servers until a signal or `stop` ends them.
import { availableParallelism } from 'node:os';
import type { Certificate } from '../../config/certificate.ts';
import type { Config } from '../../config/config.ts';
import { loadConfig, sealGap, sealWarnings } from '../../config/load.ts';
import { accept } from '../../config/seal/acceptance.ts';
import type { Seal } from '../../config/seal/seal.ts';
import { ListenFault, TransportFault } from '../../http/server.ts';
import { CertificateFault } from '../../http/transport/transport.ts';
import { ignoreDebugSignal } from '../../runtime/debug-signal.ts';
import { takeVaultKey } from '../../runtime/host/client/environment.ts';
import type { JobId } from '../../runtime/ids.ts';
import { forbidInspection } from '../../runtime/inspection.ts';
import type { Logger } from '../../runtime/log.ts';
import { isStoreFault } from '../../runtime/store/fault.ts';
import { StoreHeld } from '../../runtime/store/owner.ts';
import { supervise } from '../../runtime/supervisor.ts';
import { backUpBeforeUpgrade, formatToUpgrade } from '../../service/backup/before-upgrade.ts';
import { type LocalToken, withLocalToken } from '../../service/local-token.ts';
import { Service } from '../../service/service.ts';
import { ServiceFault } from '../../service/start-thread.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, failure } from '../failure.ts';
import { version } from '../version.ts';
import { HttpListeners } from './listeners.ts';
import { leaveAddress, type ServiceAddress } from './running.ts';
import { openStartLog, type StartLog } from './start-log.ts';
import { tree } from './tree.ts';
import { WorkLog } from './work-log.ts';

export type StartOptions = {
  readonly path?: string | undefined;
  readonly graceMs: number;
  /** The value of HEADGATE_VAULT_KEY. If absent, the value is taken out of the environment. */
  readonly vaultKey?: string | undefined;
  /** Changes the configuration on startup and on each reload, for programs that run the service in their own process. */
  readonly adjust?: (config: Config) => Config;
  /** Whether the state is backed up before it gets a newer format. Default: yes. */
  readonly backsUp?: boolean;
  /** The log; by default on stderr, in the format that the configuration or the terminal sets. */
  readonly startLog?: StartLog;
};

/** A running service, for programs that run the service in their own process. */
export type Started = {
  /** Returns the configuration in force. */
  readonly config: () => Config;
  /** The URL of the API; null if the API is disabled. */
  readonly url: string | null;
  readonly local: LocalToken | null;
  /** Resolves with the exit status when the service has ended. */
  readonly ended: Promise<number>;
  stop(): void;
};

/**
 * Resolves when the service is up. Throws a `CommandFailure` if the configuration is invalid, if the accepted lock or the local token cannot
 * be read or written, if the backup before an upgrade fails, or if a part of the service cannot start.
 */
export async function start(options: StartOptions): Promise<Started> {
  const { path, graceMs, vaultKey, adjust = same => same, startLog = openStartLog(), backsUp = true } = options;
  const key = vaultKey ?? takeVaultKey(process.env);
  const inspection = await forbidInspection().then(
    () => null,
    (error: Error) => error.message,
  );
  const source = { path, cwd: process.cwd(), processors: availableParallelism() };
  ignoreDebugSignal();
  // Files of the service are for its user alone. Plugins keep the umask of the caller.
  const umask = process.umask(0o077);
  const loaded = loadConfig({ ...source, env: process.env });
  if (!loaded.ok) throw wrongConfiguration(loaded.problems);
  const { seal, certificates } = loaded;
  const { gap, config, local } = prepareState(adjust(loaded.config), seal);
  const { log, applyLog } = startLog.begin(config);
  for (const warning of [...config.warnings, ...sealWarnings(seal)]) log.warn(warning);
  if (gap !== null) log.warn(sealGap(gap));
  if (inspection !== null) log.warn(`other processes of this user can read the memory of this one: ${inspection}`);

  const originOf = (id: JobId) => service.originOf(id);
  const workLog = new WorkLog({ log, settings: () => service.config.log, originOf, later });
  const noteAddress = (): void => {
    if (!config.api.enabled) return;
    const { host } = config.api.listen;
    const api = listeners.served().find(({ name }) => name === 'api');
    try {
      leaveAddress(config.state.path, { host, port: listeners.port('api'), ...schemeOf(api?.served.newest) });
    } catch (error) {
      log.warn(`cannot write the address of the API for clients: ${(error as Error).message}`);
    }
  };
  const listeners: HttpListeners = new HttpListeners({
    service: () => service,
    certificates,
    onRenewed: noteAddress,
    log,
    workLog,
    later,
  });
  const service: Service = new Service({
    config,
    graceMs,
    log,
    version,
    onObserved: groups => workLog.observe(groups),
    applyLog,
    adjust,
    vaultKey: key,
    umask,
    // The accepted lock is noted in the state directory of the running service, even if the new configuration names another
    // directory.
    source: { ...source, statePath: config.state.path },
    listeners,
  });
  let end = (_: number): void => {};
  const ended = new Promise<number>(resolve => {
    end = resolve;
  });
  const supervisor = supervise({
    tree: tree(service, listeners, graceMs),
    onDeath: (child, reason) => log.error({ part: child }, reason.message),
    onGiveUp: (_, reason) => end(reason instanceof ServiceFault ? reason.exitStatus : exitStatus.defect),
  });
  // A signal during startup takes effect once all parts are up.
  let isUp = false;
  let isReloadAsked = false;
  /** The first request to stop, with its signal if it was one. Null: there was no request. */
  let stoppedBy: { readonly signal?: NodeJS.Signals } | null = null;
  let isStopping = false;
  const stop = (signal?: NodeJS.Signals): void => {
    stoppedBy ??= signal === undefined ? {} : { signal };
    if (!isUp || isStopping) return;
    isStopping = true;
    service.refuse();
    log.info({ ...stoppedBy, running: service.running, graceMs }, 'stopping');
    void supervisor.stop().then(() => {
      log.info('stopped');
      end(0);
    });
  };
  // Further signals change nothing. On Ctrl-C, `npm start` sends a second SIGINT after that of the terminal.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const reload = (): void => {
    isReloadAsked = true;
    if (isUp) void service.reload().catch((error: Error) => log.error({ err: error }, 'a reload failed'));
  };
  process.on('SIGHUP', reload);
  if (backsUp) await backUp(config, log);
  try {
    await supervisor.start();
  } catch (error) {
    throw notStarted(error as Error);
  }
  noteAddress();
  isUp = true;
  process.on('uncaughtException', error => {
    log.fatal({ err: error }, 'an internal error on the main thread: the service ends');
    listeners.fault(error);
  });
  if (stoppedBy !== null) stop();
  else if (isReloadAsked) reload();
  void ended.then(() => listeners.close());
  const url = config.api.enabled ? urlOf(config.api, listeners.port('api')) : null;
  const webhooks = urlOf(config.webhooks, listeners.port('webhooks'));
  const { listen } = config.metrics;
  const metrics = listen && { metrics: urlOf({ listen }, listeners.port('metrics')) };
  const plugins = Object.keys(config.plugins).length;
  if (local?.made) log.info({ token_file: local.file }, 'created an API token');
  const about = { store: service.storeId, server: listeners.serverName, workers: config.service.workersMax, plugins };
  log.info({ url, webhooks, ...metrics, ...about, ...(local && { token_file: local.file }) }, 'ready');
  void service.logHeld();
  return { config: () => service.config, url, local, ended, stop: () => stop() };
}

/** Records the accepted lock, and adds the local token. */
function prepareState(config: Config, seal: Seal): ReturnType<typeof withLocalToken> & { readonly gap: string | null } {
  const { path } = config.state;
  try {
    return { gap: accept(path, seal), ...withLocalToken(config) };
  } catch (error) {
    const detail = `${path}: cannot read or write the local token or the accepted lock: ${(error as Error).message}`;
    throw failure(exitStatus.io, 'not_written', 'Not started', detail, error);
  }
}

/** Backs up the state if this start gives it a newer format. */
async function backUp(config: Config, log: Logger): Promise<void> {
  // If the ledger cannot be read, no backup is written, and the ledger's thread reports the reason and the remedy.
  if ((await formatToUpgrade(config.state.path).catch(() => null)) === null) return;
  try {
    const backup = await backUpBeforeUpgrade(config, version);
    if (backup) log.info({ path: backup.path }, 'the state was backed up, because it gets a newer format');
  } catch (error) {
    if (error instanceof StoreHeld) throw notStarted(error);
    const detail = `the state gets a newer format, but the backup before that failed: ${(error as Error).message}; --no-backup starts without it`;
    throw failure(exitStatus.io, 'not_backed_up', 'Not started', detail, error);
  }
}

function later(act: () => void, ms: number): void {
  setTimeout(act, ms).unref();
}

/**
 * Whether the API uses TLS and, if so, the host name that clients on this machine expect in the certificate: its first name without a
 * wildcard, if it has one.
 */
function schemeOf(certificate: Certificate | undefined): Pick<ServiceAddress, 'tls'> {
  if (certificate === undefined) return {};
  const name = certificate.names.find(name => !name.startsWith('*'));
  return { tls: name === undefined ? {} : { name } };
}

function urlOf({ listen: { host }, tls }: Pick<Config['api' | 'webhooks'], 'listen' | 'tls'>, port: number): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function wrongConfiguration(problems: readonly string[]): CommandFailure {
  const [title, detail] = ['The configuration is invalid', 'the configuration is invalid'];
  const { problem } = failure(exitStatus.config, 'invalid_configuration', title, detail);
  return new CommandFailure(exitStatus.config, { ...problem, errors: problems.map(message => ({ message })) });
}

function notStarted(error: Error): CommandFailure {
  const because = (status: number, code: string, title = 'Not started') =>
    failure(status, code, title, error.message, error);
  if (error instanceof ListenFault) return because(exitStatus.busy, error.code, 'Cannot listen');
  if (error instanceof TransportFault) return because(exitStatus.config, error.code);
  if (error instanceof CertificateFault) return because(exitStatus.config, 'certificate_refused');
  if (error instanceof StoreHeld) return because(exitStatus.busy, 'not_started');
  if (error instanceof ServiceFault) return because(error.exitStatus, 'not_started');
  return because(isStoreFault(error) ? exitStatus.io : exitStatus.defect, 'not_started');
}
