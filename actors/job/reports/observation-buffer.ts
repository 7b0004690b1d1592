// Collects the observations of a turn for the hub. Consecutive observations of single jobs form a group if they have the same type, plugin
// and command.

import { copyBytes } from '../../../runtime/bytes.ts';
import { jobIdBytes } from '../../../runtime/ids.ts';
import { cutText } from '../../../runtime/text.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { errorCharsMax, type Observations, type ObservationType, type Observed } from '../../hub/protocol.ts';

type OpenGroup = {
  readonly type: ObservationType;
  readonly atUs: number;
  readonly plugin: string;
  readonly command: string;
  readonly ids: Uint8Array[];
  readonly errors: (string | null)[] | null;
};

export class ObservationBuffer {
  #groups: Observations[] = [];
  #last: OpenGroup | null = null;

  /**
   * Adds an observation of one job. If the previous observation was also added by `job`, with the same type, plugin and command, both are
   * in one group; otherwise a new group begins.
   */
  job(
    type: ObservationType,
    atUs: number,
    plugin: string,
    command: string,
    id: Uint8Array,
    error?: string | null,
  ): void {
    const shown = error ? cutText(error, errorCharsMax) : error;
    const last = this.#last;
    if (last && last.type === type && last.plugin === plugin && last.command === command) {
      last.ids.push(id);
      if (last.errors) last.errors.push(shown ?? null);
      return;
    }
    this.#seal();
    this.#last = { type, atUs, plugin, command, ids: [id], errors: shown === undefined ? null : [shown] };
  }

  /** Adds an observation of several jobs. `ids` has 16 bytes per job. */
  jobs(type: ObservationType, atUs: number, plugin: string, command: string, ids: Uint8Array): void {
    this.#seal();
    this.#groups.push({ kind: 'jobs', type, atUs, plugin, command, ids });
  }

  plain(
    type: ObservationType,
    atUs: number,
    fields: { readonly [name: string]: string | number | boolean | null },
  ): void {
    this.#seal();
    this.#groups.push({ kind: 'plain', type, atUs, fields });
  }

  /** Sends the groups to the hub after the commit. */
  flush(turn: Turn): void {
    this.#seal();
    if (this.#groups.length === 0) return;
    const groups = this.#groups;
    this.#groups = [];
    turn.tell('hub', { kind: 'observed', groups } satisfies Observed);
  }

  #seal(): void {
    const last = this.#last;
    if (!last) return;
    this.#last = null;
    const ids = Buffer.allocUnsafe(last.ids.length * jobIdBytes);
    for (let i = 0; i < last.ids.length; i++) copyBytes(ids, i * jobIdBytes, last.ids[i]!);
    const { type, atUs, plugin, command } = last;
    this.#groups.push({ kind: 'jobs', type, atUs, plugin, command, ids, ...(last.errors && { errors: last.errors }) });
  }
}
