// The dashboard as the service serves it: its files, and the sessions behind its sign-in.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { apiPathStarts } from '../../../config/section/ui.ts';
import { apiRoutes } from '../../../http/routes/api.ts';
import { codeSeconds, sessionFile, sessionHours, sessionsMax, UiSessions } from '../../../service/ui-sessions.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { refusedStart, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { until } from '../../service/gateway/until.ts';
import { headgate } from '../cli/headgate.ts';
import { openRaw } from '../events/reader.ts';

const server = process.env['TEST_SERVER'] ?? 'auto';
const everything = { name: 'test', token: everythingToken, scopes: ['*'] };
const viewer = { name: 'viewer', token: 'token-of-a-viewer', scopes: ['jobs:ro', 'events:ro'] };
const ending = {
  ...{ name: 'ending', token: 'token-that-ends', scopes: ['jobs:ro'] },
  expires_at: new Date(Date.now() + 3_600_000).toISOString(),
};
const settings = {
  api: { server, auth: { tokens: [everything, viewer, ending] } },
  webhooks: { listen: '127.0.0.1:0' },
  metrics: { listen: '127.0.0.1:0' },
};
const gateway = shareGateway(settings);

/** The path of the page's file with this extension. */
async function nameOf(extension: string): Promise<string> {
  const page = await (await fetch(`${gateway.url}/ui`)).text();
  return new RegExp(`"(/ui/[\\w.-]+\\.${extension})"`).exec(page)![1]!;
}

const signIn = async (of: typeof gateway, options: { readonly token?: string; readonly scopes?: string[] } = {}) => {
  const { token = everythingToken, scopes } = options;
  const { body: made } = await of.call('POST', '/ui/code', scopes && { scopes }, { token });
  const { body } = await of.call('POST', '/ui/session', { code: made['code'] }, { token: null });
  return body['token'] as string;
};
const whoami = (token: string) => gateway.call('GET', '/whoami', undefined, { token });

