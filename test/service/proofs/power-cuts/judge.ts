// A process that opens images of a disk after a power cut, and reports what is wrong. If damaged pages crash it, that is a finding, too.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findJob } from '../../../../actors/job/views/jobs.ts';
import { selfcheck } from '../../../../actors/job/views/selfcheck.ts';
import { heldVault, withStore } from '../../../../cli/vault/offline.ts';
import { parseId } from '../../../../runtime/ids.ts';
import type { Sliced } from '../../../../runtime/slices.ts';
import { openIndexStore } from '../../../../runtime/store/index-store.ts';
import { openStore } from '../../../../runtime/store/ledger-store.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { inSlices } from '../../../support/slices.ts';

export type Image = {
  readonly state: string;
  readonly accepted: readonly string[];
  readonly ended: readonly (readonly [id: string, status: string])[];
  /** Whether the command that creates the vault had ended before the cut. */
  readonly hasVault: boolean;
};

async function judge({ state, accepted, ended, hasVault }: Image): Promise<string[]> {
  if (!existsSync(join(state, 'data.mdb'))) return hasVault ? [`nothing is left of ${state}`] : [];
  if (hasVault) openVault(state);
  const store = openStore(state);
  try {
    return [...missing(store, accepted), ...changed(store, ended), ...(await broken(store)), ...indexFaults(state)];
  } finally {
    store.close();
  }
}

/** Opens the vault with the key beside the ledger; throws if it does not open. */
function openVault(statePath: string): void {
  const place = { statePath, keys: { file: join(statePath, 'vault.key'), variable: undefined } };
  withStore(place, store => heldVault(store, place.keys));
}

function missing(store: Store, accepted: readonly string[]): string[] {
  return accepted.filter(id => !findJob(store, parseId(id)!)).map(id => `job ${id} was accepted, and is gone`);
}

function changed(store: Store, ended: Image['ended']): string[] {
  return ended.flatMap(([id, status]) => {
    const now = findJob(store, parseId(id)!)?.status;
    return now === status ? [] : [`job ${id} was ${status}, and is ${now}`];
  });
}

async function broken(reader: Store): Promise<string[]> {
  const run = <T>(work: Sliced<T>) => inSlices(work, () => reader.refresh());
  const { failures } = await selfcheck({ reader, askIdle: async () => null, pause: async () => {}, run });
  return failures.map(({ invariant, detail }) => `${invariant}: ${detail}`);
}

function indexFaults(state: string): string[] {
  const faults: string[] = [];
  openIndexStore(state, reason => faults.push(`the index is damaged: ${reason}`)).close();
  return faults;
}

process.on('message', async (image: Image) => {
  const wrong = await judge(image).catch((error: Error) => [`it does not open: ${error.message}`]);
  process.send!(wrong);
});
