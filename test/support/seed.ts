// The seed of what tests draw at random: the same in every run, unless TEST_SEED gives another number, or `random`.
import fc from 'fast-check';

const given = process.env['TEST_SEED'] ?? '20260101';

export const testSeed = given === 'random' ? Date.now() % 2 ** 31 : Number(given);

fc.configureGlobal({ seed: testSeed });

export { fc };