describe('the files', () => {
  test('the page needs no token, is not stored, and may load only what comes from here', async () => {
    for (const path of ['/ui', '/ui/']) {
      const { status, headers } = await fetch(gateway.url + path);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'",
      );
    }
  });

  test('what the page loads has the hash of its contents in its name, and is stored for good', async () => {
    for (const [extension, type] of [
      ['js', 'text/javascript; charset=utf-8'],
      ['css', 'text/css; charset=utf-8'],
      ['svg', 'image/svg+xml'],
    ] as const) {
      const { status, headers } = await fetch(gateway.url + (await nameOf(extension)));
      expect([status, headers.get('content-type')]).toEqual([200, type]);
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  test.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', null],
  ])('with Accept-Encoding: %s they are coded as %s', async (accepted, coding) => {
    const url = gateway.url + (await nameOf('js'));
    const plain = await (await fetch(url, { headers: { 'Accept-Encoding': 'identity' } })).text();
    const answer = await fetch(url, { headers: { 'Accept-Encoding': accepted } });
    expect(answer.headers.get('content-encoding')).toBe(coding);
    expect(answer.headers.get('vary')).toBe('Accept-Encoding');
    expect(await answer.text()).toBe(plain);
  });

  test('HEAD answers as GET, without a body', async () => {
    const answer = await fetch(`${gateway.url}/ui`, { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  test('other names get 404, also those of files beside them', async () => {
    for (const name of ['absent.js', 'index.html', 'index.html.br', '..%2Fcli%2Fmain.js', '%2e%2e/cli/main.js'])
      expect([name, (await fetch(`${gateway.url}/ui/${name}`)).status]).not.toEqual([name, 200]);
  });

  test('the first visit loads at most 60 kB, compressed with gzip', () => {
    const page = readFileSync('dist/ui/index.html', 'utf8');
    const first = ['index.html', ...[...page.matchAll(/"\/ui\/([\w.-]+)"/g)].map(match => match[1]!)];
    const bytes = first.reduce((sum, name) => sum + statSync(`dist/ui/${name}.gz`).size, 0);
    expect(first.length).toBeGreaterThan(3);
    expect(bytes).toBeLessThanOrEqual(60 * 1024);
    expect(readdirSync('dist/ui').filter(name => name.endsWith('.js')).length).toBeGreaterThan(0);
  });
});

describe('the settings', () => {
  test('with ui.enabled: false nothing of it is there, and its sessions do not count; ui.path says where it is from the next start on', async () => {
    const other = await startGateway(settings);
    const token = await signIn(other);
    await other.reload({ ...settings, ui: { enabled: false } });
    for (const path of ['/ui', '/ui/', `${await nameOf('js')}`]) {
      const [absent, unknown] = [await fetch(other.url + path), await fetch(`${other.url}/absent`)];
      expect([path, absent.status]).toEqual([path, unknown.status]);
    }
    expect((await other.call('POST', '/ui/code')).status).toBe(404);
    expect((await other.call('GET', '/whoami', undefined, { token })).status).toBe(401);
    expect(await other.reload({ ...settings, ui: { path: '/ops/dashboard' } })).toContain('ui.path');
    expect((await fetch(`${other.url}/ui`)).status).toBe(200);
    expect((await other.call('POST', '/ui/code')).body['path']).toBe('/ui');
    await other.restart();
    const page = await (await fetch(`${other.url}/ops/dashboard`)).text();
    const script = /"(\/ops\/dashboard\/[\w.-]+\.js)"/.exec(page)![1]!;
    expect((await fetch(other.url + script)).status).toBe(200);
    expect((await other.call('GET', '/ui')).status).toBe(404);
    expect((await other.call('POST', '/ui/code')).body['path']).toBe('/ops/dashboard');
  });

  test('the listeners of webhooks and metrics have neither its files nor its sign-in', async () => {
    const metrics = String(gateway.log.find(({ msg }) => msg === 'ready')!['metrics']);
    for (const listener of [gateway.webhooks, metrics])
      for (const [method, path] of [
        ['GET', '/ui'],
        ['GET', await nameOf('js')],
        ['POST', '/ui/code'],
        ['POST', '/ui/session'],
      ] as const) {
        const headers = { Authorization: `Bearer ${everythingToken}` };
        expect([path, (await fetch(listener + path, { method, headers })).status]).toEqual([path, 404]);
      }
  });

  test('a path of the API is refused', async () => {
    expect((await refusedStart({ ...settings, ui: { path: '/jobs/ui' } })).said).toContain(
      'the API has routes below /jobs',
    );
    expect(new Set(apiPathStarts)).toEqual(
      new Set(apiRoutes.map(({ path }) => path.split('/')[1]!).filter(start => start !== '')),
    );
  });
});

describe('sign-in', () => {
  test('a code is exchanged once for the token of a session, which has the scopes of the token behind it', async () => {
    const { status, body: made } = await gateway.call('POST', '/ui/code', {}, { token: viewer.token });
    expect([status, made]).toEqual([200, { code: expect.any(String), path: '/ui', expires_at: expect.any(String) }]);
    const exchange = () => gateway.call('POST', '/ui/session', { code: made['code'] }, { token: null });
    const { body, headers } = await exchange();
    expect(headers.get('cache-control')).toBe('no-store');
    expect((await whoami(body['token'] as string)).body).toEqual({
      name: 'viewer',
      scopes: viewer.scopes,
      expires_at: body['expires_at'],
    });
    const again = await exchange();
    expect([again.status, again.body['code']]).toEqual([400, 'invalid_code']);
  });

  test('a session may have fewer scopes, and not more', async () => {
    const token = await signIn(gateway, { scopes: ['jobs:ro'] });
    expect((await whoami(token)).body['scopes']).toEqual(['jobs:ro']);
    expect((await gateway.call('GET', '/jobs', undefined, { token })).status).toBe(200);
    expect((await gateway.call('GET', '/pauses', undefined, { token })).status).toBe(403);
    const { status, body } = await gateway.call('POST', '/ui/code', { scopes: ['*'] }, { token: viewer.token });
    expect([status, body['code']]).toEqual([400, 'invalid_request']);
  });

  test('the token of a session makes no codes, so that no session outlives its time', async () => {
    const token = await signIn(gateway);
    expect((await gateway.call('POST', '/ui/code', {}, { token })).status).toBe(403);
  });

  test('sign-out ends one session; with the API token all of its sessions end', async () => {
    const [one, two, other] = [await signIn(gateway), await signIn(gateway), await signIn(gateway, viewer)];
    const end = (token: string) => gateway.call('DELETE', '/ui/session', undefined, { token });
    expect((await end(one)).body).toEqual({ ended: 1 });
    expect([(await whoami(one)).status, (await whoami(two)).status]).toEqual([401, 200]);
    expect((await end(everythingToken)).status).toBe(200);
    expect([(await whoami(two)).status, (await whoami(other)).status]).toEqual([401, 200]);
  });

  test('a session survives a restart, loses what its token loses, and ends with its token', async () => {
    const own = await startGateway(settings);
    const token = await signIn(own);
    const state = () => readFileSync(join(own.directory, 'data/ui-sessions.json'), 'utf8');
    expect(state()).not.toContain(token);
    expect(statSync(join(own.directory, 'data/ui-sessions.json')).mode & 0o777).toBe(0o600);
    await own.restart();
    const ask = (path: string) => own.call('GET', path, undefined, { token });
    expect((await ask('/config/view')).status).toBe(200);
    const tokens = [{ ...everything, scopes: ['jobs:ro'] }, viewer];
    await own.reload({ api: { server, auth: { tokens } } });
    expect([(await ask('/config/view')).status, (await ask('/jobs')).status]).toEqual([403, 200]);
    // A session whose token was removed does not return with the token, even if nobody has called the service meanwhile.
    await own.reload({ api: { server, auth: { tokens: [viewer] } } });
    await own.reload(settings);
    expect((await ask('/jobs')).status).toBe(401);
    expect(JSON.parse(state())).toEqual({ sessions: [] });
  });

  test('the end of a session is at the latest the end of its token', async () => {
    const { body: made } = await gateway.call('POST', '/ui/code', undefined, { token: ending.token });
    const { body: begun } = await gateway.call('POST', '/ui/session', { code: made['code'] }, { token: null });
    const { body } = await whoami(begun['token'] as string);
    for (const { expires_at: end } of [begun, body])
      expect(Date.parse(end as string)).toBe(Date.parse(ending.expires_at));
  });

  test('with a session its event streams end', async () => {
    const [leaving, staying] = [await signIn(gateway), await signIn(gateway, viewer)];
    const [ended, open] = [openRaw(gateway, '', leaving), openRaw(gateway, '', staying)];
    for (const stream of [ended, open]) await until('it is connected', () => stream.text.includes(': connected'));
    await gateway.call('DELETE', '/ui/session', undefined, { token: leaving });
    await until('its stream has ended', () => ended.text.includes('\r\n0\r\n') || ended.isClosed);
    expect([open.isClosed, (await whoami(staying)).status]).toEqual([false, 200]);
  });

  test('with the sessions of a token its unused codes end', async () => {
    const { body: made } = await gateway.call('POST', '/ui/code');
    await gateway.call('DELETE', '/ui/session');
    expect((await gateway.call('POST', '/ui/session', { code: made['code'] }, { token: null })).status).toBe(400);
  });

  test('a token with as many sessions as there can be keeps no other token out', async () => {
    for (const { token } of [everything, viewer, ending])
      await gateway.call('DELETE', '/ui/session', undefined, { token });
    const greedy: string[] = [];
    for (let count = 0; count < sessionsMax; count++) greedy.push(await signIn(gateway, viewer));
    const token = await signIn(gateway);
    const statusOf = async (one: string) => (await whoami(one)).status;
    expect([await statusOf(token), await statusOf(greedy[0]!), await statusOf(greedy[1]!)]).toEqual([200, 401, 200]);
    await signIn(gateway, viewer);
    expect([await statusOf(token), await statusOf(greedy[1]!)]).toEqual([200, 401]);
  });

  test('a caller without a token can send only a small body', async () => {
    const { status, body } = await gateway.call('POST', '/ui/session', { code: 'x'.repeat(2_000) }, { token: null });
    expect([status, body['code']]).toEqual([413, 'body_too_large']);
    const open = apiRoutes.filter(({ access, body }) => access.kind === 'open' && body !== null);
    expect(open.every(({ bodyLimit }) => bodyLimit !== undefined && bodyLimit.bytesMax <= 1_024)).toBe(true);
  });

  test('a file of sessions that cannot be used costs the sessions, and not the start', async () => {
    const own = await startGateway(settings);
    const token = await signIn(own);
    const file = join(own.directory, 'data/ui-sessions.json');
    await own.term();
    writeFileSync(file, '');
    await own.start();
    expect(own.log.find(({ file: damaged }) => damaged === file)).toMatchObject({ level: 40 });
    expect((await own.call('GET', '/whoami', undefined, { token })).status).toBe(401);
    const next = await signIn(own);
    expect((await own.call('GET', '/whoami', undefined, { token: next })).status).toBe(200);
  });

  test('sessions whose end could not be stored end on disk with the next call, although it ends none', async () => {
    const own = await startGateway(settings);
    const token = await signIn(own);
    const file = join(own.directory, 'data/ui-sessions.json');
    renameSync(file, `${file}.kept`);
    mkdirSync(file);
    const end = async () => (await own.call('DELETE', '/ui/session')).status;
    expect(await end()).toBe(503);
    rmdirSync(file);
    renameSync(`${file}.kept`, file);
    expect(await end()).toBe(200);
    await own.restart();
    expect((await own.call('GET', '/whoami', undefined, { token })).status).toBe(401);
  });

  test('headgate ui prints an address with a code', async () => {
    const env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: everythingToken };
    const { stdout } = await headgate(['ui', '--scope', 'jobs:ro', '--no-open'], { env });
    const [, url, code] = /^(.*)#code=([\w-]+)\n$/.exec(stdout)!;
    expect(url).toBe(`${gateway.url}/ui`);
    const { body } = await gateway.call('POST', '/ui/session', { code }, { token: null });
    expect((await whoami(body['token'] as string)).body['scopes']).toEqual(['jobs:ro']);
  });
});

describe('the time of codes and sessions', () => {
  const damaged: string[] = [];
  const grant = { originDigest: 'ab'.repeat(32), scopes: ['*'] };
  let now = 1_800_000_000_000;
  const open = (path = mkdtempSync(join(tmpdir(), 'headgate-'))) => ({
    path,
    sessions: new UiSessions(
      sessionFile(path, file => void damaged.push(file)),
      () => now,
    ),
  });

  test(`a code works for ${codeSeconds} seconds`, () => {
    const { sessions } = open();
    const [first, second] = [sessions.makeCode(grant, null).code, sessions.makeCode(grant, null).code];
    now += codeSeconds * 1_000 - 1;
    expect(sessions.exchange(first)).toHaveProperty('token');
    now += 1;
    expect(sessions.exchange(second)).toBeNull();
  });

  test(`a session lasts ${sessionHours} hours, also over restarts`, () => {
    const { path, sessions } = open();
    const { token } = sessions.exchange(sessions.makeCode(grant, null).code)!;
    now += sessionHours * 3_600_000 - 1;
    expect(open(path).sessions.find(token)).toMatchObject(grant);
    now += 1;
    expect([sessions.find(token), open(path).sessions.find(token)]).toEqual([undefined, undefined]);
  });

  test.each(['', '{"sessions":[', '{"sessions":[{"digest":"ab"}]}', 'null'])(
    'if the file is damaged (%j), all sessions have ended, and the next one replaces it',
    contents => {
      const { path, sessions } = open();
      const { token } = sessions.exchange(sessions.makeCode(grant, null).code)!;
      writeFileSync(join(path, 'ui-sessions.json'), contents);
      const after = open(path).sessions;
      expect(after.find(token)).toBeUndefined();
      expect(damaged.at(-1)).toBe(join(path, 'ui-sessions.json'));
      const next = after.exchange(after.makeCode(grant, null).code)!;
      expect(open(path).sessions.find(next.token)).toMatchObject(grant);
    },
  );

  test('a session that cannot be stored does not begin, and its code stays valid', () => {
    const { path, sessions } = open();
    const { code } = sessions.makeCode(grant, null);
    rmSync(path, { recursive: true });
    expect(() => sessions.exchange(code)).toThrow('ENOENT');
    mkdirSync(path);
    expect(sessions.exchange(code)).toHaveProperty('token');
  });

  test(`there are at most ${sessionsMax} unused codes: a further one ends the oldest of the token that has the most`, () => {
    const { sessions } = open();
    const other = sessions.makeCode({ ...grant, originDigest: 'cd'.repeat(32) }, null).code;
    const codes = Array.from({ length: sessionsMax }, () => sessions.makeCode(grant, null).code);
    expect([sessions.exchange(codes[0]!), sessions.exchange(codes[1]!) !== null]).toEqual([null, true]);
    expect(sessions.exchange(other)).not.toBeNull();
  });

  test('sessions that have ended make room', () => {
    const { sessions } = open();
    const signIn = () => sessions.exchange(sessions.makeCode(grant, null).code)!.token;
    for (let count = 0; count < sessionsMax; count++) signIn();
    now += sessionHours * 3_600_000;
    const tokens = Array.from({ length: sessionsMax }, signIn);
    expect(tokens.filter(token => sessions.find(token) !== undefined).length).toBe(sessionsMax);
  });

  test('a session that is ended is over, also if the file cannot be written', () => {
    let isFull = false;
    const replace = () => {
      if (isFull) throw new Error('no space left');
    };
    const sessions = new UiSessions({ read: () => [], replace }, () => now);
    const { token } = sessions.exchange(sessions.makeCode(grant, null).code)!;
    isFull = true;
    expect(() => sessions.end(() => true)).toThrow('no space left');
    expect(sessions.find(token)).toBeUndefined();
  });
});
