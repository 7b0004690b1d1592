// What the administrative routes need of the rest (docs/contract.md#for-operators).
import type { QueuedJobs, QueueReply, Refusal } from '../actors/job/protocol.ts';
import type { Status } from '../actors/job/record.ts';

export type ReloadReply =
  /** `kept`: names of settings that changed and need a restart. */
  | {
      readonly kind: 'reloaded';
      readonly atUs: number;
      readonly kept: readonly string[];
      /** Jobs that the new configuration does not run. */
      readonly held: readonly QueuedJobs[];
    }
  /** It was asked for only where it holds nothing more; null: nobody can tell. */
  | { readonly kind: 'would_hold'; readonly held: readonly QueuedJobs[] | null }
  /** One line for each thing that is wrong; the configuration in force stays. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

/** What a reload would find now; nothing is changed. `held` null: nobody can tell. */
export type ReloadTrial = {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly held: readonly QueuedJobs[] | null;
};

/** One check of the doctor. */
export type Check = { readonly name: string; readonly passed: boolean; readonly detail: string };

export type Failure = { readonly invariant: string; readonly detail: string };
export type Selfcheck = {
  readonly invariantsChecked: number;
  readonly failures: readonly Failure[];
  /** How much was looked at. */
  readonly detail: string;
};

export interface Administration {
  /** Reads the configuration again and, when it is right, swaps it in one step; with `refuseHeld` only where that holds no more jobs. */
  reload(options: { readonly refuseHeld: boolean }): Promise<ReloadReply>;
  /** Reads and checks it, and says which jobs it would hold. */
  tryReload(): Promise<ReloadTrial>;
  /** What waits and runs now; or why nobody can tell. */
  queue(): Promise<QueueReply | { readonly kind: 'refused'; readonly refusal: Refusal }>;
  /** Jobs that settled in the last 24 hours, and those that are open, by status. */
  summary(): { readonly [S in Status]: number };
  doctor(): Promise<readonly Check[]>;
  selfcheck(): Promise<Selfcheck>;
}
