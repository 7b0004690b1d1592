// The messages between the threads and processes of the bare gateway.

/** The number of children of a fan-out. */
export const children = 1_000;

/**
 * For each path, the number of parallel steps in each of its stages. The stages run one after the other. A call without
 * stages is only stored.
 */
export const stagesOf: { readonly [path: string]: readonly number[] } = {
  '/accept': [],
  '/start': [1],
  '/steps': [1, 1, 1],
  '/fan': [1, children, 1],
};

/** A message from the sockets to the ledger. */
export type Call = { readonly id: number; readonly stages: readonly number[]; readonly body: Uint8Array };

/**
 * A message from the ledger to the sockets, sent after the commit. `startedUs`: when the last step began, in µs since
 * the epoch; 0 if there were no steps.
 */
export type Answer = { readonly id: number; readonly startedUs: number };

/**
 * A line of JSON to the host, with the id of the call for each step. The host answers with a line of the type `Begun`.
 */
export type Steps = readonly number[];
/** A line of JSON from the host: for each step, the id of its call, and when the step began, in µs since the epoch. */
export type Begun = readonly (readonly [id: number, startedUs: number])[];
