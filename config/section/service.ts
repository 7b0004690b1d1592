// Reads the sections `service`, `log`, `state`, `vault` and `backups`, and the plugin roots.
import { dirname, join, resolve } from 'node:path';
import { churnBytesMin, defaultLogSizes, segmentBytesMin } from '../../runtime/commit-log/log-sizes.ts';
import type { LogFormat } from '../../runtime/log.ts';
import { readDuration } from '../check/duration.ts';
import type { ReportAt } from '../check/problem.ts';
import type { Config, LogLevel } from '../config.ts';
import { bundledDirectory, bundledRoot } from '../plugin/bundled.ts';
import type { PluginRoot } from '../plugin/discovery.ts';
import { parseDuration, parseSize } from '../quantity.ts';
import {
  flagOf,
  itemsOf,
  nodeAt,
  numberOf,
  type SourceLocation,
  type SourceNode,
  textOf,
  textsOf,
} from '../source/tree.ts';

const day = 86_400_000;

export function readService(root: SourceNode, processors: number): Config['service'] {
  const service = nodeAt(root, 'service');
  return {
    name: textOf(service, 'name') ?? 'headgate',
    logLevel: (textOf(service, 'log_level') as LogLevel | undefined) ?? 'info',
    strictMode: flagOf(service, 'strict_mode') ?? false,
    workersMax: numberOf(service, 'max_workers') ?? processors,
    queueDepthMax: numberOf(service, 'max_queue_depth') ?? 1_000_000,
    waitingMax: numberOf(service, 'max_waiting') ?? 10_000_000,
    jobsPerRootMax: numberOf(service, 'max_jobs_per_root') ?? 10_000_000,
    pluginEnvPassthrough: [...new Set(textsOf(service, 'plugin_env_passthrough'))],
  };
}

export function readLog(root: SourceNode): Config['log'] {
  const log = nodeAt(root, 'log');
  return {
    format: (textOf(log, 'format') as LogFormat | undefined) ?? null,
    jobs: (textOf(log, 'jobs') as Config['log']['jobs'] | undefined) ?? 'failed',
    perMinute: numberOf(log, 'per_minute') ?? 600,
  };
}

/** The limits and the default of each key of `state.log`, in bytes. */
const logSizes = {
  segment: { min: segmentBytesMin, max: 2 ** 30, usual: defaultLogSizes.segmentBytes, range: 'from 1MB to 1GB' },
  churn: { min: churnBytesMin, max: 64 * 2 ** 30, usual: defaultLogSizes.churnBytes, range: 'from 1MB to 64GB' },
} as const;

/** Reads the `state` section. Calls `reportAt` for each size that is out of range. */
export function readState(root: SourceNode, mainFile: string, reportAt: ReportAt = () => {}): Config['state'] {
  const state = nodeAt(root, 'state');
  const retention = nodeAt(state, 'retention');
  const logBytes = (key: keyof typeof logSizes): number => {
    const node = nodeAt(state, 'log', key);
    const { min, max, usual, range } = logSizes[key];
    const bytes = parseSize(numberOf(node) ?? textOf(node)) ?? usual;
    const shown = JSON.stringify(textOf(node) ?? bytes);
    if (bytes < min || bytes > max) reportAt(['state', 'log', key], `is ${shown}; it must be ${range}`);
    return bytes;
  };
  return {
    path: readPath(nodeAt(state, 'path')) ?? join(dirname(mainFile), 'data'),
    retention: {
      jobsMs: parseDuration(textOf(retention, 'jobs')) ?? 30 * day,
      jobsMax: numberOf(retention, 'max_jobs') ?? 10_000_000,
      heldMs: parseDuration(textOf(retention, 'held')) ?? 30 * day,
    },
    log: { segmentBytes: logBytes('segment'), churnBytes: logBytes('churn') },
  };
}

export function readVault(root: SourceNode, statePath: string): Config['vault'] {
  const retention = nodeAt(root, 'vault', 'audit_retention');
  return {
    keyFile: readPath(nodeAt(root, 'vault', 'key_file')) ?? defaultKeyFile(statePath),
    auditRetentionMs: numberOf(retention) ?? parseDuration(textOf(retention)) ?? 90 * day,
    auditExport: readPath(nodeAt(root, 'vault', 'audit_export')) ?? null,
  };
}

export function readBackups(root: SourceNode, mainFile: string, reportAt: ReportAt): Config['backups'] {
  const backups = nodeAt(root, 'backups');
  const everyMs = readDuration(textOf(backups, 'every'), ['backups', 'every'], reportAt, { least: '1s' }) ?? null;
  const log = flagOf(backups, 'log') ?? false;
  if (log && nodeAt(backups, 'every') === undefined)
    reportAt(['backups', 'log'], 'needs "backups.every": the log is kept from the oldest of the scheduled backups on');
  return {
    everyMs,
    log,
    keep: numberOf(backups, 'keep') ?? 7,
    into: readPath(nodeAt(backups, 'into')) ?? join(dirname(mainFile), 'backups'),
  };
}

export function defaultKeyFile(statePath: string): string {
  return join(statePath, 'vault.key');
}

export function readPluginRoots(root: SourceNode, mainFile: string): PluginRoot[] {
  const list = nodeAt(root, 'plugin_roots');
  if (list === undefined) {
    const place: SourceLocation = { file: mainFile, line: 1, column: 1 };
    const directory = join(dirname(mainFile), 'plugins');
    return [{ directory, place, path: ['plugin_roots'], isDefault: true, isBundled: false }];
  }
  return itemsOf(list).flatMap((item, index) => {
    const isBundled = textOf(item) === bundledRoot;
    const directory = isBundled ? bundledDirectory() : readPath(item);
    // The schema reports texts that begin with `headgate:`, except `headgate:bundled`.
    return directory === undefined || (!isBundled && textOf(item)?.startsWith('headgate:'))
      ? []
      : [{ directory, place: item.place, path: ['plugin_roots', index], isDefault: false, isBundled }];
  });
}

/** The absolute path that a value names; undefined if it names none. A relative path is relative to the directory of the value's file. */
export function readPath(node: SourceNode | undefined): string | undefined {
  const text = textOf(node);
  return node === undefined || text === undefined || text === '' ? undefined : resolve(dirname(node.place.file), text);
}
