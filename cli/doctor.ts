// `/system/doctor`: preflight as a start would do it now, and what around the service is not as it should be.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, open, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { VaultCondition } from '../actors/vault/view.ts';
import { isLoopback } from '../config/address.ts';
import type { Config, ListenAddress } from '../config/config.ts';
import type { LoadResult } from '../config/load.ts';
import type { Seal } from '../config/seal/seal.ts';
import type { Check } from '../http/administration.ts';
import { possibleSandboxes, refusedSandboxes } from './sandboxes.ts';

/** Below this much free room (or this part of a small disk) the disk is worth a look; work is refused later than that. */
export const diskLowBytes = 256 * 2 ** 20;
export const diskLowPart = 0.1;
/** How far the wall clock may have moved against the monotonic one since the start, or lie behind the ledger. */
export const clockDriftMsMax = 5_000;
const nodeMin = [20, 11] as const;
/** Lines of problems that a detail repeats. */
const linesMax = 5;

export type DoctorOptions = {
  /** In force. */
  readonly config: Config;
  /** Reads what is on disk now. */
  readonly read: () => LoadResult;
  readonly nowMs: number;
  /** Time since the start by the monotonic clock, and the wall clock at the start. */
  readonly upMs: number;
  readonly startedAtMs: number;
  /** The newest commit of the ledger that settled something; null: none. */
  readonly committedUs: number | null;
  readonly nodeVersion: string;
  /** Looks at the vault on disk. */
  readonly vault: () => VaultCondition;
};

type Finding = { readonly passed: boolean; readonly detail: string };

/** In the order of the decisions, section 5. A check that throws has not passed. */
export async function examine(options: DoctorOptions): Promise<Check[]> {
  const { config } = options;
  const loaded = options.read();
  const { seal } = loaded;
  const problems = loaded.ok ? [] : loaded.problems.filter(line => !seal.findings.includes(line));
  const warnings = loaded.ok ? loaded.config.warnings : loaded.warnings;
  const checks: readonly (readonly [name: string, check: () => Finding | Promise<Finding>])[] = [
    ['config', () => checkConfig(problems, config)],
    ['seal', () => checkSealed(seal)],
    ['state_writable', () => checkState(config.state.path)],
    ['disk_space', () => checkDisk(config.state.path)],
    ['plugins', () => checkPlugins(problems, warnings, config)],
    ['pipelines', () => checkSection(problems, ['pipelines'], `${config.pipelines.length} pipelines`)],
    ['webhooks', () => checkSection(problems, ['webhooks', 'tokens'], endpointsOf(config))],
    ['vault', () => checkVault(config.vault.keyFile, options.vault())],
    ['listen_exposure', () => checkExposure(config)],
    ['clock', () => checkClock(options)],
    ['node_version', () => checkNode(options.nodeVersion)],
  ];
  return Promise.all(checks.map(async ([name, check]) => ({ name, ...(await tried(check)) })));
}

async function tried(check: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    return failed((error as Error).message);
  }
}

function passed(detail: string): Finding {
  return { passed: true, detail };
}

function failed(detail: string): Finding {
  return { passed: false, detail };
}

function lines(all: readonly string[]): string {
  const more = all.length > linesMax ? `; and ${all.length - linesMax} more` : '';
  return all.slice(0, linesMax).join('; ') + more;
}

function checkConfig(problems: readonly string[], { files }: Config): Finding {
  return problems.length > 0 ? failed(lines(problems)) : passed(`${files.length} files`);
}

function checkSealed({ isSealed, strict, lock, findings }: Seal): Finding {
  if (!isSealed) return passed('not sealed');
  if (findings.length > 0 || lock === null) return failed(lines(findings));
  return passed(`as in lock ${lock.number}${strict ? ', strict' : ''}`);
}

/** What of the configuration on disk is wrong in these sections. */
function checkSection(problems: readonly string[], sections: readonly string[], detail: string): Finding {
  const own = problems.filter(line => sections.includes(/:\d+:\d+: ([a-z_]+)/.exec(line)?.[1] ?? ''));
  return own.length > 0 ? failed(lines(own)) : passed(detail);
}

