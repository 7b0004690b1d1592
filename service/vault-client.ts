// The vault as the main thread has it: what it knows of the vault, and what it asks the ledger thread.
import type { VaultReply, VaultRequest, VaultState } from '../actors/vault/protocol.ts';
import type { Link, PendingAsk } from '../runtime/link.ts';

/** Calls without the admin token are told at most so often, however many there are. */
const strangersMs = 1_000;

/** What routes, and whoever admits callers to them, need of it. */
export type VaultCalls = Pick<VaultClient, 'adminDigest' | 'call' | 'refused' | 'stranger'>;

export class VaultClient {
  /** SHA-256 of the admin token, one character a byte; null: no vault is open. */
  adminDigest: string | null = null;
  readonly #link: () => Link;
  readonly #strangers = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(link: () => Link) {
    this.#link = link;
  }

  changed({ adminDigest }: VaultState): void {
    this.adminDigest = adminDigest;
  }

  /** `presented`: the digest that let the caller in; it must still be that of the admin token when the call is handled. */
  call(presented: string, request: VaultRequest, asker: PendingAsk): Promise<VaultReply> {
    const answer: VaultReply = { kind: 'refused', refusal: 'unavailable' };
    return this.#link().ask('vault', { kind: 'call', presented, request }, { asker, answer });
  }

  /** A call with the admin token is refused before it gets there. Resolves when that is audited. */
  refused(op: string, code: string): Promise<unknown> {
    return this.#link().ask('vault', { kind: 'refused_call', op, code });
  }

  /** A call without the admin token: the first is reported at once, those within the next second together. */
  stranger(op: string): void {
    this.#strangers.set(op, (this.#strangers.get(op) ?? 0) + 1);
    if (this.#timer === null) this.flush();
  }

  /** Tells what has gathered. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#strangers.size === 0) return;
    this.#link().tell('vault', { kind: 'strange_calls', counts: [...this.#strangers] });
    this.#strangers.clear();
    this.#timer = setTimeout(() => this.flush(), strangersMs).unref();
  }
}
