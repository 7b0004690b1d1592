// The properties of stored jobs: status, position in a run, and group. Also the stored data of an ended run, such as how its jobs ended.
import { type Body, bodyPart } from '../../../runtime/host/wire/outcome.ts';
import type { EventEnvelope } from '../../../runtime/host/wire/plugin-host.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import type { JobOptions } from './options.ts';

/** The plugin name of the jobs that stand for pipeline runs. */
export const pipelinePlugin = 'pipeline';
/** The plugin name of the jobs that stand for actions over many jobs. */
export const headgatePlugin = 'headgate';

/** Whether hosts run the plugin's jobs. Jobs that stand for runs and actions are never dispatched. */
export function isHosted(plugin: string): boolean {
  return plugin !== pipelinePlugin && plugin !== headgatePlugin;
}

/** A filter by plugin and command. A null field sets no condition. */
export type CommandFilter = { readonly plugin: string | null; readonly command: string | null };

/** Whether the plugin and command match the filter. */
export function matchesCommand(
  filter: CommandFilter,
  { plugin, command }: { readonly plugin: string; readonly command: string },
): boolean {
  return (
    (filter.plugin === null || plugin === filter.plugin) && (filter.command === null || command === filter.command)
  );
}

/** Every status of a job (docs/contract.md#statuses). */
export const statuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'dead', 'cancelled'] as const;
export type Status = (typeof statuses)[number];
export const terminalStatuses = ['succeeded', 'failed', 'timed_out', 'dead', 'cancelled'] as const;
export type TerminalStatus = (typeof terminalStatuses)[number];
/** The statuses of jobs that have failed: the jobs ended without success and were not cancelled. */
export const failureStatuses = ['failed', 'timed_out', 'dead'] as const satisfies readonly TerminalStatus[];

export type RunPosition = {
  readonly run: JobId;
  /** The number of the step's node in the compiled definition. */
  readonly node: number;
  /** The number of the scope to which the job belongs. */
  readonly scope: number;
  /** The ordinal of the job in each fork of its segment on the way to this step. The ordinals give the order of a join's results. */
  readonly path: readonly number[];
  /**
   * The ordinal of the group's first job; job k of the group has `first + k`. `path` lacks this ordinal. Null: `path` is
   * complete.
   */
  readonly first: number | null;
  /** The paths of the scopes around the job, outermost first, excluding the top scope. Absent: the job is in the top scope. */
  readonly within?: readonly (readonly number[])[];
};

/** The phases that follow the steps of a run, in this order. `on_failure` runs only if the steps failed or took too long. */
export const phaseNames = ['on_failure', 'finally'] as const;
export type PhaseName = (typeof phaseNames)[number];
/** The phase that a run is in. `status`: how the parts before this phase ended. */
export type RunPhase = { readonly name: PhaseName; readonly status: TerminalStatus };

/** The limits that a step sets for its jobs. Each of them replaces a limit of the plugin or of the command. */
export type StepLimits = {
  readonly retry?: {
    readonly attemptsMax?: number;
    readonly backoffBaseMs?: number;
    readonly backoffMaxMs?: number;
  };
  /** The time limit of one attempt. */
  readonly timeoutMs?: number;
};

/** The fields that neighbouring jobs of a block have in common. */
export type JobGroup = {
  readonly submittedBy: string;
  /** The job that caused the jobs of the group; null for the root of a tree. */
  readonly parent: JobId | null;
  /** The root of the tree of these jobs. Null: each of these jobs is a root. */
  readonly root: JobId | null;
  /**
   * The number of jobs in the longest chain of causes that ends with this job or run. Runs do not count; a hook begins a new
   * chain.
   */
  readonly depth: number;
  /** The event that a job of the command `handle` receives, or that started a run; otherwise null. */
  readonly event: EventEnvelope | null;
  /** The baggage, a packed map. */
  readonly context: Uint8Array;
  readonly pipeline: string | null;
  readonly stepId: string | null;
  readonly run: RunPosition | null;
  /** Whether the job is a run that a hook started, or descends from such a run. Then no hook fires for it. */
  readonly hooked: boolean;
  /** Null: the jobs of the group are not reruns. */
  readonly rerun: Rerun | null;
  /** The options of the call or schedule; a descendant has only the tags of its root. Null: no options. */
  readonly options: JobOptions | null;
  /** The limits that the step sets. Undefined: only the limits of the plugin and of the command apply. */
  readonly limits?: StepLimits | undefined;
  /** The phase that the jobs belong to. Undefined: they belong to the main part of their run, or to no run. */
  readonly phase?: PhaseName | undefined;
};

