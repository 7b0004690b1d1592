// Compares the configuration on disk with its lock (docs/contract.md#seal): the bytes that were parsed are compared, and no file is read twice.
import { dirname, join } from 'node:path';
import type { ConfigReading } from '../reading.ts';
import { diskReason, type Files } from '../source/files.ts';
import type { Environment } from '../source/interpolation.ts';
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
  /** Nothing but what is locked may be started: findings are errors. */
  readonly strict: boolean;
  /** False: never locked, and nothing wants it to be; nothing was looked at. */
  readonly isSealed: boolean;
  /** The lock in force: its code is right, and it is not older than one that was in force before. */
  readonly lock: LockAcceptance | null;
  /** What is not as locked, and what is unsafe: a line each. */
  readonly findings: readonly string[];
  /** What is only worth a warning. */
  readonly cautions: readonly string[];
  /** Why the lock in force is noted with the state alone; null: it is noted beside the seal key as well, or there is none. */
  readonly gap: string | null;
};

export type Sealing = { readonly seal: Seal; readonly survey: FileSurvey | null };

export type SealOptions = {
  readonly env: Environment;
  readonly cwd: string;
  readonly disk: Files;
  /** With which state the newest accepted lock is noted; `state.path` as it was read, when it is left out. */
  readonly statePath?: string | undefined;
};

export const unsealed: Seal = {
  strict: false,
  isSealed: false,
  lock: null,
  memory: null,
  findings: [],
  cautions: [],
  gap: null,
};

const remedy = 'restore what was locked, or lock again with "headgate config lock"';

export function checkSeal(reading: ConfigReading, options: SealOptions): Sealing {
  const { config } = reading;
  const { env, disk } = options;
  const memory = acceptanceNoteOf(reading, options);
  const accepted = acceptedLock(options.statePath ?? config.state.path, memory, disk);
  const onDisk = readLock(reading, options);
  const isWanted = config.service.strictMode || isStrictEnvironment(env);
  if (!isWanted && !onDisk.isThere && accepted.lock === null) return { seal: { ...unsealed, memory }, survey: null };

  const { lock } = onDisk;
  const isOlder = lock !== null && lock.number < (accepted.lock?.number ?? 0);
  // The lock in force decides; where it is not there, or cannot be told from a forged one, so does the one before it.
  const isLockStrict = lock !== null && !isOlder ? lock.strict : onDisk.isStrict || (accepted.lock?.strict ?? false);
  const found = survey(reading, lockFile(reading), disk);
  const findings = [...accepted.findings, ...onDisk.findings, ...found.findings];
  if (isOlder) {
    const message = `is lock ${lock.number}, and lock ${accepted.lock!.number} has been in force here since; ${remedy}`;
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
      memory,
      gap: accepted.gap,
    },
    survey: found,
  };
}

/** Beside the main file. */
export function lockFile({ config }: ConfigReading): string {
  return join(dirname(config.mainFile), lockName);
}

/** `file:1:1: seal: what is wrong`, as every problem of a configuration. */
export function formatFinding({ path, message }: LockFinding): string {
  return `${path}:1:1: seal: ${message}`.replaceAll(/[\r\n]+/g, ' ');
}

/** One line for all of them: where the group is a person's own, it is the usual state of every file. */
export function groupWritableWarnings(paths: readonly string[]): string[] {
  const [first] = paths;
  if (first === undefined) return [];
  const which = paths.length === 1 ? '' : `and ${paths.length - 1} more of what is sealed `;
  return [formatFinding({ path: first, message: `${which}can be written by a group; chmod g-w would be safer` })];
}

/** Null: nothing says where the seal key is to be. */
export function acceptanceNoteOf(
  reading: ConfigReading,
  { env, cwd, disk }: Omit<SealOptions, 'statePath'>,
): AcceptanceNote | null {
  const keyFile = keyFileOf(env, cwd);
  return keyFile === null ? null : { keyFile, directory: resolved(dirname(reading.config.mainFile), disk) };
}

type KnownLock = {
  readonly lock: LockAcceptance | null;
  readonly findings: readonly LockFinding[];
  readonly gap: string | null;
};

/** The higher number and the stricter word of both notes: whoever names another state has written the note in it. */
function acceptedLock(statePath: string, memory: AcceptanceNote | null, disk: Files): KnownLock {
  const findings: LockFinding[] = [];
  const read = (path: string, reading: () => LockAcceptance | null): LockAcceptance | null => {
    try {
      return reading();
    } catch (error) {
      findings.push({ path, message: (error as Error).message });
      // What it said is lost: the worst is taken for true.
      return { number: 0, strict: true };
    }
  };
  const ofState = read(acceptanceFile(statePath), () => readAcceptance(statePath, disk));
  const file = memory && acceptanceNoteFile(memory);
  const beside = memory && read(file!, () => readAcceptanceNote(memory, disk));
  const isGap = ofState !== null && ofState.number > (beside?.number ?? -1);
  const gap = isGap ? (file === null ? 'HOME is not set' : `${file} does not have it`) : null;
  return { lock: stricter(ofState, beside), findings, gap };
}

function stricter(a: LockAcceptance | null, b: LockAcceptance | null): LockAcceptance | null {
  if (a === null || b === null) return a ?? b;
  return { number: Math.max(a.number, b.number), strict: a.strict || b.strict };
}

/** `lock`: null where there is none that opens. `isStrict`: whether it says so, opened or not. */
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
    if (lock === null) return closed(`is not what was locked with this key: its code is wrong; ${remedy}`);
    const isHere = lock.directory === disk.realpath(dirname(file));
    if (!isHere)
      return closed(`was made for ${lock.directory} and counts nowhere else; lock anew with "headgate config lock"`);
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
    findings.push({ path: join(base, path), message: `is in lock ${number} and is missing; ${remedy}` });
  return findings;
}
