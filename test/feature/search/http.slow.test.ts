// GET /job-logs?query=: the search language, and that the search finds every listed log at once, whatever dies.
import { expect, test } from 'vitest';
import { type Gateway, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';
import { cyclesOf } from '../../support/deep.ts';

const failing = `
export const handle = ({ event }) => ({ status: 'error', error: event.payload.message, retry: false });
`;
const noisy = `#!/bin/sh
cat > /dev/null
echo 'Überlauf in the pipe' >&2
echo '{"status":"ok","result":null}'
`;
const settings = {
  plugins: {
    echo,
    failing,
    noisy: { code: noisy, entrypoint: 'noisy.sh', runtime: 'process', commands: { handle: {} } },
  },
};

type Found = { readonly ids: string[]; readonly total: number; readonly next: string | undefined };

async function find(gateway: Gateway, query: string, more = ''): Promise<Found> {
  const { status, body } = await gateway.call('GET', `/job-logs?query=${encodeURIComponent(query)}${more}`);
  if (status !== 200) throw new Error(`${query}: ${status} ${JSON.stringify(body)}`);
  const { logs, total, next_cursor } = body as { logs: { job_id: string }[]; total: number; next_cursor?: string };
  return { ids: logs.map(log => log.job_id), total, next: next_cursor };
}

const gateway = shareGateway(settings);

test('words are found in last_error, stderr and result, in any order, case and accents folded', async () => {
  const settled = async (command: string, payload?: object) => (await gateway.finished(command, payload)).job_id;
  const error = await settled('failing/handle', { message: 'Connection REFUSED by höst-7' });
  const result = await settled('echo/say', { text: 'the quick brown fox', code: 4711 });
  const stderr = await settled('noisy/handle');
  for (const [query, ids] of [
    ['refused connection', [error]],
    ['HOST', [error]],
    ['host-7', [error]],
    ['7-host', []],
    ['"connection refused"', [error]],
    ['"refused connection"', []],
    ['conn* ref*', [error]],
    ['conn', []],
    ['"quick bro*"', [result]],
    ['4711', [result]],
    ['code', [result]],
    ['ÜBERLAUF', [stderr]],
    ['the', [stderr, result]],
    ['"the', [stderr, result]],
    ['the nothing', []],
  ] as const) {
    expect({ query, ...(await find(gateway, query)) }).toMatchObject({ query, ids, total: ids.length });
  }
  expect(await find(gateway, 'the', '&plugin=echo')).toMatchObject({ ids: [result], total: 1 });
  expect(await find(gateway, 'the', '&status=failed')).toMatchObject({ ids: [], total: 0 });
  expect(await find(gateway, 'the', `&job_id=${result}`)).toMatchObject({ ids: [result], total: 1 });
  expect(await find(gateway, 'refused', `&job_id=${result}`)).toMatchObject({ ids: [], total: 0 });
  expect(await find(gateway, 'the', '&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z')).toMatchObject({ total: 0 });
  const first = await find(gateway, 'the', '&limit=1');
  expect(first).toMatchObject({ ids: [stderr], total: 2 });
  expect(await find(gateway, 'the', `&limit=1&cursor=${first.next}`)).toMatchObject({ ids: [result], total: 2 });
});

test.each(['"', '*', '""', '" * "', '\\', "'; DROP", 'a AND', '(', '%', '\u0000', 'x'.repeat(1024)])(
  'the query %j is no syntax error',
  async query => {
    expect((await gateway.call('GET', `/job-logs?query=${encodeURIComponent(query)}`)).status).toBe(200);
  },
);

test('a query that is too long is 400', async () => {
  expect((await gateway.call('GET', `/job-logs?query=${'x'.repeat(1025)}`)).status).toBe(400);
});

test('a query without words matches every log', async () => {
  const { body } = await gateway.call('GET', '/job-logs');
  expect((await find(gateway, ' ')).total).toBe(body['total']);
});

test('after kill -9 every log that is listed is found, once', async () => {
  const service = await startGateway(settings);
  for (let round = 0; round < cyclesOf({ deep: 5, quick: 2 }); round++) {
    const ids = await Promise.all(Array.from({ length: 40 }, (_, n) => service.submit('echo/say', { word: `n${n}` })));
    await service.allSettled(ids);
    await service.restart();
    expect((await find(service, 'word')).total).toBe(40 * (round + 1));
    expect((await find(service, 'n7')).total).toBe(round + 1);
  }
});
