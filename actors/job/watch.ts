// Gathers what a turn has to tell the hub: one group for jobs of one plugin and command that the same thing happened to.

import { copyBytes } from '../../runtime/bytes.ts';
import { jobIdBytes } from '../../runtime/ids.ts';
import type { Turn } from '../../runtime/turn.ts';
import { errorCharsMax, type Observations, type ObservationType, type Observed } from '../hub/protocol.ts';

type Gathering = {
  readonly type: ObservationType;
  readonly atUs: number;
  readonly plugin: string;
  readonly command: string;
  readonly ids: Uint8Array[];
  readonly errors: (string | null)[] | null;
};

export class Watch {
  #groups: Observations[] = [];
  #last: Gathering | null = null;

  /** One job; side by side with alike ones it costs no group of its own. */
  job(
    type: ObservationType,
    atUs: number,
    plugin: string,
    command: string,
    id: Uint8Array,
    error?: string | null,
  ): void {
    const told = error ? cut(error) : error;
    const last = this.#last;
    if (last && last.type === type && last.plugin === plugin && last.command === command) {
      last.ids.push(id);
      if (last.errors) last.errors.push(told ?? null);
      return;
    }
    this.#seal();
    this.#last = { type, atUs, plugin, command, ids: [id], errors: told === undefined ? null : [told] };
  }

  /** Jobs whose ids already lie side by side. */
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

  /** Sends what gathered. */
  tell(turn: Turn): void {
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

/** Never between the halves of one character. */
function cut(text: string): string {
  if (text.length <= errorCharsMax) return text;
  const last = text.charCodeAt(errorCharsMax - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? errorCharsMax - 1 : errorCharsMax);
}
