// Every route × every kind of caller against a real gateway, against the expectations of access.ts.
import { beforeAll, describe, expect, test } from 'vitest';
import { scopes } from '../../../config/section/scope.ts';
import { apiRoutes } from '../../../http/routes/api.ts';
import { VaultGateway } from '../../feature/vault/service.ts';
import { everythingToken } from '../gateway/configuration.ts';
import { shareGateway } from '../gateway/gateway.ts';
import { echo, failing } from '../gateway/sources.ts';
import { type Access, accessTable, everyScope, exemplarsTable, outcomeTable, subsTable } from './access.ts';
import { type Caller, callers, callerWith, tokens } from './callers.ts';

const bodyBytesMax = 65_536;
const steps = [{ id: 'only', uses: 'echo.say' }];
const gateway = shareGateway({
  plugins: {
    echo: { code: echo, commands: { say: { type: 'read' } } },
    failing,
  },
  pipelines: [
    { name: 'now', on: 'now', execution_mode: 'synchronous', steps },
    { name: 'later', on: 'later', steps },
  ],
  schedules: [{ id: 'rare', plugin: 'echo', at: '2999-01-01T00:00:00Z' }],
  api: {
    max_body_size: bodyBytesMax,
    batch_max_size: bodyBytesMax,
    auth: { tokens: [...tokens, { name: 'test', token: everythingToken, scopes: ['*'] }] },
  },
});

const { adminToken } = new VaultGateway(gateway);
const admin: Caller = { what: 'the vault admin', authorization: `Bearer ${adminToken}`, scopes: null };

let job = '';
let action = '';
beforeAll(async () => {
  ({ job_id: job } = await gateway.finished('failing/handle', { retry: false }));
  const { body } = await gateway.call('POST', '/actions', { do: 'cancel', where: { plugin: 'nobody' } });
  action = String(body['action_id']);
});

type Ask = { readonly body?: string; readonly type?: string };
type Said = { readonly status: number; readonly headers: Headers; readonly text: string };

/** Sends a request. If the answer is a stream, it is closed after its head. */
async function ask(method: string, path: string, caller: Caller, { body, type }: Ask = {}): Promise<Said> {
  const { authorization } = caller;
  const headers = {
    ...(authorization === null ? {} : { Authorization: authorization }),
    ...(type === undefined ? {} : { 'Content-Type': type }),
  };
  const url = gateway.url + path.replace('JOB', job).replace('ACTION', action);
  // The body is sent as bytes, because `fetch` adds a Content-Type to a string.
  const answer = await fetch(url, { method, headers, body: body === undefined ? null : Buffer.from(body) });
  const isStream = answer.headers.get('content-type') === 'text/event-stream';
  if (isStream) await answer.body?.cancel();
  return { status: answer.status, headers: answer.headers, text: isStream ? '' : await answer.text() };
}

function methodOf({ route }: Access): string {
  return route.split(' ')[0]!;
}

function wanted({ allowed, status }: Access, caller: Caller): number {
  const { scopes: had } = caller;
  if (allowed === 'open') return status;
  if (allowed === 'admin') return caller === admin ? status : 401;
  if (had === null) return 401;
  if (allowed === 'token') return status;
  return had.some(scope => allowed.includes(scope)) ? status : 403;
}

const nobody = callers[0]!;
const everything = callerWith('*');
/** A caller with a valid token that lacks the scope for this route. */
function outsider({ allowed }: Access): Caller {
  return callerWith(everyScope.findLast(scope => !allowed.includes(scope))!);
}

describe('the table', () => {
  test('has every route that is served, and no other', () => {
    const served = apiRoutes.map(({ method, path }) => `${method} ${path}`);
    expect([...new Set(accessTable.map(({ route }) => route))].sort()).toEqual(served.sort());
  });

  test('has every scope', () => {
    expect([...everyScope].sort()).toEqual([...scopes].sort());
  });
});

