// A vault whose trail has records of other times, and the turns of its actor, after any of which the process may end.
import { randomBytes } from 'node:crypto';
import { startVaultActor } from '../../../actors/vault/actor.ts';
import type { VaultReply } from '../../../actors/vault/protocol.ts';
import { readUnlock } from '../../../actors/vault/unlock-key.ts';
import { heldVault, type VaultLocation, withHeldStore, withStore } from '../../../cli/vault/offline.ts';
import { startLoop } from '../../../runtime/loop.ts';

/** Writes `count` deliveries to the trail, with the time `at` in µs. */
export function note(place: VaultLocation, count: number, at: number): void {
  withStore(place, store => {
    const vault = heldVault(store, place.keys);
    const batch = store.batch();
    const about = { actor: 'dispatcher', op: 'deliver', principal: 'p', secret: null } as const;
    for (let i = 0; i < count; i++) vault.audit(batch, { ...about, at, outcome: 'ok', code: null });
    vault.close(batch);
    store.commit(batch);
  });
}

export type Pruned = {
  readonly reply: VaultReply | null;
  /** What was said of the trail, and of its export. */
  readonly problems: readonly string[];
  readonly turns: number;
};

type PruneRequest = {
  readonly nowUs: number;
  readonly directory?: string | null;
  /** The number of turns after which the process ends. */
  readonly turnsMax?: number;
} & ({ readonly retainUs: number } | { readonly beforeUs: number; readonly through?: number });

/** Prunes by retention or by a call of the admin. */
export function prune(place: VaultLocation, wanted: PruneRequest): Promise<Pruned> {
  const { nowUs, directory = null, turnsMax = Number.POSITIVE_INFINITY } = wanted;
  return withHeldStore(place, async store => {
    const problems: string[] = [];
    let reply: VaultReply | null = null;
    let isScheduled = false;
    let wake = (): void => {};
    const loop = startLoop({
      store,
      clock: { nowUs: () => nowUs },
      schedule: () => {
        isScheduled = true;
      },
      send: () => {},
      reply: (_, value) => {
        reply = value as VaultReply;
      },
      onFailure: error => {
        throw error;
      },
    });
    const actor = startVaultActor({
      reader: store,
      readUnlock: () => readUnlock(place.keys),
      random: randomBytes,
      tell(event) {
        loop.deliver('vault', event);
        wake();
      },
      exportDirectory: () => directory,
      onOpened: () => {},
      onBrokenTrail: problem => void problems.push(problem),
      onExportFailed: problem => void problems.push(problem),
    });
    loop.setHandler({ receive: (_, message, turn) => actor.receive(message, turn), end: turn => actor.close(turn) });
    if ('retainUs' in wanted) loop.deliver('vault', { kind: 'prune_audit', beforeUs: wanted.retainUs });
    else {
      const { beforeUs, through } = wanted;
      const request = { op: 'audit.prune', beforeUs, ...(through !== undefined && { through }) };
      const presented = actor.state.adminDigest;
      loop.deliver('vault', { kind: 'call', replyTo: { ask: 1 }, presented, request });
    }
    let turns = 0;
    while (turns < turnsMax) {
      if (isScheduled) {
        isScheduled = false;
        loop.turn();
        turns++;
      } else if (reply !== null || directory === null) break;
      else
        await new Promise<void>(resolve => {
          wake = resolve;
        });
    }
    // Waits for the export that is being written, so that it does not continue after this call.
    if (!isScheduled && reply === null && directory !== null)
      await new Promise<void>(resolve => {
        wake = resolve;
      });
    return { reply, problems, turns };
  });
}
