// What the threads and the process of the bare gateway tell each other.

/** Of a fan-out. */
export const children = 1_000;

/** What a caller asks for: to be acknowledged, or the end of stages, one after the other; each has so many steps, side by side. */
export const stagesOf: { readonly [path: string]: readonly number[] } = {
  '/accept': [],
  '/start': [1],
  '/steps': [1, 1, 1],
  '/fan': [1, children, 1],
};

/** From the sockets to the ledger. */
export type Call = { readonly id: number; readonly stages: readonly number[]; readonly body: Uint8Array };

/** From the ledger to the sockets: on disk. startedUs: when the last step began, µs since the epoch; 0 without steps. */
export type Answer = { readonly id: number; readonly startedUs: number };

/** One line of JSON from the ledger to the host: for each step the id of its call; and one back, with the moment when each began. */
export type Steps = readonly number[];
export type Begun = readonly (readonly [id: number, startedUs: number])[];
