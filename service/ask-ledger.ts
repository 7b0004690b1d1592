// Questions to the job actor on the ledger thread.
import type { HeldReply, IdleReply, SetAsideReply, WaitsReply } from '../actors/job/protocol.ts';
import type { QueueReply } from '../actors/job/reports/queue-protocol.ts';
import type { Link } from '../runtime/link.ts';

type Replies = {
  readonly ask_idle: IdleReply;
  readonly ask_queue: QueueReply;
  readonly ask_waits: WaitsReply;
  readonly ask_held: HeldReply;
  readonly ask_set_aside: SetAsideReply;
};

/** Asks the ledger. Null: the ledger thread has ended, or refuses messages at the moment. */
export async function askLedger<Kind extends keyof Replies>(
  link: Link,
  question: { readonly kind: Kind; readonly [field: string]: unknown },
): Promise<Replies[Kind] | null> {
  try {
    const reply = await link.ask<Replies[Kind] | { readonly kind: 'refused' }>('job', question);
    return reply.kind === 'refused' ? null : reply;
  } catch {
    return null;
  }
}
