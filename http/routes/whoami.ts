// Shows the name, scopes and expiry of the caller's API token or session, but never the token itself.
import { Type } from '../../runtime/schema-type.ts';
import { timestamp } from '../../service/json/timestamp.ts';
import { instant, nullable } from '../openapi/schemas.ts';
import { anyToken, json, route } from '../route.ts';

const whoamiSchema = Type.Object({
  name: nullable(Type.String(), { description: 'Null: the token has no name.' }),
  scopes: Type.Array(Type.String(), {
    description: 'The scopes of the token, and those that they imply: `plugin:rw` implies `plugin:ro`.',
  }),
  expires_at: nullable(instant),
});

export const getWhoami = route({
  method: 'GET',
  path: '/whoami',
  section: 'Discovery',
  summary: 'Returns the name, the scopes and the expiry of the token with which it is called.',
  notes: '`expires_at` is null if the token does not expire. The answer never contains the token itself.',
  access: anyToken,
  answers: { 200: { description: 'The caller.', schema: whoamiSchema } },
  handle({ caller }) {
    const { name, scopes, expiresAtMs } = caller!;
    const expires = expiresAtMs === null ? null : timestamp(expiresAtMs * 1000);
    return json(200, JSON.stringify({ name, scopes: [...scopes], expires_at: expires }));
  },
});
