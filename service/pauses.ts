// Pausing and resuming, as the HTTP servers use it: writes are asked of the ledger, the list is read from the store.
import type { PauseReply, RefusedWork } from '../actors/job/protocol.ts';
import type { Pause, PauseTarget } from '../actors/job/records/pause.ts';
import { listPauses } from '../actors/job/views/pauses.ts';
import type { Link } from '../runtime/link.ts';
import type { Reader } from '../runtime/store/store.ts';

export type PauseCalls = {
  /** Resolves when the pause is on disk, or refused. */
  pause(pause: Omit<Pause, 'sinceUs'>): Promise<PauseReply | RefusedWork>;
  /** The same for its end. */
  resume(target: PauseTarget, by: string): Promise<PauseReply | RefusedWork>;
  list(): readonly Pause[];
};

export function openPauses(link: Link, reader: Reader): PauseCalls {
  return {
    pause: pause => link.ask('job', { kind: 'pause', pause }),
    resume: (target, by) => link.ask('job', { kind: 'resume', target, by }),
    list() {
      reader.refresh();
      return listPauses(reader);
    },
  };
}
