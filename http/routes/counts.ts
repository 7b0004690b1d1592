// The number of stored jobs of each command, and of stored runs of each pipeline, by status.
import { statuses } from '../../actors/job/records/job.ts';
import { Type } from '../../runtime/schema-type.ts';
import { answerRead } from '../answer.ts';
import { instant } from '../openapi/schemas.ts';
import { anyOf, route } from '../route.ts';

const byStatus = Object.fromEntries(statuses.map(status => [status, Type.Integer({ minimum: 0 })]));

export const getCounts = route({
  method: 'GET',
  path: '/counts',
  section: 'Observation',
  summary: 'Counts the stored jobs of each command, and the runs of each pipeline, by status.',
  notes:
    'The plugin of a run is `pipeline`, and its command is the name of the pipeline. A command without stored jobs may be absent. The answer ' +
    'comes from counters, so it takes no longer if more jobs are stored.',
  access: anyOf('jobs:ro', 'jobs:rw'),
  problems: ['too_many_reads'],
  answers: {
    200: {
      description: 'The counts, by plugin and command.',
      schema: Type.Object({
        captured_at: instant,
        counts: Type.Array(Type.Object({ plugin: Type.String(), command: Type.String(), ...byStatus })),
      }),
    },
  },
  handle: call => answerRead(call, { kind: 'counts', nowUs: Math.floor(call.nowMs() * 1000) }),
});
