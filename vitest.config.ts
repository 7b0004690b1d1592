// How the tests run: the build first (threads and the plugin host need JavaScript), then every file under test/, some of them on
// both HTTP servers.
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isDeep, withSlow } from './test/support/deep.ts';

// Where this variable is set, each process of Node reads the certificates that it names, which takes longer than the rest of its start. The
// tests start about a thousand processes; those that test TLS name a file of their own.
delete process.env['NODE_EXTRA_CA_CERTS'];

/** Files that take long start first, so that no worker is left alone with one at the end. */
const long = [
  'service/simulation/simulation.test',
  'feature/ui/dashboard.slow.test',
  'feature/ui/page.slow.test',
  'service/gateway/schedules-missed.slow.test',
  'service/backup/until.slow.test',
  'feature/ui/work.test',
  'service/matrix/matrix.test',
  'service/crash/kill.test',
  'service/backup/service.slow.test',
  'service/gateway/stop.slow.test',
  'service/proofs/clock.slow.test',
  'service/proofs/power-cuts.test',
  'feature/tls/service.slow.test',
];

/** These files change their own process, and a failure can end it: each runs in a process of its own. All others share. */
const alone = ['unit/runtime/host/!(outcome)'].map(name => `test/${name}.test.ts`);

/** Files that `npm test` leaves out; `npm run test:all` and `npm run test:deep` run them. */
const slow = withSlow ? [] : ['test/**/*.slow.test.ts'];

/** Files that run a second time, on node:http instead of uWebSockets.js. */
const onNode = [
  isDeep
    ? 'service/conformance/!(sentences)'
    : 'service/conformance/{authentication,errors,events,execution,limits,webhooks}',
  'feature/events/streams',
  'service/fuzz/fuzz',
  'service/gateway/listen',
  'unit/http/{execution,framing,head-text,leaving,refusals,server,timeouts}',
  'feature/webhooks/{door,listener}',
  ...(isDeep ? ['feature/ui/server.slow'] : []),
].map(name => `test/${name}.test.ts`);

/** Needs the package registry: `npm run test:install`. */
const elsewhere = ['test/service/install/**'];

const projects = ['alone', 'node', 'uws'];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = long.findIndex(name => moduleId.endsWith(`/test/${name}.ts`));
      if (place >= 0) return place;
      // A shared process is reused only by the next file in the queue, and only within its project.
      return long.length + projects.indexOf(project.name);
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/service/canary/fresh.ts'],
    // Generous: a machine that is busy with other things must pass too.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // Two more than the cores of the machine it must be quick on: while two wait for timers and disks, two compute.
    maxWorkers: 4,
    sequence: { sequencer: LongFirst },
    projects: [
      { extends: true, test: { name: 'alone', include: alone, exclude: slow } },
      {
        extends: true,
        test: {
          name: 'uws',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...alone, ...elsewhere, ...slow],
        },
      },
      { extends: true, test: { name: 'node', include: onNode, isolate: false, env: { TEST_SERVER: 'node' } } },
    ],
  },
});
