// GET /config/view (docs/contract.md#config-view): the configuration in force. Values are redacted by the words in their keys.

import { logLevels } from '../../config/config.ts';
import { redacted, viewOf } from '../../config/view.ts';
import { Type } from '../../runtime/schema-type.ts';
import { instant, nullable, oneOfTexts } from '../openapi/schemas.ts';
import { anyOf, json, route } from '../route.ts';

const viewSchema = Type.Object({
  service: Type.Object({ name: Type.String(), log_level: oneOfTexts(logLevels) }),
  api: Type.Object({
    enabled: Type.Boolean(),
    listen: Type.String(),
    tokens: Type.Array(Type.Object({ scopes: Type.Array(Type.String()) })),
  }),
  plugins: Type.Map(
    Type.Object({
      enabled: Type.Boolean(),
      config: Type.Object({}, { description: `Values of secret keys are "${redacted}", at any depth.` }),
      concurrency: Type.Optional(
        Type.Map(Type.Integer(), {
          description: 'By command, if it is above 1: jobs in flight in one thread.',
        }),
      ),
    }),
  ),
  pipelines: Type.Array(Type.Object({ name: Type.String(), on: nullable(Type.String()) })),
  schedules: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        plugin: Type.Optional(Type.String()),
        command: Type.Optional(Type.String()),
        pipeline: Type.Optional(Type.String()),
        cron: Type.Optional(Type.String()),
        timezone: Type.Optional(Type.String()),
        every_ms: Type.Optional(Type.Integer()),
        at: Type.Optional(instant),
        enabled: Type.Boolean(),
      }),
      { description: 'Left out if there are none.' },
    ),
  ),
});

export const getConfigView = route({
  method: 'GET',
  path: '/config/view',
  section: 'Administration',
  summary: 'Returns the configuration in force, redacted by the words in its keys.',
  access: anyOf('*'),
  notes:
    'A value is redacted if a word of its key is secret, token, password, passwd, key, credential, auth, authorization, ' +
    'private, cookie or session, in singular or plural, in any letter case, in `snake_case` or `camelCase`. Only keys matter: a password ' +
    'inside an address is shown.',
  answers: { 200: { description: 'The configuration.', schema: viewSchema } },
  handle: ({ config }) => json(200, JSON.stringify(viewOf(config))),
});
