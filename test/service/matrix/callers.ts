// Every kind of caller: nobody, somebody unknown, and one for each scope.
import { everyScope, type ScopeName } from './access.ts';

export type Caller = {
  readonly what: string;
  readonly authorization: string | null;
  /** Null for a caller without a valid token. */
  readonly scopes: readonly ScopeName[] | null;
};

function tokenOf(scopes: readonly ScopeName[]): string {
  return `matrix-token-for-${scopes.join('-') || 'nothing'}`;
}

/** The caller who has just these scopes. */
export function callerWith(...scopes: readonly ScopeName[]): Caller {
  return { what: scopes.join(' ') || 'no scope', authorization: `Bearer ${tokenOf(scopes)}`, scopes };
}

const combinations: readonly (readonly ScopeName[])[] = [
  ...everyScope.map(scope => [scope]),
  ['jobs:status:ro', 'jobs:result:ro'],
  ['jobs:status:ro', 'jobs:ro'],
  ['jobs:tree:ro', 'jobs:result:ro'],
  ['jobs:logs:ro', 'jobs:result:ro'],
];

const expired = 'matrix-token-that-has-expired';

/** For `api.auth.tokens`. */
export const tokens = [
  ...combinations.map(scopes => ({ name: scopes.join('+'), token: tokenOf(scopes), scopes })),
  { name: 'none', token: tokenOf([]), scopes: [] },
  { name: 'expired', token: expired, scopes: ['*'], expires_at: '2020-01-01T00:00:00Z' },
];

const good = tokenOf(['*']);
const strangers: readonly (readonly [what: string, authorization: string | null])[] = [
  ['no header', null],
  ['an empty header', ''],
  ['a scheme alone', 'Bearer'],
  ['a token alone', good],
  ['another scheme', `Basic ${good}`],
  ['a scheme with a colon', `Bearer: ${good}`],
  ['two tokens', `Bearer ${good} ${good}`],
  ['two tokens with a comma', `Bearer ${good}, Bearer ${good}`],
  ['a longer token', `Bearer ${good}x`],
  ['a shorter token', `Bearer ${good.slice(0, -1)}`],
  ['a token in capitals', `Bearer ${good.toUpperCase()}`],
  ['an unknown token', 'Bearer nobody-knows-this-token'],
  ['an expired token', `Bearer ${expired}`],
];

export const callers: readonly Caller[] = [
  ...strangers.map(([what, authorization]) => ({ what, authorization, scopes: null })),
  callerWith(),
  ...everyScope.map(scope => callerWith(scope)),
  { what: '* with the scheme in capitals', authorization: `BEARER ${good}`, scopes: ['*'] },
  { what: '* with the scheme in small letters', authorization: `bearer ${good}`, scopes: ['*'] },
];
