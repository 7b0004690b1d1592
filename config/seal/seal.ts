// Compares the configuration on disk with its lock (docs/contract.md#seal): the bytes that were parsed are compared, and no file is read twice.
import { dirname, join } from 'node:path';
import type { Reading } from '../reading.ts';
import { diskReason, type Files } from '../source/files.ts';
import type { Environment } from '../source/interpolation.ts';
import {
  type Acceptance,
  acceptanceFile,
  type InForce,
  type Memory,
  memoryFile,
  readAcceptance,
  readMemory,
} from './acceptance.ts';
import { isStrictEnvironment, keyFileOf, readSealKey, resolved } from './key.ts';
import { claimsStrict, type Lock, lockName, openLock } from './lock.ts';
import { type Finding, type Survey, survey } from './survey.ts';

export type Seal = InForce & {
  /** Nothing but what is locked may be started: findings are errors. */
  readonly strict: boolean;
  /** False: never locked, and nothing wants it to be; nothing was looked at. */
  readonly isSealed: boolean;
  /** The lock in force: its code is right, and it is not older than one that was in force before. */
  readonly lock: Acceptance | null;
  /** What is not as locked, and what is unsafe: a line each. */
  readonly findings: readonly string[];
  /** What is only worth a warning. */
  readonly cautions: readonly string[];
  /** Why the lock in force is noted with the state alone; null: it is noted beside the seal key as well, or there is none. */
  readonly gap: string | null;
};

export type Sealing = { readonly seal: Seal; readonly survey: Survey | null };

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

export function checkSeal(reading: Reading, options: SealOptions): Sealing {
  const { config } = reading;
  const { env, disk } = options;
  const memory = memoryOf(reading, options);
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
      findings: findings.map(tell),
      cautions: tellGroupWritable(found.groupWritable),
      memory,
      gap: accepted.gap,
    },
    survey: found,
  };
}

/** Beside the main file. */
export function lockFile({ config }: Reading): string {
  return join(dirname(config.mainFile), lockName);
}

/** `file:1:1: seal: what is wrong`, as every problem of a configuration. */
export function tell({ path, message }: Finding): string {
  return `${path}:1:1: seal: ${message}`.replaceAll(/[\r\n]+/g, ' ');
}

/** One line for all of them: where the group is a person's own, it is the usual state of every file. */
export function tellGroupWritable(paths: readonly string[]): string[] {
  const [first] = paths;
  if (first === undefined) return [];
  const which = paths.length === 1 ? '' : `and ${paths.length - 1} more of what is sealed `;
  return [tell({ path: first, message: `${which}can be written by a group; chmod g-w would be safer` })];
}

/** Null: nothing says where the seal key is to be. */
export function memoryOf(reading: Reading, { env, cwd, disk }: Omit<SealOptions, 'statePath'>): Memory | null {
  const keyFile = keyFileOf(env, cwd);
  return keyFile === null ? null : { keyFile, directory: resolved(dirname(reading.config.mainFile), disk) };
}

type Accepted = {
  readonly lock: Acceptance | null;
  readonly findings: readonly Finding[];
  readonly gap: string | null;
};

/** The higher number and the stricter word of both notes: whoever names another state has written the note in it. */
function acceptedLock(statePath: string, memory: Memory | null, disk: Files): Accepted {
  const findings: Finding[] = [];
  const read = (path: string, reading: () => Acceptance | null): Acceptance | null => {
    try {
      return reading();
    } catch (error) {
      findings.push({ path, message: (error as Error).message });
      // What it said is lost: the worst is taken for true.
      return { number: 0, strict: true };
    }
  };
  const ofState = read(acceptanceFile(statePath), () => readAcceptance(statePath, disk));
  const file = memory && memoryFile(memory);
  const beside = memory && read(file!, () => readMemory(memory, disk));
  const isGap = ofState !== null && ofState.number > (beside?.number ?? -1);
  const gap = isGap ? (file === null ? 'HOME is not set' : `${file} does not have it`) : null;
  return { lock: stricter(ofState, beside), findings, gap };
}

function stricter(a: Acceptance | null, b: Acceptance | null): Acceptance | null {
  if (a === null || b === null) return a ?? b;
  return { number: Math.max(a.number, b.number), strict: a.strict || b.strict };
}

/** `lock`: null where there is none that opens. `isStrict`: whether it says so, opened or not. */
type OnDisk = {
  readonly isThere: boolean;
  readonly lock: Lock | null;
  readonly isStrict: boolean;
  readonly findings: readonly Finding[];
};

function readLock(reading: Reading, { env, cwd, disk }: SealOptions): OnDisk {
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

function compare({ number, files }: Lock, found: Survey, { config }: Reading): Finding[] {
  const base = dirname(config.mainFile);
  const locked = new Map(files.map(file => [file.path, file]));
  const findings: Finding[] = [];
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
