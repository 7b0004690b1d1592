// Pausing and resuming, for the HTTP servers. The ledger writes the pauses; their list is read from the store.
import type { PauseReply, PauseRequest } from '../actors/job/holds/pause-protocol.ts';
import type { RefusedWork } from '../actors/job/protocol.ts';
import type { Pause, PauseTarget } from '../actors/job/records/pause.ts';
import { listPauses } from '../actors/job/views/pauses.ts';
import { type Unsettled, unsettledIn } from '../actors/job/views/unsettled.ts';
import type { Link } from '../runtime/link.ts';
import type { Reader } from '../runtime/store/store.ts';

export type PauseCalls = {
  /** Begins a pause. Resolves when it is on disk, or refused. */
  pause(pause: PauseRequest): Promise<PauseReply | RefusedWork>;
  /** Ends a pause. Resolves when its end is on disk, or refused. */
  resume(target: PauseTarget, by: string): Promise<PauseReply | RefusedWork>;
  list(): readonly Pause[];
  /** The unsettled jobs and runs, which a restored state continues once it is resumed. */
  unsettled(): Unsettled;
};

export function openPauses(link: Link, reader: Reader): PauseCalls {
  return {
    pause: pause => link.ask('job', { kind: 'pause', pause }),
    resume: (target, by) => link.ask('job', { kind: 'resume', target, by }),
    list() {
      reader.refresh();
      return listPauses(reader);
    },
    unsettled: () => unsettledIn(reader),
  };
}
