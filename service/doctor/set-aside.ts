// Records that the ledger cannot use, for the doctor.
import type { SetAsideReply } from '../../actors/job/protocol.ts';
import type { Link } from '../../runtime/link.ts';

/** The records that the actors skip; null: the ledger does not respond. */
export async function setAsideNow(link: Link): Promise<SetAsideReply | null> {
  try {
    const asked = { kind: 'ask_set_aside' };
    const reply = await link.ask<SetAsideReply | { readonly kind: 'refused' }>('job', asked);
    return reply.kind === 'set_aside' ? reply : null;
  } catch {
    return null;
  }
}

/** `2 records cannot be used: open 0f3a… (reason), runs 77b0… (reason)`. */
export function setAsideText({ all, listed }: SetAsideReply, listedMax: number): string {
  const named = listed.slice(0, listedMax).map(({ table, key, error }) => `${table} ${key} (${error})`);
  const more = all > named.length ? ` and ${all - named.length} more` : '';
  return `${all} ${all === 1 ? 'record' : 'records'} cannot be used: ${named.join(', ')}${more}`;
}
