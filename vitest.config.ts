// How the tests run: the build first (threads and the plugin host need JavaScript), then every file under test/, some of them on
// both HTTP servers.
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isDeep } from './test/deep.ts';

/** Files that take long start first, so that no worker is left alone with one at the end. */
const long = [
  'crash/kill',
  'simulation/simulation',
  'gateway/stop',
  'containment/matrix',
  'host/containment',
  'gateway/containment',
  'reads/reads',
  'bench/smoke',
  'gateway/isolation',
  'admin/selfcheck',
  'events/stream',
  'kit/page',
];

/** These files change their own process, and a failure can end it: each runs in a process of its own. All others share. */
const alone = ['host/!(outcome)'].map(name => `test/${name}.test.ts`);

/** Files that run a second time, on node:http instead of uWebSockets.js. */
const onNode = [
  isDeep ? 'conformance/!(sentences)' : 'conformance/{authentication,errors,events,execution,limits,webhooks}',
  'events/streams',
  'fuzz/fuzz',
  'gateway/listen',
  'http/{execution,framing,refusals,server,timeouts}',
  'webhooks/{door,listener}',
].map(name => `test/${name}.test.ts`);

/** Needs the package registry: `npm run test:install`. */
const elsewhere = ['test/install/**'];

const projects = ['alone', 'node', 'uws'];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = long.findIndex(name => moduleId.endsWith(`/test/${name}.test.ts`));
      if (place >= 0) return place;
      // A shared process is reused only by the next file in the queue, and only within its project.
      return long.length + projects.indexOf(project.name);
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    globalSetup: ['test/build.ts'],
    setupFiles: ['test/canary/fresh.ts'],
    // Generous: a machine that is busy with other things must pass too.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // Two more than the cores of the machine it must be quick on: while two wait for timers and disks, two compute.
    maxWorkers: 4,
    sequence: { sequencer: LongFirst },
    projects: [
      { extends: true, test: { name: 'alone', include: alone } },
      {
        extends: true,
        test: { name: 'uws', isolate: false, include: ['test/**/*.test.ts'], exclude: [...alone, ...elsewhere] },
      },
      { extends: true, test: { name: 'node', include: onNode, isolate: false, env: { TEST_SERVER: 'node' } } },
    ],
  },
});
