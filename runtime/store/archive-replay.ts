// Brings a copy of the ledger forward with the archived segments of its commit log.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type LoggedTurn, readArchive } from '../commit-log/log-reader.ts';
import type { Lsn } from '../commit-log/part.ts';
import { listSegments } from '../commit-log/segments.ts';
import { appliedIn } from './applied.ts';
import { copyName, syncFile } from './copies.ts';
import { applyTurns } from './ledger-recovery.ts';
import { openLmdb, readerOf } from './lmdb.ts';
import { StoreFault, tables } from './store.ts';

export type Replayed = {
  /** The newest turn that the copy has. */
  readonly last: { readonly lsn: Lsn; readonly atUs: number };
  /**
   * Whether the archive continues, without a missing turn, to a turn after the requested time. If so, the copy is exactly as of the
   * requested time.
   */
  readonly goesOn: boolean;
};

/**
 * Applies the archived turns that follow the last turn of the copy and were appended at `untilMs` or earlier. Nothing else may have the
 * copy open. Throws StoreFault, for example if the copy does not say when its last turn was committed.
 */
export async function replayArchive(copy: string, archive: string, untilMs: number): Promise<Replayed> {
  const lmdb = openLmdb(copy, tables, 'synced');
  try {
    const { lsn = 0, atUs = null } = appliedIn(readerOf(lmdb)) ?? {};
    if (atUs === null) throw new StoreFault(`${copy} does not say when its last turn was committed`);
    let last = { lsn, atUs };
    let goesOn = false;
    function* wanted(): Generator<LoggedTurn, void, void> {
      for (const turn of readArchive(existsSync(archive) ? listSegments(archive) : [], lsn)) {
        goesOn = Math.floor(turn.atUs / 1000) > untilMs;
        if (goesOn) return;
        last = { lsn: turn.lsn, atUs: turn.atUs };
        yield turn;
      }
    }
    applyTurns(lmdb, wanted());
    return { last, goesOn };
  } finally {
    await lmdb.env.close();
    syncFile(join(copy, copyName));
  }
}
