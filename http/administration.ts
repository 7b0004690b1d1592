// What the administrative routes need of the rest (interface, 4.5).
import type { QueueReply, Refusal } from '../actors/job/protocol.ts';
import type { Status } from '../actors/job/record.ts';

export type ReloadReply =
  /** `kept`: names of settings that changed and need a restart. */
  | { readonly kind: 'reloaded'; readonly atUs: number; readonly kept: readonly string[] }
  /** One line for each thing that is wrong; the configuration in force stays. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

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
  /** Reads the configuration again and, when it is right, swaps it in one step. */
  reload(): ReloadReply;
  /** What waits and runs now; or why nobody can tell. */
  queue(): Promise<QueueReply | { readonly kind: 'refused'; readonly refusal: Refusal }>;
  /** Jobs that settled in the last 24 hours, and those that are open, by status. */
  summary(): { readonly [S in Status]: number };
  doctor(): Promise<readonly Check[]>;
  selfcheck(): Promise<Selfcheck>;
}
