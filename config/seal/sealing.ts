// Carries out `headgate config lock`: locks the configuration on disk if it is valid and safe.
import { dirname } from 'node:path';
import { replaceFile } from '../../runtime/durable-file.ts';
import { type ConfigReading, type ReadOptions, readConfiguration } from '../reading.ts';
import { diskFiles } from '../source/files.ts';
import { isStrictEnvironment, makeSealKey, readSealKey } from './key.ts';
import { encodeLock, type Lock, openLock } from './lock.ts';
import {
  acceptanceNoteOf,
  acceptedLock,
  formatFinding,
  groupWritableWarnings,
  lockFile,
  type SealOptions,
} from './seal.ts';
import { survey } from './survey.ts';

export type Locked =
  | {
      readonly ok: true;
      readonly file: string;
      readonly lock: Lock;
      readonly keyFile: string;
      /** Whether this call created the seal key. */
      readonly isNewKey: boolean;
      readonly warnings: readonly string[];
    }
  /** Nothing was locked; `problems` has one line for each reason. */
  | { readonly ok: false; readonly problems: readonly string[] };

const lockMode = 0o644;

/**
 * Locks the configuration, and creates the seal key if it is missing. Throws the system's error if lock or key cannot be written;
 * the old lock then stays intact.
 */
export function lockConfiguration(options: ReadOptions): Locked {
  const reading = readConfiguration(options);
  if (typeof reading === 'string') return { ok: false, problems: [reading] };
  const { env, cwd, disk = diskFiles } = options;
  const { config } = reading;
  const file = lockFile(reading);
  const found = survey(reading, file, disk);
  const problems = [...reading.problems, ...found.findings.map(formatFinding)];
  if (problems.length > 0) return { ok: false, problems };

  let key = readSealKey(config, env, cwd, disk);
  const isNewKey = !key.ok && key.isMissing;
  if (!key.ok && key.isMissing && key.file !== null) {
    makeSealKey(key.file);
    key = readSealKey(config, env, cwd, disk);
  }
  if (!key.ok) return { ok: false, problems: [formatFinding({ path: key.file ?? file, message: key.message })] };

  const before = numberBefore(reading, key.key, { env, cwd, disk });
  if (typeof before === 'string') return { ok: false, problems: [before] };
  const lock: Lock = {
    number: before + 1,
    strict: config.service.strictMode || isStrictEnvironment(env),
    directory: disk.realpath(dirname(file)),
    files: found.files,
  };
  replaceFile(file, encodeLock(lock, key.key), lockMode);
  const warnings = [...reading.warnings, ...groupWritableWarnings(found.groupWritable)];
  return { ok: true, file, lock, keyFile: key.file, isNewKey, warnings };
}

/**
 * The highest lock number in the valid lock on disk and in the notes; 0 if there is none. If a note cannot be read,
 * returns the line that reports the error.
 */
function numberBefore(reading: ConfigReading, key: Uint8Array, options: SealOptions): number | string {
  const file = lockFile(reading);
  const onDisk = diskFiles.kind(file) === 'file' ? openLock(diskFiles.read(file), key) : null;
  const note = acceptanceNoteOf(reading, options);
  const { lock, findings } = acceptedLock(reading.config.state.path, note, diskFiles);
  return findings[0] ? formatFinding(findings[0]) : Math.max(onDisk?.number ?? 0, lock?.number ?? 0);
}
