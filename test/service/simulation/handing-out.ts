// What must hold for each frame that is sent to a host, and for all frames that hosts have.
import { decodeHold } from '../../../actors/job/records/hold.ts';
import type { Config, PluginInstance } from '../../../config/config.ts';
import { parseId } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Store } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { CancelModel } from './cancel-model.ts';
import type { Commits } from './commits.ts';
import type { HeldFrame, Hosts } from './hosts.ts';
import type { Poison } from './poison.ts';
import { openIn } from './remembered.ts';
import type { VaultModel } from './vault-model.ts';

type Surroundings = {
  readonly store: Store;
  readonly poison: Poison;
  readonly commits: Commits;
  readonly cancels: CancelModel;
  readonly hosts: Hosts;
  readonly vault: VaultModel;
  /** The configurations that may be in force: a new one takes effect only in a turn of its own. */
  readonly configs: readonly Config[];
};

/** Checks a frame at its host: its jobs must be on disk as sent, and no host may have had these attempts before. */
export function frameHolds(held: HeldFrame, surroundings: Surroundings): void {
  const { store, poison, commits, cancels, hosts, vault, configs } = surroundings;
  const { frame, tasks } = held;
  const { instance, command } = frame;
  cancels.frameHolds(held);
  const hasCommand = (each?: PluginInstance) => each?.manifest.commands.some(({ name }) => name === command);
  const plugin = configs.map(({ plugins }) => plugins[instance]).find(hasCommand);
  holds(plugin !== undefined, () => `a frame of ${instance}/${command} leaves, which is not configured`);
  vault.delivered(instance, frame.secrets);
  for (const { id, attempt, call } of tasks) {
    const job = commits.find(id);
    const name = `attempt ${attempt} of ${id} (${instance})`;
    holds(job !== undefined, () => `${name} is handed out, and the job is not on disk`);
    holds(commits.isOut(parseId(id)!), () => `${name} is handed out, and the disk does not say so`);
    const last = job!.attempts.at(-1);
    // If the record of a first attempt is unusable, this attempt counts as ended, although it has no log.
    const isLost = last === undefined && attempt === 2 && poison.roots.has(commits.rootOf(parseId(id)!));
    holds(
      last?.final !== true && (isLost || (last?.number ?? 0) === attempt - 1),
      () => `${name} is handed out after attempt ${last?.number}`,
    );
    const isSame = JSON.stringify(job!.payload) === JSON.stringify(call.payload) && job!.group.stepId === call.stepId;
    holds(isSame, () => `${name} is handed out with another payload than was accepted`);
    holds(job!.plugin !== 'careful' || !hosts.begun.has(id), () => `${name} has begun before, and must not run twice`);
    holds(
      !hosts.held.some(held => held.tasks.some((task, k) => task.id === id && !held.over.has(k))),
      () => `${name} is handed out while a host holds the job`,
    );
  }
  const beside = hosts.held.filter(held => held.frame.instance === instance);
  const underWay = beside.reduce((sum, held) => sum + underWayIn(held), 0) + (isTogether(frame) ? tasks.length : 1);
  holds(
    underWay <= (plugin!.parallelism ?? Number.POSITIVE_INFINITY),
    () => `${instance} has ${underWay} jobs under way`,
  );
  if (isTogether(frame)) {
    const { runner, concurrency } = frame;
    const same = beside.filter(held => held.frame.command === command && held.frame.runner === runner);
    const inRunner = same.reduce((sum, held) => sum + underWayIn(held), tasks.length);
    holds(inRunner <= concurrency!, () => `runner ${runner} of ${instance} has ${inRunner} jobs under way`);
  }
  const stored = store.get('states', Buffer.from(instance)) ?? Buffer.of(0x80);
  holds(
    Buffer.compare(stored, frame.state) === 0,
    () => `a frame of ${instance} leaves with another state than is on disk`,
  );
}

function isTogether({ runner = -1 }: HeldFrame['frame']): boolean {
  return runner >= 0;
}

/** How many tasks of the frame are under way: in a runner, all that have not ended; otherwise one. */
function underWayIn({ frame, tasks, over }: HeldFrame): number {
  return isTogether(frame) ? tasks.length - over.size : 1;
}

/** Hosts must hold exactly the jobs that are running by the records on disk. Called when no turn is due. */
export function hostsHold({ store, commits, cancels, hosts }: Surroundings): void {
  cancels.nothingWaits();
  holdsHaveJobs(store);
  const held = new Set(
    hosts.held.flatMap(({ tasks, over }) => tasks.filter((_, k) => !over.has(k)).map(({ id }) => id)),
  );
  for (const id of commits.out()) {
    holds(held.delete(id), () => `the job ${id} is running, but no host has it`);
  }
  holds(held.size === 0, () => `hosts hold ${[...held].join(', ')}, which the disk does not say`);
}

/** A stored hold must concern an open job. */
function holdsHaveJobs(store: Store): void {
  for (const hold of store.scan('holds', {})) {
    const { plugin, command } = decodeHold(hold.key, hold.value)!;
    const isHeld = ({ key, value }: { readonly key: Uint8Array; readonly value: Uint8Array }) => {
      // An undecodable record may have such a job.
      const open = readable(() => openIn(key, value));
      return !open || (open.plugin === plugin && (command === null || open.command === command));
    };
    const hasJob = Array.from(store.scan('open', {})).some(isHeld);
    holds(hasJob, () => `the hold of ${plugin}/${command ?? ''} stays, and no job of it is open`);
  }
}
