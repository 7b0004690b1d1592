// The main thread's side of the vault: it knows the digest of the admin token, and sends calls to the ledger thread.
import type { VaultReply, VaultRequest, VaultStatus } from '../actors/vault/protocol.ts';
import type { Link, PendingAsk } from '../runtime/link.ts';

/** The minimum interval between two reports of unauthenticated calls, except at a stop. */
const reportEveryMs = 1_000;

const unavailable: VaultReply = { kind: 'refused', refusal: 'unavailable' };

/** The part of the client that routes and admission use. */
export type VaultCalls = Pick<VaultClient, 'adminDigest' | 'isSealed' | 'call' | 'refused' | 'unauthenticated'>;

export class VaultClient {
  /** The SHA-256 of the admin token, with one character for each byte; null if no vault is open. */
  adminDigest: string | null = null;
  /** The vault does not open: until it does, no job is dispatched. */
  isSealed = false;
  readonly #link: () => Link;
  readonly #unauthenticated = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  /** The prunings of the audit trail that are not answered yet: each function answers one. */
  readonly #prunings = new Set<(reply: VaultReply) => void>();

  constructor(link: () => Link) {
    this.#link = link;
  }

  update({ adminDigest, isSealed }: VaultStatus): void {
    this.adminDigest = adminDigest;
    this.isSealed = isSealed;
  }

  /**
   * Sends a call to the vault. `presented`: the digest of the caller's token. The vault checks the digest again when it handles
   * the call.
   */
  call(presented: string, request: VaultRequest, asker: PendingAsk): Promise<VaultReply> {
    const reply = this.#link().ask('vault', { kind: 'call', presented, request }, { asker, answer: unavailable });
    if (request.op !== 'audit.prune') return reply;
    return new Promise((resolve, reject) => {
      this.#prunings.add(resolve);
      reply.then(resolve, reject).finally(() => this.#prunings.delete(resolve));
    });
  }

  /**
   * Called when the actors of the ledger have restarted: refuses the prunings that are not answered yet. A pruning takes several turns, and
   * the new actors do not know who waits for it.
   */
  actorsRestarted(): void {
    for (const answer of this.#prunings) answer(unavailable);
  }

  /** Records in the audit trail that a call with the admin token was refused. Resolves when this record is on disk. */
  refused(op: string, code: string): Promise<unknown> {
    return this.#link().ask('vault', { kind: 'refused_call', op, code });
  }

  /**
   * Records a call without the admin token. The first call is reported at once; the calls of the next second are reported
   * together.
   */
  unauthenticated(op: string): void {
    this.#unauthenticated.set(op, (this.#unauthenticated.get(op) ?? 0) + 1);
    if (this.#timer === null) this.flush();
  }

  /** Reports the collected calls without the admin token. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#unauthenticated.size === 0) return;
    this.#link().tell('vault', { kind: 'unauthenticated_calls', counts: [...this.#unauthenticated] });
    this.#unauthenticated.clear();
    this.#timer = setTimeout(() => this.flush(), reportEveryMs).unref();
  }
}