async function checkState(path: string): Promise<Finding> {
  const probe = join(path, `.probe-${randomUUID()}`);
  try {
    const file = await open(probe, 'wx', 0o600);
    try {
      await file.write('probe');
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await rm(probe, { force: true });
  }
  return passed(path);
}

async function checkDisk(path: string): Promise<Finding> {
  const { bavail, bsize, blocks } = await statfs(path);
  const free = bavail * bsize;
  const detail = `${Math.floor(free / 2 ** 20)} MiB free`;
  return free < Math.min(diskLowBytes, blocks * bsize * diskLowPart) ? failed(detail) : passed(detail);
}

/** Broken ones, and those of the running configuration whose entrypoint has gone. */
async function checkPlugins(
  problems: readonly string[],
  warnings: readonly string[],
  config: Config,
): Promise<Finding> {
  const broken = checkSection(problems, ['plugins', 'plugin_roots'], '');
  if (!broken.passed) return broken;
  if (warnings.length > 0) return failed(lines(warnings));
  const plugins = Object.values(config.plugins);
  const gone: string[] = [];
  for (const { name, manifest } of plugins) {
    const mode = manifest.runtime === 'process' ? constants.X_OK : constants.R_OK;
    await access(manifest.entrypoint, mode).catch(() => gone.push(`${name}: ${manifest.entrypoint} cannot be used`));
  }
  const wrong = [...gone, ...(await refusedSandboxes(plugins))];
  return wrong.length > 0 ? failed(lines(wrong)) : passed(`${plugins.length} plugins; ${await possibleSandboxes()}`);
}

/** The file of the unlock key is for its owner alone, and every record opens with it. */
async function checkVault(keyFile: string, vault: VaultCondition): Promise<Finding> {
  const key = await stat(keyFile).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (key !== null && (key.mode & 0o077) !== 0) {
    return failed(`others than its owner may use ${keyFile}: set its mode to 0600`);
  }
  if (vault.kind === 'sealed') return failed(lines(vault.problems));
  if (vault.kind === 'absent') return passed('not initialised');
  return passed(`${vault.principals} principals, ${vault.secrets} secrets`);
}

function endpointsOf({ webhooks: { endpoints } }: Config): string {
  const unguarded = endpoints.filter(({ idHeader }) => idHeader === undefined).map(({ name }) => name);
  const detail = `${endpoints.length} endpoints`;
  if (unguarded.length === 0) return detail;
  return `${detail}; a repeated delivery runs again where there is no id_header: ${unguarded.join(', ')}`;
}

function checkExposure({ api, webhooks }: Config): Finding {
  const listeners: (readonly [name: string, listen: ListenAddress])[] = [['webhooks', webhooks.listen]];
  if (api.enabled) listeners.push(['api', api.listen]);
  const exposed = listeners
    .filter(([, { host }]) => !isLoopback(host))
    .map(([name, { host }]) => `${name}.listen ${host}`);
  if (exposed.length === 0) return passed('loopback only');
  return failed(`${exposed.join(' and ')} can be reached from elsewhere, without TLS: put a proxy with TLS in front`);
}

function checkClock({ nowMs, upMs, startedAtMs, committedUs }: DoctorOptions): Finding {
  const driftMs = nowMs - startedAtMs - upMs;
  if (Math.abs(driftMs) > clockDriftMsMax)
    return failed(`the clock was moved by ${Math.round(driftMs / 1000)} s since the start`);
  const behindMs = (committedUs ?? 0) / 1000 - nowMs;
  if (behindMs > clockDriftMsMax) return failed(`the clock lies ${Math.round(behindMs / 1000)} s behind the ledger`);
  return passed(new Date(nowMs).toISOString());
}

function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const fits = major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1]);
  return fits ? passed(version) : failed(`${version}; at least ${nodeMin.join('.')} is needed`);
}
