// How much of the tests runs: those of `npm test`, all tests with a reduced form of the long ones (`npm run test:all`), or the long ones in
// full (`npm run test:deep`).
export const isDeep = process.env['TEST_DEEP'] === '1';

/** Whether the files `*.slow.test.ts` run. */
export const withSlow = isDeep || process.env['TEST_ALL'] === '1';

/** How much of a proof this run does. */
export function cyclesOf(proof: { readonly deep: number; readonly quick: number }): number {
  return isDeep ? proof.deep : proof.quick;
}

/** As `cyclesOf`, for the one number of a proof that its command can override: `npm run crash -- --cycles 1000`. */
export function countOf(proof: { readonly deep: number; readonly quick: number }): number {
  return Number(process.env['TEST_COUNT'] ?? cyclesOf(proof));
}
