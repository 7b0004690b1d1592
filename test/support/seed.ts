// The seed of all random values in tests. It is the same in every run, unless TEST_SEED is another number, or `random`.
import fc from 'fast-check';

const given = process.env['TEST_SEED'] ?? '20260101';

export const testSeed = given === 'random' ? Date.now() % 2 ** 31 : Number(given);

fc.configureGlobal({ seed: testSeed });

export { fc };
