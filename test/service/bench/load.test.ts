// The bundled load client against a small server: it counts the expected answers, and reports the others.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { load } from '../../../bench/load/client.ts';
import type { LoadPlan } from '../../../bench/load/plan.ts';
import { readWrk } from '../../../bench/load/wrk.ts';
import { momentUs } from '../../../bench/moment.ts';
import { percentile } from '../../../bench/percentile.ts';
import { until } from '../gateway/until.ts';

let close = (): void => {};
afterEach(() => close());

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  close = () => server.close();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function plan(url: string, changes: Partial<LoadPlan> = {}): LoadPlan {
  const until = { kind: 'requests', count: 100 } as const;
  return { url, path: '/x', token: 't', connections: 4, until, expect: { status: 202 }, sampleEvery: 10, ...changes };
}

/** Answers 202 with the number of the request as its job id. */
const accepting: RequestListener = async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { payload } = JSON.parse(Buffer.concat(chunks).toString()) as { payload: { n: string } };
  const body = JSON.stringify({ job_id: payload.n, authorization: request.headers.authorization });
  response.writeHead(202, { 'Content-Length': body.length }).end(body);
};

test('sends each numbered request once and keeps the ids of every tenth', async () => {
  const { completed, refused, samples } = await load(plan(await serve(accepting)));
  expect([completed, refused]).toEqual([100, {}]);
  expect(samples.slice(0, 2)).toEqual([
    { n: 0, jobId: '000000000' },
    { n: 10, jobId: '000000010' },
  ]);
  expect(samples).toHaveLength(10);
});

test('takes bodies that come in chunks, and looks into them', async () => {
  const url = await serve((_, response) => {
    response.writeHead(202);
    for (const part of ['{"job_id":', '"1","text":"', 'x'.repeat(100_000), 'ok"}']) response.write(part);
    response.end();
  });
  const { completed, refused } = await load(plan(url, { expect: { status: 202, text: 'xok' } }));
  expect([completed, refused]).toEqual([100, {}]);
});

test('counts a wrong status by what was answered', async () => {
  const url = await serve((_, response) => response.writeHead(503, { 'Content-Length': 4 }).end('full'));
  const { completed, refused } = await load(plan(url));
  expect([completed, refused]).toEqual([0, { 'status 503: full': 100 }]);
});

test('counts a body without the expected text', async () => {
  const url = await serve(accepting);
  const { refused } = await load(plan(url, { connections: 1, expect: { status: 202, text: 'succeeded' } }));
  expect(Object.keys(refused)[0]).toContain('body: {"job_id"');
});

test('counts connections that break', async () => {
  const url = await serve((_, response) => response.destroy());
  const { completed, refused } = await load(plan(url));
  expect([completed, refused]).toEqual([0, { 'the connection was closed': 4 }]);
});

test('ends after the time it was given', async () => {
  const briefly = plan(await serve(accepting), { until: { kind: 'time', ms: 100 }, sampleEvery: 0 });
  // If this process is held up at the beginning, the time is over before the first request.
  const { elapsedMs, p50Us, p99Us } = await until('requests are completed in time', async () => {
    const result = await load(briefly);
    return result.completed > 0 && result;
  });
  expect(elapsedMs).toBeGreaterThan(0);
  expect(p99Us).toBeGreaterThanOrEqual(p50Us);
});

const printed = `Running 1s test @ http://127.0.0.1:8080/
  Latency Distribution
     50%  495.00us
     99%    7.59ms
  10406 requests in 1.00s, 2.15MB read
Requests/sec:  10357.95
`;

test('reads what wrk prints', () => {
  expect(readWrk(printed)).toEqual({ completed: 10406, perS: 10357.95, p50Us: 495, p99Us: 7590 });
});

test('refuses a run of wrk with a response that was not 2xx or 3xx', () => {
  expect(() => readWrk(`${printed}  Non-2xx or 3xx responses: 3\n`)).toThrow('Non-2xx or 3xx responses: 3');
});

test('percentiles are by nearest rank', () => {
  const values = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect([50, 99, 100].map(percent => percentile(values, percent))).toEqual([50, 99, 100]);
});

test('moments keep their microseconds', () => {
  expect(momentUs('2025-01-02T03:04:05.000678Z') - momentUs('2025-01-02T03:04:04.999Z')).toBe(1678);
});
