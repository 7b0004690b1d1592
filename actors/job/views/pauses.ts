// Reads the stored pauses, on any thread.
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { decodePause, type Pause } from '../records/pause.ts';

/** The stored pauses, sorted by kind and name. Unusable records are left out. */
export function listPauses(reader: Reader): readonly Pause[] {
  const pauses: Pause[] = [];
  for (const { key, value } of reader.scan('pauses', {})) {
    const pause = readPause(key, value);
    if (pause) pauses.push(pause);
  }
  return pauses;
}

/** The pause that a record describes. Null: the record is unusable. */
export function readPause(key: Uint8Array, value: Uint8Array): Pause | null {
  return readable(() => decodePause(key, value)) ?? null;
}
