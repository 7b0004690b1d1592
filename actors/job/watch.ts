// Gathers what a turn has to tell the hub: one group for jobs of one plugin and command that the same thing happened to.

import { copyBytes } from '../../runtime/bytes.ts';
import { jobIdBytes } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { Observations, ObservationType, Observed } from '../hub/protocol.ts';

type Gathering = {
  type: ObservationType;
  plugin: string;
  command: string;
  ids: Uint8Array[];
  errors: (string | null)[] | null;
};

export class Watch {
  #groups: Observations[] = [];
  #last: Gathering | null = null;

  /** One job; side by side with alike ones it costs no group of its own. */
  job(type: ObservationType, plugin: string, command: string, id: Uint8Array, error?: string | null): void {
    const last = this.#last;
    if (last && last.type === type && last.plugin === plugin && last.command === command) {
      last.ids.push(id);
      if (last.errors) last.errors.push(error ?? null);
      return;
    }
    this.#seal(0);
    this.#last = { type, plugin, command, ids: [id], errors: error === undefined ? null : [error] };
  }

  /** Jobs whose ids already lie side by side. */
  jobs(type: ObservationType, atUs: number, plugin: string, command: string, ids: Uint8Array): void {
    this.#seal(atUs);
    this.#groups.push({ kind: 'jobs', type, atUs, plugin, command, ids });
  }

  plain(
    type: ObservationType,
    atUs: number,
    fields: { readonly [name: string]: string | number | boolean | null },
  ): void {
    this.#seal(atUs);
    this.#groups.push({ kind: 'plain', type, atUs, fields });
  }

  /** Sends what gathered. */
  tell(turn: Turn): void {
    this.#seal(turn.nowUs);
    if (this.#groups.length === 0) return;
    const groups = this.#groups.map(group => (group.atUs === 0 ? { ...group, atUs: turn.nowUs } : group));
    this.#groups = [];
    turn.tell('hub', { kind: 'observed', groups } satisfies Observed);
  }

  #seal(atUs: number): void {
    const last = this.#last;
    if (!last) return;
    this.#last = null;
    const ids = Buffer.allocUnsafe(last.ids.length * jobIdBytes);
    for (let i = 0; i < last.ids.length; i++) copyBytes(ids, i * jobIdBytes, last.ids[i]!);
    const { type, plugin, command } = last;
    this.#groups.push({ kind: 'jobs', type, atUs, plugin, command, ids, ...(last.errors && { errors: last.errors }) });
  }
}