describe.each(accessTable)('$route, asked as $path', access => {
  const methods = methodOf(access) === 'GET' ? ['GET', 'HEAD'] : [methodOf(access)];

  test.each(methods)('%s answers each kind of caller as it should', async method => {
    const got: { [caller: string]: number } = {};
    for (const caller of [...callers, admin]) {
      const { status, headers, text } = await ask(method, access.path, caller);
      got[caller.what] = status;
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      const isStream = access.route === 'GET /events' && status === 200;
      if (access.allowed !== 'open') expect(headers.get('cache-control')).toBe(isStream ? 'no-cache' : 'no-store');
      expect(headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
      if (status === 401 || status === 403) {
        expect(headers.get('content-type')).toBe('application/problem+json');
        const code = status === 401 ? 'unauthorized' : 'forbidden';
        if (method !== 'HEAD') expect(JSON.parse(text)).toMatchObject({ status, code });
      }
    }
    expect(got).toEqual(Object.fromEntries([...callers, admin].map(caller => [caller.what, wanted(access, caller)])));
  });
});

describe('refusals come in their order', () => {
  // Wrong in every way that is checked after the token and its scopes.
  const wrong: Ask = { type: 'text/plain', body: `{${'x'.repeat(bodyBytesMax)}` };
  const guarded = accessTable.filter(({ allowed }) => allowed !== 'open');
  // The routes that answer 404 for an unknown name or id. `…/resume` is not among them: a pause may outlive its target, so it looks up no name.
  const named = accessTable.filter(
    ({ route, path }) => route.includes('{') && !path.includes('?') && !route.endsWith('/resume'),
  );
  const scoped = guarded.filter(({ allowed }) => Array.isArray(allowed));
  const bodied = accessTable.filter(
    ({ route, path }) => /^POST \/(plugin|pipeline|vault)\//.test(route) && !path.includes('?'),
  );
  /** A caller who may call the route. */
  const insider = ({ allowed }: Access) => (allowed === 'admin' ? admin : everything);
  const wrongFor = (method: string): Ask => (method === 'GET' ? {} : wrong);

  /** The path with names and ids that do not exist. */
  const unknown = ({ path }: Access) =>
    path
      .replace(/\?.*/, '')
      .replace(/^(\/control)?\/(plugin|pipeline|schedule|stopwatch)\/\w+/, '$1/$2/absent')
      .replace('JOB', 'no-such-job')
      .replace('ACTION', 'no-such-action');

  test.each(guarded)('401 before all else: $route, $path', async access => {
    const path = `${unknown(access)}?wrong=%zz`;
    for (const method of [methodOf(access), 'DELETE']) {
      expect((await ask(method, path, nobody, wrongFor(method))).status).toBe(401);
    }
  });

  test.each(scoped)('403 before 404 and what follows: $route, $path', async access => {
    const method = methodOf(access);
    const { status } = await ask(method, `${unknown(access)}?wrong=%zz`, outsider(access), wrongFor(method));
    expect(status).toBe(403);
  });

  test.each(named)('404 before 413, 415 and 400: $route, $path', async access => {
    const method = methodOf(access);
    const { status } = await ask(method, `${unknown(access)}?wrong=%zz`, everything, wrongFor(method));
    expect(status).toBe(404);
  });

  test.each(accessTable)('405 with Allow before 413, 415 and 400: $route, $path', async access => {
    const path = access.path.replace(/\?.*/, '');
    const isRoute = (method: string) => accessTable.some(({ route }) => route === `${method} ${path}`);
    for (const method of ['DELETE', 'PUT', 'PATCH', 'OPTIONS'].filter(method => !isRoute(method))) {
      const { status, headers } = await ask(method, `${path}?wrong=%zz`, insider(access), wrongFor(method));
      expect([method, status]).toEqual([method, 405]);
      expect(headers.get('allow')).toContain(methodOf(access));
    }
  });

  test.each(bodied)('413, 415, 400: $route, $path', async access => {
    const asked = async (of: Ask, query = '?wrong=%zz') =>
      (await ask('POST', access.path + query, insider(access), of)).status;
    expect(await asked(wrong)).toBe(413);
    expect(await asked({ ...wrong, body: '{' })).toBe(415);
    expect(await asked({ body: '{' }, '')).toBe(400);
    expect(await asked({ body: '{"payload":1}' }, '')).toBe(400);
    expect(await asked({ body: '{}' })).toBe(400);
  });

  test.each(accessTable)('400 for a query that is unknown or malformed: $route, $path', async access => {
    const joint = access.path.includes('?') ? '&' : '?';
    for (const more of ['wrong=1', 'limit=%zz', '__proto__=1']) {
      const { status } = await ask(methodOf(access), access.path + joint + more, insider(access));
      expect([more, status]).toEqual([more, 400]);
    }
  });

  test('a path that leads nowhere, or is malformed, is 401 for a stranger, 404 and 400 for all others', async () => {
    const got = [];
    for (const caller of [nobody, callerWith(), everything]) {
      for (const path of ['/nowhere', '/vault', '/job/%zz']) got.push((await ask('GET', path, caller)).status);
    }
    expect(got).toEqual([401, 401, 401, 404, 404, 400, 404, 404, 400]);
  });

  test('below /vault/ every path takes the admin token and no other, and nothing else takes that', async () => {
    const got = [];
    for (const caller of [nobody, everything, admin]) {
      for (const path of ['/vault/nowhere', '/v%61ult/x', '/vault/%zz', '/vault/secret/', '/vault', '/jobs']) {
        got.push((await ask('POST', path, caller, { body: '{}' })).status);
      }
    }
    const strangers = [401, 401, 401, 401];
    expect(got).toEqual([...strangers, 401, 401, ...strangers, 404, 405, 404, 404, 400, 404, 401, 401]);
  });
});

describe('what is told of an outcome', () => {
  test.each(outcomeTable)('%s with %j: %s', async (path, had, shown) => {
    const { status, text } = await ask('GET', path, callerWith(...had));
    expect(status).toBe(200);
    const told = JSON.parse(text) as { readonly logs?: readonly object[] };
    const one = told.logs?.[0] ?? (Array.isArray(told) ? told[0] : told);
    expect(one).toHaveProperty('job_id', job);
    expect('result' in one).toBe(shown);
    expect('last_error' in one).toBe(shown && !path.endsWith('/tree'));
    expect('stderr' in one).toBe(shown && path.startsWith('/job-logs'));
    expect(text.includes('as asked')).toBe(shown);
  });

  test('the list of jobs tells no outcome, to nobody', async () => {
    const { text } = await ask('GET', '/jobs', everything);
    expect(text).toContain(job);
    expect(text).not.toMatch(/"result"|"last_error"|as asked/);
  });

  test.each(subsTable)('sub-spans of the stopwatch with %j: %s', async (had, shown) => {
    const { status, text } = await ask('GET', '/stopwatch/failing?include_subs=true', callerWith(...had));
    const told = JSON.parse(text) as { readonly steps: readonly object[]; readonly subs_unavailable?: string };
    expect([status, told.subs_unavailable]).toEqual([200, shown ? undefined : 'insufficient_scope']);
    expect(told.steps.every(step => 'subs' in step === shown)).toBe(true);
  });

  test.each(exemplarsTable)('exemplars of the stopwatch with %j: %s', async (had, shown) => {
    const { status, text } = await ask('GET', '/stopwatch/failing?series=true&heat=true', callerWith(...had));
    const told = JSON.parse(text) as { readonly exemplars_unavailable?: string };
    expect([status, told.exemplars_unavailable]).toEqual([200, shown ? undefined : 'insufficient_scope']);
    expect([text.includes('"exemplars":'), text.includes('"job_id":')]).toEqual([shown, shown]);
  });
});