/** The fields of a group whose jobs or runs no other job has caused. */
export const rootGroup = {
  parent: null,
  root: null,
  depth: 0,
  pipeline: null,
  stepId: null,
  run: null,
  hooked: false,
  rerun: null,
} as const;

/** The origin of a rerun: the settled job `of`, the point from which it is rerun, and the reason. */
export type Rerun = { readonly of: JobId; readonly from: RerunFrom; readonly reason: string | null };
/** The point from which a run is rerun. `start`: all its jobs run again. `failed`: jobs that succeeded are reused. */
export const rerunPoints = ['start', 'failed'] as const;
export type RerunFrom = (typeof rerunPoints)[number];

/**
 * How many jobs inside a run ended with each status, including jobs of called runs that have ended. `unsettled`: how many jobs of an open
 * run have not ended, excluding jobs of called runs. `reused`: how many jobs of earlier runs the run has reused; absent: none.
 */
export type Tally = { readonly [S in TerminalStatus]: number } & {
  readonly unsettled?: number;
  readonly reused?: number;
};

/** How many jobs inside a run did not succeed, by status. */
export type Unsuccessful = { failed: number; timed_out: number; dead: number; cancelled: number };

export const noneUnsuccessful = (): Unsuccessful => ({ failed: 0, timed_out: 0, dead: 0, cancelled: 0 });

export function unsuccessfulOf(ended: readonly { readonly status: TerminalStatus }[]): Unsuccessful {
  const sum = noneUnsuccessful();
  for (const { status } of ended) if (status !== 'succeeded') sum[status]++;
  return sum;
}

export function tallyOf(settled: number, { failed, timed_out, dead, cancelled }: Unsuccessful, reused = 0): Tally {
  const tally = { succeeded: settled - failed - timed_out - dead - cancelled, failed, timed_out, dead, cancelled };
  return reused === 0 ? tally : { ...tally, reused };
}

/** The number of ended jobs, including reused ones. */
export function tallied(tally: Tally): number {
  return terminalStatuses.reduce((sum, status) => sum + tally[status], tally.reused ?? 0);
}

export function addUnsuccessful(sum: Unsuccessful, { failed, timed_out, dead, cancelled }: Unsuccessful): void {
  sum.failed += failed;
  sum.timed_out += timed_out;
  sum.dead += dead;
  sum.cancelled += cancelled;
}

/** The stored data that follows an ended run's counts: how many jobs it reused, the hash of its definition, and the error of its phases. */
type MoreOfRun = [reused: number, hash: Uint8Array | null, phaseError?: string];

/** The stored data of an ended run: its counts, the hash of its definition (null: the run never began), and the error of its phases (null: none). */
export function encodeTally(tally: Tally, hash: Uint8Array | null, phaseError: string | null): Uint8Array {
  const counts = terminalStatuses.map(status => tally[status]);
  const { reused = 0 } = tally;
  if (reused === 0 && hash === null) return pack(counts);
  const more: MoreOfRun = phaseError === null ? [reused, hash] : [reused, hash, phaseError];
  return pack([...counts, ...more]);
}

/** The counts of an ended run. Null: an earlier version stored none, or the body has been pruned. */
export function readTally(body: Body): Tally | null {
  const packed = bodyPart(body, 'counts');
  if (!packed) return null;
  const [succeeded = 0, failed = 0, timed_out = 0, dead = 0, cancelled = 0, reused = 0] = unpack<number[]>(packed);
  const tally = { succeeded, failed, timed_out, dead, cancelled };
  return reused === 0 ? tally : { ...tally, reused };
}

/** The error of a succeeded run's phases. Null: no phase had an error, or the body has been pruned. */
export function readPhaseError(body: Body): string | null {
  const packed = bodyPart(body, 'counts');
  return (packed && unpack<(string | null)[]>(packed)[terminalStatuses.length + 2]) ?? null;
}

/** The hash of an ended run's definition. Null: the run never began, an earlier version stored no hash, or the body has been pruned. */
export function readDefinitionHash(body: Body): Uint8Array | null {
  const packed = bodyPart(body, 'counts');
  return (packed && unpack<(Uint8Array | null)[]>(packed)[terminalStatuses.length + 1]) ?? null;
}
