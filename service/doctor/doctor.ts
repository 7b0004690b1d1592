// The checks of `/system/doctor`: whether the service could start with the files on disk, and whether its environment is in order.

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { HeldJobs, SetAsideReply } from '../../actors/job/protocol.ts';
import type { Pause } from '../../actors/job/records/pause.ts';
import type { PausedSchedule } from '../../actors/schedule/views/schedules.ts';
import { damageRemedy, type KeySource, remedyOf } from '../../actors/vault/unlock-key.ts';
import type { VaultCondition } from '../../actors/vault/vault-check.ts';
import { isLoopback } from '../../config/address.ts';
import { dateText, endsSoonMs } from '../../config/certificate.ts';
import type { Config } from '../../config/config.ts';
import { sealGap } from '../../config/load.ts';
import type { Seal } from '../../config/seal/seal.ts';
import { hasRoom } from '../../runtime/store/room.ts';
import { countText } from '../../runtime/text.ts';
import type { BackupCondition } from '../backup/backups.ts';
import { heldText } from '../held-jobs.ts';
import type { IndexCondition } from '../indexer/thread.ts';
import type { Inspection } from '../reads/inspection.ts';
import { checkBackups } from './backups.ts';
import { type ListenerCertificate, leftBehind } from './certificates.ts';
import { exposedFiles } from './exposed-files.ts';
import { checkPauses, checkSchedules } from './pauses.ts';
import { type CheckResult, failed, passed } from './result.ts';
import { askedSandboxes, type SandboxCheck, type SandboxedPlugin } from './sandboxes.ts';
import { checkTokens } from './tokens.ts';

/**
 * The check of the disk fails if the free space is less than this and also less than `diskLowPart` of the disk. It also fails if the
 * service refuses new work (runtime/store/room.ts). A large `state.log.segment` makes the service refuse work while more space is free.
 */
export const diskLowBytes = 256 * 2 ** 20;
export const diskLowPart = 0.1;
/** The check of the clock fails if the wall clock has drifted from the monotonic clock, or is behind the last commit, by more than this. */
export const clockDriftMsMax = 5_000;
const nodeMin = [20, 11] as const;
/** The maximum number of problems, records or names that most checks list in their details. */
const linesMax = 5;
/** A warning about a schedule, or about a schedule of a plugin. */
const scheduleLine = /:\d+:\d+: (plugins\S+\.)?schedules\[\d+\]/;

export type Check = CheckResult & { readonly name: string };

export type DoctorOptions = {
  /** The configuration in force. */
  readonly config: Config;
  /** Reads the configuration on disk. */
  readonly inspect: () => Promise<Inspection>;
  readonly trySandboxes: (asked: readonly SandboxedPlugin[]) => Promise<SandboxCheck>;
  readonly nowMs: number;
  /** The time since startup, by the monotonic clock. */
  readonly upMs: number;
  /** The time of startup, by the wall clock. */
  readonly startedAtMs: number;
  /** The time of the newest commit in which a stored attempt ended; null if no attempt is stored. */
  readonly committedUs: number | null;
  readonly nodeVersion: string;
  /** The certificates of the listeners with TLS. */
  readonly certificates: readonly ListenerCertificate[];
  /** The jobs that are held, other than by a pause; null if the ledger does not respond. */
  readonly held: () => Promise<readonly HeldJobs[] | null>;
  readonly pauses: readonly Pause[];
  readonly schedules: readonly PausedSchedule[];
  /** The records that are set aside; null if the ledger does not respond. */
  readonly setAside: () => Promise<SetAsideReply | null>;
  /** The HTTP server in use and, if uWebSockets.js cannot be loaded, the reason. */
  readonly server: string;
  readonly index: IndexCondition;
  readonly backups: BackupCondition;
  readonly vault: () => VaultExamination;
};

