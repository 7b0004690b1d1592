// What the threads and the process of the bare gateway tell each other.

/** What a caller asks for: to be acknowledged, or the end of so many steps, one after the other. */
export const stepsOf: { readonly [path: string]: number } = { '/accept': 0, '/start': 1, '/steps': 3 };

/** From the sockets to the ledger. */
export type Call = { readonly id: number; readonly steps: number; readonly body: Uint8Array };

/** From the ledger to the sockets: on disk. startedUs: when the last step began, µs since the epoch; 0 without steps. */
export type Answer = { readonly id: number; readonly startedUs: number };

/** One line of JSON from the ledger to the host, ids of calls; and one back, with the moment when each step began. */
export type Steps = readonly number[];
export type Begun = readonly (readonly [id: number, startedUs: number])[];
