// How the tests run: the build first (threads and the plugin host need JavaScript), then every file under test/.
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long begin first, so that none of them is left over for one worker at the end. */
const long = ['crash/kill', 'bench/smoke', 'fuzz/fuzz', 'gateway/stop', 'gateway/containment', 'events/stream'];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = long.findIndex(name => moduleId.endsWith(`/test/${name}.test.ts`));
      return place < 0 ? long.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/build.ts'],
    // Generous: a machine that is busy with other things must pass too.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 2,
    sequence: { sequencer: LongFirst },
  },
});
