// GET /config/view (docs/contract.md#config-view): the configuration in force, without secrets.

import { logLevels } from '../../config/config.ts';
import { redacted, viewOf } from '../../config/view.ts';
import { Type } from '../../runtime/schema-type.ts';
import { anyOf, json, type Route, route } from '../route.ts';

const viewSchema = Type.Object({
  service: Type.Object({ name: Type.String(), log_level: Type.Union(logLevels.map(level => Type.Literal(level))) }),
  api: Type.Object({
    enabled: Type.Boolean(),
    listen: Type.String(),
    tokens: Type.Array(Type.Object({ scopes: Type.Array(Type.String()) })),
  }),
  plugins: Type.Map(
    Type.Object({
      enabled: Type.Boolean(),
      config: Type.Object({}, { description: `Values under telling keys are "${redacted}", at any depth.` }),
      concurrency: Type.Optional(
        Type.Map(Type.Integer(), {
          description: 'By command, where it is above 1: jobs under way at once in one thread.',
        }),
      ),
    }),
  ),
  pipelines: Type.Array(Type.Object({ name: Type.String(), on: Type.Union([Type.String(), Type.Null()]) })),
});

const getConfigView = route({
  method: 'GET',
  path: '/config/view',
  section: 'Administration',
  summary: 'The configuration in force, redacted by the words in its keys.',
  access: anyOf('*'),
  query: {},
  body: null,
  notes:
    'A value is redacted when a whole word of its key, or the plural of one, is secret, token, password, passwd, key, ' +
    'credential, auth, private, cookie or session, in any letter case, `snake_case` or `camelCase`. Only keys count: a ' +
    'password inside an address is shown.',
  answers: { 200: { description: 'The configuration.', schema: viewSchema } },
  find: () => null,
  handle: ({ config }) => json(200, JSON.stringify(viewOf(config))),
});

export const configViewRoutes: readonly Route[] = [getConfigView];
