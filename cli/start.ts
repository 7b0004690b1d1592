// `headgate start`: loads the configuration, runs the service until it is told to stop, and ends with a telling status.
import { availableParallelism } from 'node:os';
import type { Config } from '../config/config.ts';
import { type LoadResult, loadConfig, sealWarnings } from '../config/load.ts';
import { accept } from '../config/seal/acceptance.ts';
import { ListenFault } from '../http/server.ts';
import { openLog } from '../runtime/log.ts';
import { supervise } from '../runtime/supervisor.ts';
import { exitStatus } from './exit-status.ts';
import { Failure, failure } from './failure.ts';
import { Gateway, ServiceFault } from './gateway.ts';
import { type LocalToken, withLocalToken } from './token.ts';
import { intensity, tree } from './tree.ts';

export type StartOptions = {
  readonly path?: string | undefined;
  readonly graceMs: number;
  /** Changes to what was read, for programs that start the service in their own process. */
  readonly adjust?: (config: Config) => Config;
};

/** What a program that starts the service in its own process can use. */
export type Started = {
  readonly gateway: Gateway;
  /** Of the API; null: it is switched off. */
  readonly url: string | null;
  readonly local: LocalToken | null;
  /** Resolves with the exit status when the service has ended. */
  readonly ended: Promise<number>;
  stop(): void;
};

/** Resolves when the service is up; throws a Failure when it cannot start. */
export async function start({ path, graceMs, adjust = same => same }: StartOptions): Promise<Started> {
  const read = (statePath?: string): LoadResult => {
    const processors = availableParallelism();
    const loaded = loadConfig({ path, env: process.env, cwd: process.cwd(), processors, statePath });
    return loaded.ok ? { ...loaded, config: adjust(loaded.config) } : loaded;
  };
  const loaded = read();
  if (!loaded.ok) throw wrongConfiguration(loaded.problems);
  const { seal } = loaded;
  try {
    if (seal.lock !== null) accept(loaded.config.state.path, seal.lock);
  } catch (error) {
    const detail = `which lock is in force cannot be noted: ${(error as Error).message}`;
    throw failure(exitStatus.io, 'not_written', 'Not started', detail, error);
  }
  const { config, local } = withLocalToken(loaded.config);
  const log = openLog(config.service.logLevel, config.service.name);
  for (const warning of [...config.warnings, ...sealWarnings(seal)]) log.warn(warning);

  // The state of the running service says which lock counts, also where a new configuration names another one.
  const gateway = new Gateway({ config, graceMs, log, read: () => read(config.state.path) });
  let end = (_: number): void => {};
  const ended = new Promise<number>(resolve => {
    end = resolve;
  });
  const supervisor = supervise({
    tree: tree(gateway),
    intensity,
    nowMs: Date.now,
    onDeath: (child, reason) => log.error({ part: child }, reason.message),
    onGiveUp: (_, reason) => end(reason instanceof ServiceFault ? reason.exitStatus : exitStatus.defect),
  });
  // A signal that comes while the parts still start is kept until they are up.
  let isUp = false;
  let isUnwanted = false;
  const stop = (): void => {
    isUnwanted = true;
    if (!isUp) return;
    gateway.refuse();
    void supervisor.stop().then(() => end(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.on('SIGHUP', () => {
    if (isUp) void gateway.reload();
  });
  try {
    await supervisor.start();
  } catch (error) {
    throw notStarted(error as Error);
  }
  isUp = true;
  if (isUnwanted) stop();
  void ended.then(() => gateway.close());
  const url = config.api.enabled ? urlOf(config.api.listen.host, gateway.port) : null;
  const webhooks = urlOf(config.webhooks.listen.host, gateway.webhookPort);
  log.info({ url, webhooks, workers: config.service.workersMax, plugins: Object.keys(config.plugins).length }, 'ready');
  return { gateway, url, local, ended, stop };
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function wrongConfiguration(problems: readonly string[]): Failure {
  const [title, detail] = ['The configuration is wrong', 'the configuration is wrong'];
  const errors = problems.map(message => ({ message }));
  return new Failure(exitStatus.config, { type: 'about:blank', title, detail, code: 'invalid_configuration', errors });
}

function notStarted(error: Error): Failure {
  if (error instanceof ListenFault) {
    return failure(exitStatus.busy, error.code, 'Cannot listen', error.message, error);
  }
  const status = error instanceof ServiceFault ? error.exitStatus : exitStatus.defect;
  return failure(status, 'not_started', 'Not started', error.message, error);
}