export type VaultExamination = {
  readonly condition: VaultCondition;
  readonly keys: KeySource;
  /** The mode of the key file if users other than the owner can use the file; otherwise null. */
  readonly looseMode: string | null;
};

/** Runs all checks. The results are in the order of docs/contract.md#doctor. A check that throws has not passed. */
export async function examine(options: DoctorOptions): Promise<Check[]> {
  const { config } = options;
  const { seal, warnings, ...found } = await options.inspect();
  const problems = found.problems.filter(line => !seal.findings.includes(line));
  const ofSchedules = warnings.filter(line => scheduleLine.test(line));
  const otherWarnings = warnings.filter(line => !ofSchedules.includes(line));
  const checks: readonly (readonly [name: string, check: () => CheckResult | Promise<CheckResult>])[] = [
    ['config', () => checkConfig(problems, config)],
    ['seal', () => checkSealed(seal)],
    ['state_writable', () => checkState(config.state.path)],
    ['disk_space', () => checkDisk(config.state.path, config.state.log.segmentBytes)],
    ['search_index', () => checkIndex(options.index)],
    ['plugins', () => checkPlugins(problems, otherWarnings, options)],
    ['held_jobs', async () => checkHeld(await options.held())],
    ['pauses', () => checkPauses(options.pauses, options.nowMs)],
    ['schedules', () => checkSchedules(config.schedules.length, options.schedules, lines(ofSchedules), options.nowMs)],
    ['records', async () => checkRecords(await options.setAside())],
    ['pipelines', () => checkSection(problems, ['pipelines'], countText(config.pipelines.length, 'pipeline'))],
    ['webhooks', () => checkSection(problems, ['webhooks', 'tokens'], endpointsOf(config))],
    ['backups', () => checkBackups(config.backups, options.backups, options.pauses, options.nowMs)],
    ['vault', () => checkVault(options.vault())],
    ['tokens', () => checkTokens(config.api.tokens)],
    ['listen_exposure', () => checkExposure(config)],
    ['certificates', () => checkCertificates(options)],
    ['clock', () => checkClock(options)],
    ['node_version', () => checkNode(options)],
  ];
  return Promise.all(checks.map(async ([name, check]) => ({ name, ...(await tried(check)) })));
}

async function tried(check: () => CheckResult | Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await check();
  } catch (error) {
    return failed((error as Error).message);
  }
}

function lines(all: readonly string[]): string {
  const more = all.length > linesMax ? `; and ${all.length - linesMax} more` : '';
  return all.slice(0, linesMax).join('; ') + more;
}

function checkConfig(problems: readonly string[], { files }: Config): CheckResult {
  return problems.length > 0 ? failed(lines(problems)) : passed(countText(files.length, 'file'));
}

function checkSealed({ isSealed, strict, lock, findings, gap }: Seal): CheckResult {
  if (!isSealed) return passed('not sealed');
  if (findings.length > 0 || lock === null) return failed(lines(findings));
  return passed(`matches lock ${lock.number}${strict ? ', strict' : ''}${gap === null ? '' : `; ${sealGap(gap)}`}`);
}

/** Passes if these sections of the configuration on disk have no problems. */
function checkSection(problems: readonly string[], sections: readonly string[], detail: string): CheckResult {
  const own = linesOf(problems, sections);
  return own.length > 0 ? failed(lines(own)) : passed(detail);
}

function linesOf(problems: readonly string[], sections: readonly string[]): string[] {
  return problems.filter(line => sections.includes(/:\d+:\d+: ([a-z_]+)/.exec(line)?.[1] ?? ''));
}

/** The problems in manifests. They are errors if the configuration uses the plugins, and otherwise warnings. */
function linesOfManifests(problems: readonly string[]): string[] {
  return problems.filter(line => line.split(/:\d+:\d+: /)[0]!.endsWith('/manifest.yaml'));
}

async function checkState(path: string): Promise<CheckResult> {
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
  const exposed = exposedFiles(path);
  if (exposed.length > 0)
    return failed(`users other than the owner can use ${lines(exposed)}: chmod -R go-rwx ${path}`);
  return passed(path);
}

