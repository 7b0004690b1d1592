// Invariants of pauses, and of the ends of pauses and holds: their records can be decoded.
import { decodeHoldEnd } from '../records/hold-ends.ts';
import type { Invariant } from './invariant.ts';
import { readPause } from './pauses.ts';

export const pauseInvariants: readonly Invariant[] = [
  {
    name: 'pauses_can_be_read',
    table: 'pauses',
    wrong: (key, value) => (readPause(key, value) ? null : `the pause ${hex(key)} cannot be decoded`),
  },
  {
    name: 'hold_ends_can_be_read',
    table: 'hold_ends',
    wrong: key => (decodeHoldEnd(key) ? null : `the end of a hold ${hex(key)} cannot be decoded`),
  },
];

function hex(key: Uint8Array): string {
  return Buffer.from(key).toString('hex');
}
