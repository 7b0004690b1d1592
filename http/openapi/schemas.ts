// Schemas that many answers share: an accepted job, and a refusal.
import { Type } from '../../runtime/schema-type.ts';

export const accepted = Type.Object({
  job_id: Type.String({ format: 'uuid' }),
  status: Type.Literal('queued'),
  plugin: Type.String(),
  command: Type.String(),
});

/** The plugin output (docs/contract.md#plugin-output). */
export const outputSchema = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('error')]),
    result: Type.Unknown({ description: 'A string or an object; for a run also a list or null.' }),
    error: Type.Optional(Type.String()),
    events: Type.Array(Type.Unknown()),
    state_updates: Type.Object({}),
    logs: Type.Array(Type.Object({ level: Type.String(), message: Type.String() })),
  },
  { description: 'The output of the plugin.' },
);

/** Problem details (RFC 9457). */
export const problemDetails = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
  code: Type.String({ description: 'Stable; clients decide by it.' }),
  error: Type.String({ description: 'The same as detail.' }),
  request_id: Type.String(),
  errors: Type.Optional(
    Type.Array(Type.Object({ pointer: Type.String(), message: Type.String() }), {
      description: 'Present if more than one thing is wrong.',
    }),
  ),
});
