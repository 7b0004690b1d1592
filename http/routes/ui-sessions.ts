// Sign-in to the dashboard (docs/ui.md#sign-in): a code, which is exchanged for the token of a session.
import { type ApiScope, scopes as apiScopes } from '../../config/section/scope.ts';
import { Type } from '../../runtime/schema-type.ts';
import { timestamp } from '../../service/json/timestamp.ts';
import { codeSeconds, sessionHours, sessionsMax } from '../../service/ui-sessions.ts';
import { may } from '../auth.ts';
import { bodyOf, counted, instant } from '../openapi/schemas.ts';
import { type HttpProblem, invalidAt, isProblem, problem } from '../problem.ts';
import { anyToken, json, open, type Route, route } from '../route.ts';

const section = 'Dashboard';
const codeCharactersMax = 128;
const bodyLimit = { bytesMax: 1_024, setting: null };

type CodeBody = { readonly scopes?: readonly ApiScope[] };

const postCode = route({
  method: 'POST',
  path: '/ui/code',
  section,
  summary: `Makes a code that signs in to the dashboard once, within ${codeSeconds} seconds.`,
  notes:
    'The session has the given scopes, at most those of the token; without `scopes` it has all of them. The token of a session cannot make ' +
    `codes. \`headgate ui\` calls this route.`,
  access: anyToken,
  body: bodyOf({
    scopes: Type.Optional(
      Type.Array(Type.String({ enum: [...apiScopes] }), {
        minItems: 1,
        maxItems: apiScopes.length,
        description: 'The scopes of the session.',
      }),
    ),
  }),
  problems: ['forbidden', 'stopping'],
  answers: {
    200: {
      description: 'The code.',
      schema: Type.Object({
        code: Type.String(),
        path: Type.String({ description: '`ui.path`.' }),
        expires_at: instant,
      }),
    },
  },
  handle({ engine, caller, body, config }) {
    if (caller!.sessionDigest !== undefined)
      return problem('forbidden', 'the token of a session cannot make a code; use an API token');
    const { scopes = [...caller!.scopes] } = (body ?? {}) as CodeBody;
    const excess = (scopes as readonly ApiScope[]).findIndex(scope => !may(caller!, [scope]));
    if (excess >= 0) {
      return invalidAt(`/scopes/${excess}`, 'must be a scope of the token that makes the code');
    }
    const grant = { originDigest: hexOf(caller!.tokenDigest), scopes };
    const made = engine.uiSessions.makeCode(grant, caller!.expiresAtMs);
    const expires = timestamp(made.expiresAtMs * 1000);
    return json(200, JSON.stringify({ code: made.code, path: config.ui.path, expires_at: expires }));
  },
});

const postSession = route({
  method: 'POST',
  path: '/ui/session',
  section,
  summary: `Exchanges a code for the token of a session, which lasts at most ${sessionHours} hours.`,
  notes:
    'The token is used as an API token is. Its scopes are never more than those that the API token behind the code has at the time of a ' +
    'call. The session ends with that API token, and survives a restart of the service. ' +
    `There are at most ${sessionsMax} sessions: a further one ends the oldest of the API token that has the most. The body has at most ` +
    `${bodyLimit.bytesMax} bytes.`,
  access: open,
  bodyLimit,
  body: bodyOf({ code: Type.String({ maxLength: codeCharactersMax }) }),
  problems: ['invalid_code', 'unavailable', 'stopping'],
  answers: {
    200: { description: 'The session has begun.', schema: Type.Object({ token: Type.String(), expires_at: instant }) },
  },
  handle({ engine, body }) {
    if (body === undefined) return invalidAt('', 'must be an object with "code"');
    const made = stored(() => engine.uiSessions.exchange((body as { readonly code: string }).code));
    if (isProblem(made)) return made;
    if (made === null)
      return problem('invalid_code', `the code is unknown, has been used, or is older than ${codeSeconds} seconds`);
    const answer = { token: made.token, expires_at: timestamp(made.session.expiresAtMs * 1000) };
    return { ...json(200, JSON.stringify(answer)), headers: [['Cache-Control', 'no-store']] };
  },
});

const deleteSession = route({
  method: 'DELETE',
  path: '/ui/session',
  section,
  summary:
    'Ends the session whose token is sent; with an API token, ends all sessions and unused codes that came from it.',
  access: anyToken,
  problems: ['unavailable', 'stopping'],
  answers: {
    200: {
      description: 'The sessions have ended.',
      schema: Type.Object({ ended: counted('The number of sessions.') }),
    },
  },
  handle({ engine, caller }) {
    const { sessionDigest, tokenDigest } = caller!;
    const origin = hexOf(tokenDigest);
    const ended = stored(() =>
      engine.uiSessions.end(({ digest, originDigest }) =>
        sessionDigest === undefined ? originDigest === origin : digest === sessionDigest,
      ),
    );
    if (isProblem(ended)) return ended;
    return json(200, JSON.stringify({ ended }));
  },
});

export const uiSessionRoutes: readonly Route[] = [postCode, postSession, deleteSession];

/** Changes the sessions. If the file system refuses the change, returns the error as a problem. */
function stored<T>(change: () => T): T | HttpProblem {
  try {
    return change();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return problem('unavailable', `the sessions cannot be written to the state directory: ${code}`);
  }
}

function hexOf(digest: string): string {
  return Buffer.from(digest, 'latin1').toString('hex');
}
