// The messages between the threads and processes of the bare gateway.

/** The children of a fan-out. */
export const children = 1_000;

/** The stages of each path, which run one after the other: the number of parallel steps in each. Without stages a call is only stored. */
export const stagesOf: { readonly [path: string]: readonly number[] } = {
  '/accept': [],
  '/start': [1],
  '/steps': [1, 1, 1],
  '/fan': [1, children, 1],
};

/** Sent from the sockets to the ledger. */
export type Call = { readonly id: number; readonly stages: readonly number[]; readonly body: Uint8Array };

/** Sent from the ledger to the sockets after the commit. startedUs: when the last step began, µs since the epoch; 0 without steps. */
export type Answer = { readonly id: number; readonly startedUs: number };

/** One line of JSON to the host with the id of the call for each step; the host answers with a line of the times when they began. */
export type Steps = readonly number[];
export type Begun = readonly (readonly [id: number, startedUs: number])[];