function checkHeld(held: readonly HeldJobs[] | null): CheckResult {
  if (held === null) return failed('the ledger does not respond');
  if (held.length === 0) return passed('none');
  const all = held.map(({ plugin, command, jobs, detail, sinceUs }) => {
    const since = sinceUs === 0 ? '' : ` since ${new Date(sinceUs / 1000).toISOString()}`;
    return `${heldText([{ plugin, command, jobs }])}${since}: ${detail}`;
  });
  return failed(all.join('; '));
}

function checkRecords(found: SetAsideReply | null): CheckResult {
  if (found === null) return failed('the ledger does not respond');
  if (found.all === 0) return passed('none is set aside');
  return failed(`${setAsideText(found)}; restore a backup of the state, or continue without them`);
}

/** A text like `2 records cannot be used: open 0f3a… (reason), runs 77b0… (reason)`. */
function setAsideText({ all, listed }: SetAsideReply): string {
  const named = listed.slice(0, linesMax).map(({ table, key, error }) => `${table} ${key} (${error})`);
  const more = all > named.length ? ` and ${all - named.length} more` : '';
  return `${countText(all, 'record')} cannot be used: ${named.join(', ')}${more}`;
}

async function checkDisk(path: string, segmentBytes: number): Promise<CheckResult> {
  const { bavail, bsize, blocks } = await statfs(path);
  const free = bavail * bsize;
  const detail = `${Math.floor(free / 2 ** 20)} MiB free`;
  const isLow = free < Math.min(diskLowBytes, blocks * bsize * diskLowPart) || !hasRoom(path, segmentBytes);
  return isLow ? failed(detail) : passed(detail);
}

function checkIndex(index: IndexCondition): CheckResult {
  if (index.kind === 'closed') return failed(`it cannot be opened, so searches get 503: ${index.reason}`);
  if (index.kind === 'failing') return failed(`it cannot follow the journal: ${index.reason}`);
  if (index.replaced === null) return passed('open');
  const { reason, setAside } = index.replaced;
  return passed(`open, rebuilt from the ledger: ${reason}; the previous one is in ${setAside}`);
}

/**
 * Fails if plugins on disk have problems, or if the configuration on disk has warnings that concern neither `api`, `webhooks` nor schedules.
 * Also fails if an entrypoint or sandbox of the configuration in force cannot be used.
 */
async function checkPlugins(
  problems: readonly string[],
  warnings: readonly string[],
  { config, trySandboxes }: DoctorOptions,
): Promise<CheckResult> {
  const others = linesOf(warnings, ['api', 'webhooks']);
  const own = warnings.filter(line => !others.includes(line));
  const broken = [...linesOfManifests(problems), ...linesOf(problems, ['plugins', 'plugin_roots']), ...own];
  const plugins = Object.values(config.plugins);
  const gone: string[] = [];
  for (const { name, manifest } of plugins) {
    const mode = manifest.runtime === 'process' ? constants.X_OK : constants.R_OK;
    await access(manifest.entrypoint, mode).catch(() => gone.push(`${name}: ${manifest.entrypoint} cannot be used`));
  }
  const { refused, possible } = await trySandboxes(askedSandboxes(plugins));
  const wrong = [...broken, ...gone, ...refused];
  return wrong.length > 0 ? failed(wrong.join('; ')) : passed(`${countText(plugins.length, 'plugin')}; ${possible}`);
}

/** Fails if the unlock key does not open the vault and all its records, or if users other than the owner can use the key file. */
function checkVault({ condition, looseMode, keys }: VaultExamination): CheckResult {
  const problems = condition.kind === 'absent' ? [] : condition.problems;
  const found = problems.length > 0 ? [lines(problems), condition.kind === 'open' ? damageRemedy : remedyOf(keys)] : [];
  if (looseMode !== null) {
    found.push(`users other than the owner can use ${keys.file} (mode ${looseMode}): set its mode to 0600`);
  }
  if (found.length > 0) return failed(found.join('; '));
  if (condition.kind !== 'open') return passed('not initialised');
  return passed(`${countText(condition.principals, 'principal')}, ${countText(condition.secrets, 'secret')}`);
}

