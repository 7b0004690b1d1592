// The holder of a state directory: the file `owner` names its process. Only the holder writes the ledger and recovers it.
//
// The file is replaced, never changed, so a holder that was wrongly taken for dead finds that its own file no longer has a name.
import { closeSync, fstatSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile, syncDirectory } from '../durable-file.ts';
import { identify, isAlive, isHere, type ProcessIdentity } from '../processes/identity.ts';

/**
 * If waiting for the commit lock took longer than this, some living process had the lock, because the system releases the lock of a dead
 * process at once. That process may be a holder that showed no sign of life, so the holder is watched again.
 */
export const commitLockMsMax = 100;

/** Thrown if another running process holds the state directory. */
export class StoreHeld extends Error {
  readonly code = 'store_held';
  readonly holder: ProcessIdentity;
  constructor(path: string, holder: ProcessIdentity) {
    const where = isHere(holder) ? '' : ' of another container (pid namespace)';
    super(`${path} is in use by process ${holder.pid}${where}: stop it, or give this instance a state.path of its own`);
    this.holder = holder;
  }
}

export type Owner = ProcessIdentity & { readonly epoch: number };

export type Claim = {
  readonly epoch: number;
  isOurs(): boolean;
  /** Throws if another process saw no sign of life from this one for too long, and took the directory over. */
  assertOurs(): void;
  /** Releases the directory, unless another process has taken it over. */
  release(): void;
};

export function ownerPath(directory: string): string {
  return join(directory, 'owner');
}

/** The holder that the directory names, alive or not; null if it names none. */
export function readOwner(directory: string): Owner | null {
  try {
    return JSON.parse(readFileSync(ownerPath(directory), 'utf8'));
  } catch (error) {
    // A file that cannot be parsed was not written by headgate, which replaces files as a whole.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * The holder that may still live, and must be watched for a sign of life; null: the directory may be taken. Throws StoreHeld if the holder is
 * known to live. `silent`: a holder that has shown no sign of life. `isLockFree`: the caller got the commit lock within `commitLockMsMax`.
 */
export function holderToWatch(directory: string, silent: Owner | null, isLockFree: boolean): Owner | null {
  const owner = readOwner(directory);
  if (owner === null) return null;
  if (isHere(owner)) {
    if (isAlive(owner) && !isEarlierSelf(owner)) throw new StoreHeld(directory, owner);
    return null;
  }
  const isSame = silent !== null && JSON.stringify(silent) === JSON.stringify(owner);
  return isSame && isLockFree ? null : owner;
}

/**
 * Whether the owner is an earlier process that had the pid of this one. False if the start ticks of the owner are known, because `isAlive`
 * has already compared them.
 */
function isEarlierSelf({ pid, startTicks }: ProcessIdentity): boolean {
  return pid === process.pid && startTicks === null;
}

/** Makes this process the holder. The caller holds the commit lock, and has called `holderToWatch`. */
export function takeClaim(directory: string, epoch: number): Claim {
  const path = ownerPath(directory);
  replaceFile(path, Buffer.from(`${JSON.stringify({ ...identify(process.pid), epoch } satisfies Owner)}\n`), 0o600);
  const descriptor = openSync(path, 'r');
  const isOurs = (): boolean => fstatSync(descriptor).nlink > 0;
  return {
    epoch,
    isOurs,
    assertOurs() {
      if (!isOurs()) throw new Error(`${directory} was taken over by another process`);
    },
    release() {
      if (isOurs()) {
        rmSync(path, { force: true });
        syncDirectory(directory);
      }
      closeSync(descriptor);
    },
  };
}
