// Backs up a state before its upgrade to a newer format, because older versions cannot open the upgraded state.
import type { Config } from '../../config/config.ts';
import { makeDirectory } from '../../runtime/durable-file.ts';
import { readFormat } from '../../runtime/store/copies.ts';
import { formatsRead, formatVersion } from '../../runtime/store/format.ts';
import { assertNotHeld, hasLedger } from '../../runtime/store/ledger-store.ts';
import { type Backup, writeBackup } from './write.ts';

/** The format of the state, if starting the service would upgrade it to `formatVersion`; otherwise null. */
export async function formatToUpgrade(statePath: string): Promise<number | null> {
  if (!hasLedger(statePath)) return null;
  const format = await readFormat(statePath);
  return format !== null && format !== formatVersion && formatsRead.includes(format) ? format : null;
}

/**
 * Backs up a state that needs an upgrade. Null: the state needs no upgrade. Throws if the backup cannot be written. Throws StoreHeld, and writes
 * no backup, if another process holds the state: it could not be upgraded then.
 */
export async function backUpBeforeUpgrade(
  { state, backups }: Pick<Config, 'state' | 'backups'>,
  version: string,
): Promise<Backup | null> {
  if ((await formatToUpgrade(state.path)) === null) return null;
  assertNotHeld(state.path);
  makeDirectory(backups.into, 0o700);
  return writeBackup({ statePath: state.path, to: backups.into, version });
}
