// How the tests run: the build first (threads and the plugin host need JavaScript), then every file under test/.
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long begin first, so that none of them is left over for one worker at the end. */
const long = ['crash/kill', 'bench/smoke', 'fuzz/fuzz', 'gateway/stop', 'gateway/containment', 'events/stream'];

/**
 * Files that compute in their own process alone: they share it, and what was loaded into it. Whatever starts a gateway has a
 * process of its own: what it looks for when it sweeps are the secrets of that process.
 */
const light = [
  'bench/!(smoke)',
  'bundled/!(toolbox)',
  'cli/{process,reference,terminal,watchers}',
  'conformance/sentences',
  'config/*',
  'crash/journal',
  'discovery/{openapi,reference,references}',
  'ductile/dialect',
  'examples/*',
  'host/outcome',
  'http/*',
  'job/*',
  'laws/*',
  'lists/model',
  'pipeline/*',
  'runtime/*',
  'search/{chunks,model}',
  'seal/{attacks,strict,tampering}',
  'stopwatch/{consumer,histogram}',
  'webhooks/news',
].map(name => `test/${name}.test.ts`);

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = long.findIndex(name => moduleId.endsWith(`/test/${name}.test.ts`));
      if (place >= 0) return place;
      // Light ones follow one another: a process is handed on to the next file only.
      return project.config.isolate ? long.length : long.length + 1;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    globalSetup: ['test/build.ts'],
    // Generous: a machine that is busy with other things must pass too.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // One more than the cores of the machine it must be quick on: while one waits for a timer, two compute.
    maxWorkers: 3,
    sequence: { sequencer: LongFirst },
    projects: [
      { extends: true, test: { name: 'alone', include: ['test/**/*.test.ts'], exclude: light } },
      { extends: true, test: { name: 'light', include: light, isolate: false, env: { TEST_SHARES_PROCESS: 'yes' } } },
    ],
  },
});
