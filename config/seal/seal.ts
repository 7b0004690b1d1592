// Compares the configuration on disk with its lock (docs/contract.md#seal). For a file that was parsed, the parsed bytes are
// compared, and the file is not read again.
import { dirname, join } from 'node:path';
import type { ConfigReading, ReadOptions } from '../reading.ts';
import { diskReason, type Files } from '../source/files.ts';
import {
  type AcceptanceNote,
  type AcceptedLock,
  acceptanceFile,
  acceptanceNoteFile,
  type LockAcceptance,
  readAcceptance,
  readAcceptanceNote,
} from './acceptance.ts';
import { isStrictEnvironment, keyFileOf, readSealKey, resolved } from './key.ts';
import { claimsStrict, type Lock, lockName, openLock } from './lock.ts';
import { type FileSurvey, type LockFinding, survey } from './survey.ts';

export type Seal = AcceptedLock & {
  /** Whether only a configuration that matches its lock may run. If so, findings are errors. */
  readonly strict: boolean;
  /** Whether the seal was checked. False if there is no lock file, no note of an accepted lock, and no strict mode. */
  readonly isSealed: boolean;
  /** The lock on disk if it is valid for this key and directory, and no newer lock was accepted before. Otherwise null. */
  readonly lock: LockAcceptance | null;
  /** One line for each difference from the lock, each unsafe path, each unusable note, and a lock that is missing, unusable or too old. */
  readonly findings: readonly string[];
  /** Lines that are warnings even in strict mode. */
  readonly cautions: readonly string[];
  /**
   * Why the note beside the seal key lacks the accepted lock that is noted in the state directory. Null: there is no
   * such gap.
   */
  readonly gap: string | null;
};

/** The result of `checkSeal`. `survey`: the sealed files on disk; null if the seal was not checked. */
export type Sealing = { readonly seal: Seal; readonly survey: FileSurvey | null };

export type SealOptions = Required<Pick<ReadOptions, 'env' | 'cwd' | 'disk'>> & {
  /** The directory in which the accepted lock is noted. A running service passes its own. Default: `state.path` of the configuration. */
  readonly statePath?: string | undefined;
};

export const unsealed: Seal = {
  strict: false,
  isSealed: false,
  lock: null,
  note: null,
  findings: [],
  cautions: [],
  gap: null,
};

const remedy = 'restore it, or lock the configuration again with "headgate config lock"';

export function checkSeal(reading: ConfigReading, options: SealOptions): Sealing {
  const { config } = reading;
  const { env, disk } = options;
  const note = acceptanceNoteOf(reading, options);
  const accepted = acceptedLock(options.statePath ?? config.state.path, note, disk);
  const onDisk = readLock(reading, options);
  const isWanted = config.service.strictMode || isStrictEnvironment(env);
  if (!isWanted && !onDisk.isThere && accepted.lock === null) return { seal: { ...unsealed, note }, survey: null };

  const { lock } = onDisk;
  const isOlder = lock !== null && lock.number < (accepted.lock?.number ?? 0);
  // If there is a valid lock that is not older than the accepted one, its own mode counts. Otherwise strict mode
  // applies if the lock file claims to be strict, or if the accepted lock was strict.
  const isLockStrict = lock !== null && !isOlder ? lock.strict : onDisk.isStrict || (accepted.lock?.strict ?? false);
  const found = survey(reading, lockFile(reading), disk);
  const findings = [...accepted.findings, ...onDisk.findings, ...found.findings];
  if (isOlder) {
    const message = `is lock ${lock.number}, which is older than the accepted lock ${accepted.lock!.number}; ${remedy}`;
    findings.push({ path: lockFile(reading), message });
  }
  if (lock !== null) findings.push(...compare(lock, found, reading));
  return {
    seal: {
      strict: isWanted || isLockStrict,
      isSealed: true,
      lock: lock === null || isOlder ? null : { number: lock.number, strict: lock.strict },
      findings: findings.map(formatFinding),
      cautions: groupWritableWarnings(found.groupWritable),
      note,
      gap: accepted.gap,
    },
    survey: found,
  };
}

export function lockFile({ config }: ConfigReading): string {
  return join(dirname(config.mainFile), lockName);
}

/** Formats a finding as `file:1:1: seal: what is wrong`, like the lines of other problems. */
export function formatFinding({ path, message }: LockFinding): string {
  return `${path}:1:1: seal: ${message}`.replaceAll(/[\r\n]+/g, ' ');
}

/**
 * Warns about all paths in one line, because there can be many. Where each user has a private group, every file is
 * usually group-writable.
 */
