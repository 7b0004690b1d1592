// Invariants of pauses, and of the ends of pauses and holds: their records can be decoded.
import { hexOf } from '../../../runtime/bytes.ts';
import { decodeHoldEnd } from '../records/hold-ends.ts';
import type { Invariant } from './invariant.ts';
import { readPause } from './pauses.ts';

export const pauseInvariants: readonly Invariant[] = [
  {
    name: 'pauses_can_be_read',
    table: 'pauses',
    wrong: (key, value) => (readPause(key, value) ? null : `the pause ${hexOf(key)} cannot be decoded`),
  },
  {
    name: 'hold_ends_can_be_read',
    table: 'hold_ends',
    wrong: key => (decodeHoldEnd(key) ? null : `the end of a hold ${hexOf(key)} cannot be decoded`),
  },
];
