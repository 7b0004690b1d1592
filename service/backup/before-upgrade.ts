// Before a state gets a newer format, it is backed up, because an older version cannot open it any more.
import { existsSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { makeDirectory } from '../../runtime/durable-file.ts';
import { readFormat } from '../../runtime/store/copies.ts';
import { formatsRead, formatVersion } from '../../runtime/store/format.ts';
import { ledgerFile } from '../../runtime/store/ledger-store.ts';
import { type Backup, writeBackup } from './write.ts';

/** The format from which a start would upgrade the state to `formatVersion`. Null: it would not. */
export async function formatToUpgrade(statePath: string): Promise<number | null> {
  if (!existsSync(ledgerFile(statePath))) return null;
  const format = await readFormat(statePath);
  return format !== null && format !== formatVersion && formatsRead.includes(format) ? format : null;
}

/** Writes the backup. Null: the state needs no upgrade. Throws if the backup cannot be written. */
export async function backUpBeforeUpgrade(
  { state, backups }: Pick<Config, 'state' | 'backups'>,
  version: string,
): Promise<Backup | null> {
  if ((await formatToUpgrade(state.path)) === null) return null;
  makeDirectory(backups.into, 0o700);
  return writeBackup({ statePath: state.path, to: backups.into, version });
}