export function groupWritableWarnings(paths: readonly string[]): string[] {
  const [first] = paths;
  if (first === undefined) return [];
  const which = paths.length === 1 ? '' : `and ${paths.length - 1} more sealed paths `;
  return [formatFinding({ path: first, message: `${which}can be written by a group; chmod g-w is safer` })];
}

/** The location of the note beside the seal key; null if the path of the seal key is unknown. */
export function acceptanceNoteOf(reading: ConfigReading, { env, cwd, disk }: SealOptions): AcceptanceNote | null {
  const keyFile = keyFileOf(env, cwd);
  return keyFile === null ? null : { keyFile, directory: resolved(dirname(reading.config.mainFile), disk) };
}

type KnownLock = Pick<Seal, 'lock' | 'gap'> & { readonly findings: readonly LockFinding[] };

/**
 * The lock that was accepted last, with the higher number and the stricter mode of the two notes. Both notes are read,
 * because a changed configuration can name a state directory with another note.
 */
export function acceptedLock(statePath: string, note: AcceptanceNote | null, disk: Files): KnownLock {
  const findings: LockFinding[] = [];
  const read = (path: string, reading: () => LockAcceptance | null): LockAcceptance | null => {
    try {
      return reading();
    } catch (error) {
      findings.push({ path, message: (error as Error).message });
      // An unreadable note counts as strict.
      return { number: 0, strict: true };
    }
  };
  const ofState = read(acceptanceFile(statePath), () => readAcceptance(statePath, disk));
  const file = note && acceptanceNoteFile(note);
  const beside = note && read(file!, () => readAcceptanceNote(note, disk));
  const isGap = ofState !== null && ofState.number > (beside?.number ?? -1);
  const gap = isGap ? (file === null ? 'HOME is not set' : `${file} lacks it`) : null;
  return { lock: stricter(ofState, beside), findings, gap };
}

function stricter(a: LockAcceptance | null, b: LockAcceptance | null): LockAcceptance | null {
  if (a === null || b === null) return a ?? b;
  return { number: Math.max(a.number, b.number), strict: a.strict || b.strict };
}

/**
 * The lock file as it is on disk. `lock` is null if the file is missing or not valid for this directory and key. `isStrict`:
 * whether the file claims to be strict, even if it is not valid.
 */
type OnDisk = {
  readonly isThere: boolean;
  readonly lock: Lock | null;
  readonly isStrict: boolean;
  readonly findings: readonly LockFinding[];
};

function readLock(reading: ConfigReading, { env, cwd, disk }: SealOptions): OnDisk {
  const file = lockFile(reading);
  if (disk.kind(file) === 'missing') {
    const message = 'is missing; create it with "headgate config lock"';
    return { isThere: false, lock: null, isStrict: false, findings: [{ path: file, message }] };
  }
  let isStrict = false;
  const closed = (message: string, path = file): OnDisk => {
    return { isThere: true, lock: null, isStrict, findings: [{ path, message }] };
  };
  try {
    const bytes = disk.read(file);
    isStrict = claimsStrict(bytes);
    const key = readSealKey(reading.config, env, cwd, disk);
    if (!key.ok) return closed(key.message, key.file ?? file);
    const lock = openLock(bytes, key.key);
    if (lock === null) return closed(`was changed, or locked with another key: its code is wrong; ${remedy}`);
    const isHere = lock.directory === disk.realpath(dirname(file));
    if (!isHere)
      return closed(`was made for ${lock.directory} and is valid only there; lock again with "headgate config lock"`);
    return { isThere: true, lock, isStrict, findings: [] };
  } catch (error) {
    return closed(`cannot be read (${diskReason(error)}); ${remedy}`);
  }
}

function compare({ number, files }: Lock, found: FileSurvey, { config }: ConfigReading): LockFinding[] {
  const base = dirname(config.mainFile);
  const locked = new Map(files.map(file => [file.path, file]));
  const findings: LockFinding[] = [];
  for (const { path, size, sha256 } of found.files) {
    const before = locked.get(path);
    locked.delete(path);
    if (before === undefined) findings.push({ path: join(base, path), message: `is not in lock ${number}; ${remedy}` });
    else if (before.sha256 !== sha256 || before.size !== size)
      findings.push({ path: join(base, path), message: `has changed since lock ${number}; ${remedy}` });
  }
  for (const path of locked.keys())
    findings.push({ path: join(base, path), message: `is missing, but is in lock ${number}; ${remedy}` });
  return findings;
}
