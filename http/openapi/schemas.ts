// Schemas that several routes or OpenAPI documents share.
import { phaseNames, statuses } from '../../actors/job/records/job.ts';
import { type Properties, type Schema, Type } from '../../runtime/schema-type.ts';
import { treeJobsMax } from '../../service/json/job.ts';

export const uuid = Type.String({ format: 'uuid' });
export const instant = Type.String({ format: 'date-time' });
export const instantOf = (description: string): Schema => Type.String({ format: 'date-time', description });
export const count = Type.Integer({ minimum: 0 });
export const counted = (description: string): Schema => Type.Integer({ minimum: 0, description });
export function nullable(schema: Schema, options?: Schema): Schema {
  return Type.Union([schema, Type.Null()], options);
}
export function oneOfTexts(texts: readonly string[], options?: Schema): Schema {
  return Type.Union(
    texts.map(text => Type.Literal(text)),
    options,
  );
}
export const jobStatus = oneOfTexts(statuses);
/** The schema of a JSON body: an object that has only these members. */
export const bodyOf = (members: Properties): Schema => Type.Object(members, { additionalProperties: false });

/** The members of the answer to a call that has made a job. */
export const acceptedMembers = {
  job_id: uuid,
  status: Type.Literal('queued'),
  plugin: Type.String(),
  command: Type.String(),
};
export const accepted = Type.Object(acceptedMembers);

/** The numbers of jobs in the queue of the service, by why they wait. */
export const queueCounts = {
  queue_depth: counted('Jobs that could run now. Delayed, scheduled, held and paused jobs are not counted.'),
  running_count: count,
  delayed_count: counted('Jobs that wait for their next attempt.'),
  scheduled_count: counted('Delayed jobs and runs, and those that wait in the queue of their schedule.'),
  held_count: counted('Queued jobs that are not dispatched because their plugin cannot run now.'),
  paused_count: counted('Queued jobs that a pause holds.'),
};

/** The schema of the plugin output (docs/contract.md#plugin-output). */
export const outputSchema = Type.Object(
  {
    status: oneOfTexts(['ok', 'error']),
    result: Type.Unknown({ description: 'A string or an object; for a run also a list or null.' }),
    error: Type.Optional(Type.String()),
    events: Type.Array(Type.Unknown()),
    state_updates: Type.Object({}),
    logs: Type.Array(Type.Object({ level: Type.String(), message: Type.String() })),
  },
  { description: 'The output of the plugin.' },
);

/** The schema of a refusal, which is a problem document (RFC 9457). */
export const problemDetails = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
  code: Type.String({ description: 'Stable: clients can branch on it.' }),
  error: Type.String({ description: 'The same as detail.' }),
  request_id: Type.String(),
  errors: Type.Optional(
    Type.Array(
      Type.Object({
        index: Type.Optional(
          Type.Integer({ description: 'Of a payload in a batch, from 0; the pointer leads into it.' }),
        ),
        pointer: Type.String(),
        message: Type.String(),
      }),
      { description: 'What is wrong and where. Absent if `detail` says it all.' },
    ),
  ),
  job_status: Type.Optional(jobStatus),
});

export const countsSchema = Type.Optional(
  Type.Object(
    {
      succeeded: Type.Integer(),
      failed: Type.Integer(),
      timed_out: Type.Integer(),
      dead: Type.Integer(),
      cancelled: Type.Integer(),
      unsettled: Type.Optional(Type.Integer({ description: 'While the run is open: jobs that have not ended.' })),
      reused: Type.Optional(Type.Integer({ description: 'Jobs of the original run whose results this rerun reuses.' })),
    },
    { description: 'How the jobs inside a run ended, including those of called pipelines.' },
  ),
);

export const phaseSchema = Type.Optional(
  oneOfTexts(phaseNames, {
    description: 'The phase of its run that the job belongs to; absent: the main part, or the job is in no run.',
  }),
);

/** The schema of the member `reused` of a job in a tree, or in a list of a tree's jobs. */
export const reusedSchema = Type.Optional(
  Type.Literal(true, {
    description: 'The job belongs to the original run; this rerun reuses its result.',
  }),
);

/** The schema of the answer to a call of a synchronous pipeline if its run has ended. */
export const runFinished = Type.Object({
  job_id: uuid,
  status: jobStatus,
  duration_ms: Type.Integer(),
  counts: countsSchema,
  phase_error: Type.Optional(Type.String()),
  result: nullable(outputSchema),
  tree: Type.Optional(
    Type.Array(
      Type.Object({
        job_id: uuid,
        plugin: Type.String(),
        command: Type.String(),
        status: jobStatus,
        counts: countsSchema,
        phase: phaseSchema,
        reused: reusedSchema,
        result: nullable(outputSchema),
      }),
      { description: `At most ${treeJobsMax} jobs. Absent with \`Prefer: return=minimal\`.` },
    ),
  ),
  tree_truncated: Type.Optional(Type.Literal(true)),
});

/** The schema of the answer to a call of a synchronous pipeline if its run has not ended yet, or cannot be read now. */
export const runUnfinished = Type.Object({
  job_id: uuid,
  // A status other than `running` means that the run has settled, but could not be read for this answer.
  status: jobStatus,
  timeout_exceeded: Type.Boolean({
    description: 'false: the service is stopping, or the run has settled but cannot be read now',
  }),
  message: Type.String(),
});

const reasonCharsMax = 500;

export function reasonSchema(description: string): Schema {
  return Type.Optional(Type.String({ minLength: 1, maxLength: reasonCharsMax, description }));
}
