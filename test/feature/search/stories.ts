// Random stories of jobs, for lists and search.
import { fc } from '../../support/seed.ts';
import type { AttemptStory, BlockStory, JobStory } from './ledger.ts';

export const plugins = ['alpha', 'beta', 'pipeline'];
export const commands = ['handle', 'say'];
export const submitters = ['api:one', 'api:two', 'webhook:three'];

const words = ['error', 'Émile', 'EMILE', 'straße', 'STRASSE', 'e', 'er', '日本語', '本', 'a-b', 'foo_bar', '42', 'x9'];
export const sentence = fc.array(fc.constantFrom(...words), { maxLength: 4 }).map(parts => parts.join(' '));

const attempt = (status: fc.Arbitrary<AttemptStory['status']>): fc.Arbitrary<AttemptStory> =>
  fc.record(
    {
      status,
      error: sentence,
      stderr: sentence,
      result: fc.oneof(fc.constant(null), sentence, fc.record({ error: sentence, list: fc.array(fc.integer()) })),
    },
    { requiredKeys: ['status'] },
  ) as fc.Arbitrary<AttemptStory>;

const retried = fc.array(attempt(fc.constantFrom('failed', 'timed_out')), { maxLength: 2 });
const final = attempt(fc.constantFrom('succeeded', 'succeeded', 'failed', 'timed_out', 'dead', 'cancelled'));
const job: fc.Arbitrary<JobStory> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(retried, final)
      .map(([before, last]) => ({ attempts: [...before, last], end: 'over' as const })),
  },
  {
    weight: 1,
    arbitrary: attempt(fc.constant('cancelled')).map(end => ({
      attempts: [end],
      end: 'over' as const,
      neverStarted: true as const,
    })),
  },
  {
    weight: 1,
    arbitrary: fc.record({ attempts: retried, end: fc.constantFrom('queued' as const, 'running' as const) }),
  },
);

export const block: fc.Arbitrary<BlockStory> = fc
  .record({
    plugin: fc.constantFrom(...plugins),
    command: fc.constantFrom(...commands),
    submittedBy: fc.constantFrom(...submitters),
    jobs: fc.array(job, { minLength: 1, maxLength: 5 }),
  })
  .map(story => (story.plugin === 'pipeline' ? { ...story, jobs: story.jobs.map(asRun) } : story));

/** The story of a run, which is never queued. */
function asRun(job: JobStory): JobStory {
  return job.end === 'queued' ? { ...job, end: 'running' } : job;
}

export const settledBlock = block.map(story => ({ ...story, jobs: story.jobs.filter(({ end }) => end === 'over') }));

/** Blocks, and prunings down to a number of jobs between them. */
export const history = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: block },
    { weight: 3, arbitrary: settledBlock },
    { weight: 1, arbitrary: fc.record({ prune: fc.integer({ min: 0, max: 12 }) }) },
  ),
  { maxLength: 14 },
);

export type History = typeof history extends fc.Arbitrary<infer T> ? T : never;
