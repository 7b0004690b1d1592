// Reads a state for people and programs, also while a service is running on it.
import { statSync } from 'node:fs';
import { readCounts } from '../../actors/job/records/counts.ts';
import { type Unsettled, unsettledIn } from '../../actors/job/views/unsettled.ts';
import { formatIn, formatsRead, formatVersion, wrongFormat } from '../../runtime/store/format.ts';
import { hasLedger, ledgerFile, openReaderBeside } from '../../runtime/store/ledger-store.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { storeIdIn } from '../../runtime/store/store-id.ts';
import { BackupRefused } from './manifest.ts';

export type StateInfo = {
  readonly path: string;
  /** The format of the state; null: the state was never opened for writing. */
  readonly format: number | null;
  /** The formats that this version reads. */
  readonly reads: readonly number[];
  /** The format that this version writes. */
  readonly writes: number;
  readonly store_id: string | null;
  readonly bytes: number;
  readonly jobs: number;
  readonly unsettled: Unsettled;
};

/** Opens a state for reading. Throws BackupRefused if the directory has no state, or if this version does not read the format of the state. */
export function openState(path: string): Reader {
  if (!hasLedger(path)) throw new BackupRefused(`there is no state in ${path}`);
  const reader = openReaderBeside(path);
  const format = formatIn(reader);
  if (format === null || formatsRead.includes(format)) return reader;
  reader.close();
  throw new BackupRefused(wrongFormat(path, format));
}

export function readState(path: string): StateInfo {
  const reader = openState(path);
  try {
    return {
      path,
      format: formatIn(reader),
      reads: formatsRead,
      writes: formatVersion,
      store_id: storeIdIn(reader),
      bytes: statSync(ledgerFile(path)).size,
      jobs: readCounts(reader).reduce((sum, { counts }) => sum + counts.accepted, 0),
      unsettled: unsettledIn(reader),
    };
  } finally {
    reader.close();
  }
}