function endpointsOf({ webhooks: { endpoints } }: Config): string {
  const unguarded = endpoints.filter(({ idHeader }) => idHeader === undefined).map(({ name }) => name);
  const detail = countText(endpoints.length, 'endpoint');
  if (unguarded.length === 0) return detail;
  return `${detail}; repeated deliveries run again at endpoints without id_header: ${unguarded.join(', ')}`;
}

function checkExposure({ api, webhooks }: Config): CheckResult {
  const listeners = [...(api.enabled ? [{ ...api, name: 'api' }] : []), { ...webhooks, name: 'webhooks' }].filter(
    ({ listen }) => !isLoopback(listen.host),
  );
  if (listeners.length === 0) return passed('loopback only');
  const found = listeners.map(({ name, listen: { host }, tls, behindProxy }) => {
    const address = `${name}.listen ${host}`;
    if (tls !== undefined) return passed(`${address}: TLS`);
    if (behindProxy) return passed(`${address}: behind a proxy with TLS, as ${name}.behind_proxy declares`);
    const remedy = `set ${name}.tls, or ${name}.behind_proxy: true if a proxy with TLS is in front`;
    return failed(`${address}: reachable from other machines without TLS; ${remedy}`);
  });
  return together(found);
}

/** Fails if a certificate has expired or expires within `endsSoonMs`, or if some callers still get an older certificate. */
function checkCertificates({ certificates, nowMs }: DoctorOptions): CheckResult {
  if (certificates.length === 0) return passed('no TLS');
  const found = certificates.map(({ name, served }) => {
    const { names, endsAtMs } = served.newest;
    const days = Math.floor((endsAtMs - nowMs) / 86_400_000);
    const ends =
      endsAtMs <= nowMs ? 'expired on' : days < endsSoonMs / 86_400_000 ? `ends in ${days} days, on` : 'until';
    const left = leftBehind(served);
    const all = names.length === 0 ? 'no names' : names.slice(0, linesMax).join(', ');
    const more = names.length > linesMax ? ` and ${names.length - linesMax} more` : '';
    const detail = `${name}: ${all}${more} ${ends} ${dateText(endsAtMs)}${left === null ? '' : `; ${left}`}`;
    return ends === 'until' && left === null ? passed(detail) : failed(detail);
  });
  return together(found);
}

/** Joins several findings into one, failures first. The joined finding passes if all findings have passed. */
function together(findings: readonly CheckResult[]): CheckResult {
  const wrong = findings.filter(finding => !finding.passed);
  const detail = [...wrong, ...findings.filter(finding => finding.passed)].map(finding => finding.detail).join('; ');
  return wrong.length > 0 ? failed(detail) : passed(detail);
}

function checkClock({ nowMs, upMs, startedAtMs, committedUs }: DoctorOptions): CheckResult {
  const driftMs = nowMs - startedAtMs - upMs;
  if (Math.abs(driftMs) > clockDriftMsMax)
    return failed(`the clock has jumped by ${Math.round(driftMs / 1000)} s since the start`);
  const behindMs = (committedUs ?? 0) / 1000 - nowMs;
  if (behindMs > clockDriftMsMax) return failed(`the clock is ${Math.round(behindMs / 1000)} s behind the last commit`);
  return passed(new Date(nowMs).toISOString());
}

function checkNode({ nodeVersion: version, server }: DoctorOptions): CheckResult {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const fits = major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1]);
  return fits
    ? passed(`${version}, HTTP server ${server}`)
    : failed(`${version}; headgate needs ${nodeMin.join('.')} or later`);
}
