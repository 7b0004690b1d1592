// Who may do what: tokens, schemes and scopes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway, tokens } from './gateway.ts';

let gateway: Gateway;
let jobPath: string;
beforeAll(async () => {
  gateway = await startGateway();
  jobPath = `/job/${gateway.engine.addJob('failed').jobId}`;
});
afterAll(() => gateway.server.close());

async function ask(method: string, path: string, authorization?: string): Promise<Response> {
  const headers = authorization === undefined ? {} : { Authorization: authorization };
  return fetch(gateway.url + path, { method, headers });
}

const all = tokens.map(({ token }) => token).filter(token => token !== 'old-token');
const anything = ['root-token', 'nameless-token'];
const writers = [...anything, 'token-plugin:rw'];
const readers = [...writers, 'token-plugin:ro'];
const jobReaders = [...anything, 'token-jobs:ro', 'token-jobs:rw'];
const matrix: readonly (readonly [method: string, path: () => string, status: number, allowed: readonly string[]])[] = [
  ['POST', () => '/plugin/echo/handle', 202, writers],
  ['POST', () => '/plugin/echo/look', 202, readers],
  ['POST', () => '/plugin/echo/absent', 404, readers],
  ['POST', () => '/plugin/absent/handle', 404, readers],
  ['POST', () => '/pipeline/later', 202, writers],
  ['POST', () => '/pipeline/absent', 404, writers],
  ['GET', () => jobPath, 200, [...jobReaders, 'token-jobs:status:ro', 'token-both']],
  ['GET', () => '/job/absent', 404, [...jobReaders, 'token-jobs:status:ro', 'token-both']],
  ['GET', () => `${jobPath}/tree`, 200, [...jobReaders, 'token-jobs:tree:ro']],
  ['GET', () => '/nowhere', 404, all],
  ['GET', () => '/healthz', 200, all],
];

describe('scopes', () => {
  test.each(matrix)('%s %s answers %i to those who may', async (method, path, status, allowed) => {
    for (const token of all) {
      const answer = await ask(method, path(), `Bearer ${token}`);
      expect([token, answer.status]).toEqual([token, allowed.includes(token) ? status : 403]);
    }
  });

  test.each([
    ['token-jobs:status:ro', false],
    ['token-both', true],
    ['token-jobs:ro', true],
    ['root-token', true],
  ])('%s sees results: %s', async (token, isSeen) => {
    const job = (await (await ask('GET', jobPath, `Bearer ${token}`)).json()) as object;
    expect(['result' in job, 'last_error' in job]).toEqual([isSeen, isSeen]);
  });

  test('the tree hides results from those who may only see the tree', async () => {
    const tree = (await (await ask('GET', `${jobPath}/tree`, 'Bearer token-jobs:tree:ro')).json()) as object[];
    expect(tree.map(job => 'result' in job)).toEqual([false]);
  });
});

describe('credentials', () => {
  test.each(['Bearer root-token', 'bearer root-token', 'BEARER root-token', 'Bearer  root-token'])(
    '%s is taken',
    async authorization => {
      expect((await ask('GET', jobPath, authorization)).status).toBe(200);
    },
  );

  test.each([
    undefined,
    'root-token',
    'Basic root-token',
    'Bearer',
    'Bearer root-toke',
    'Bearer root-tokenn',
    'Bearer Root-Token',
    'Bearer old-token',
    'Bearer root-token x',
  ])('%s is 401 with a challenge, the same whatever is behind', async authorization => {
    for (const path of [jobPath, '/job/absent', '/nowhere']) {
      const answer = await ask('GET', path, authorization);
      expect([answer.status, answer.headers.get('WWW-Authenticate')]).toEqual([401, 'Bearer']);
      expect(answer.headers.get('Cache-Control')).toBe('no-store');
    }
  });

  test('a header that differs from the last valid one is 401, and the valid one is taken again', async () => {
    const status = async (authorization: string) => (await ask('GET', jobPath, authorization)).status;
    expect(await status('Bearer root-token')).toBe(200);
    for (const wrong of ['Bearer root-tokem', 'Bearer root-toke\u00ee', 'Bearer root-toke\u00ae', 'bearer Root-token'])
      expect([wrong, await status(wrong)]).toEqual([wrong, 401]);
    expect(await status('Bearer root-token')).toBe(200);
    expect(await status('Bearer nameless-token')).toBe(200);
    expect(await status('Bearer root-token')).toBe(200);
  });

  test('open routes ignore credentials', async () => {
    expect((await ask('GET', '/healthz', 'Bearer wrong')).status).toBe(200);
  });

  test('request lines name route and token, also of what is refused, and never hold the token', async () => {
    gateway.lines.length = 0;
    await ask('GET', jobPath, 'Bearer root-token');
    await ask('GET', '/nowhere', 'Bearer secret-of-a-unauthenticated');
    await ask('GET', jobPath, 'Bearer secret-of-a-unauthenticated');
    await ask('GET', jobPath, 'Bearer none-token');
    await ask('GET', '/nowhere', 'Bearer root-token');
    await ask('PUT', jobPath, 'Bearer root-token');
    expect(gateway.lines).toMatchObject([
      { method: 'GET', route: '/job/{job_id}', status: 200, token: 'root' },
      { method: 'GET', route: null, status: 401, token: null },
      { method: 'GET', route: '/job/{job_id}', status: 401, token: null },
      { method: 'GET', route: '/job/{job_id}', status: 403, token: 'none' },
      { method: 'GET', route: null, status: 404, token: 'root' },
      { method: 'PUT', route: '/job/{job_id}', status: 405, token: 'root' },
    ]);
    expect(JSON.stringify(gateway.lines)).not.toMatch(/root-token|unauthenticated/);
  });
});
