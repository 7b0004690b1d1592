// Jobs and their trees, large trees to slow readers too.
import { get as httpGet, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JobView } from '../../../actors/job/views/job-view.ts';
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import { pack } from '../../../runtime/packing.ts';
import { type Gateway, startGateway } from './gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.server.close());

/** Parts of a plugin's output for a response without them. */
const empty = { events: [], state_updates: {}, logs: [] };

const headers = { Authorization: 'Bearer root-token' };
async function get(path: string): Promise<unknown> {
  const answer = await fetch(gateway.url + path, { headers });
  expect([answer.status, answer.headers.get('Cache-Control')]).toEqual([200, 'no-store']);
  return answer.json();
}

describe('GET /job/{job_id}', () => {
  test('shows a job that succeeded, with times in UTC and microseconds', async () => {
    const { jobId } = gateway.engine.addJob('succeeded');
    expect(await get(`/job/${jobId}`)).toEqual({
      job_id: jobId,
      status: 'succeeded',
      plugin: 'echo',
      command: 'handle',
      parent_job_id: null,
      submitted_by: 'api:root',
      attempt: 1,
      created_at: '2023-11-14T22:13:20.000001Z',
      started_at: '2023-11-14T22:13:20.500000Z',
      completed_at: '2023-11-14T22:13:21.000999Z',
      ...{ pipeline: null, run_id: null, step_id: null, index: null, event: null },
      payload: { n: 1 },
      context: {},
      result: { status: 'ok', result: { n: 1 }, ...empty },
    });
    expect(await get(`/job/${jobId.toUpperCase()}`)).toMatchObject({ job_id: jobId });
  });

  test('shows nulls for what has not happened, and the last error of what went wrong', async () => {
    const queued = gateway.engine.addJob('queued', {
      startedUs: null,
      completedUs: null,
      body: null,
      lastError: null,
    });
    expect(await get(`/job/${queued.jobId}`)).toMatchObject({ started_at: null, completed_at: null, result: null });
    const { jobId } = gateway.engine.addJob('dead');
    expect(await get(`/job/${jobId}`)).toMatchObject({ status: 'dead', last_error: 'it broke' });
  });
});

test('a job with 20,000 events is shown whole, alone and in its tree, and in pieces', async () => {
  const events = Array.from({ length: 20_000 }, (_, n) => ({ type: 'found', payload: { n } }));
  const { jobId } = gateway.engine.addJob('succeeded', {
    body: encodeBody({ result: pack({ n: 1 }), events: pack(events) }),
  });
  const result = { status: 'ok', result: { n: 1 }, ...empty, events };
  expect(JSON.stringify(await get(`/job/${jobId}`))).toContain(JSON.stringify(result));
  expect(JSON.stringify(await get(`/job/${jobId}/tree`))).toContain(JSON.stringify(result));
  const answer = await fetch(`${gateway.url}/job/${jobId}`, { headers });
  // No length: the response is written in chunks.
  expect(answer.headers.get('Content-Length')).toBeNull();
  await answer.body!.cancel();
});

describe('GET /job/{job_id}/tree', () => {
  test('gives the root and all below it', async () => {
    const root = gateway.engine.addJob('succeeded');
    const child = gateway.engine.addJob('failed', { parentJobId: root.jobId });
    const others = [1, 2, 3].map(() => gateway.engine.addJob('succeeded', { parentJobId: root.jobId }));
    const tree = (await get(`/job/${root.jobId}/tree`)) as object[];
    expect(tree.map(job => (job as { job_id: string }).job_id)).toEqual([root, child, ...others].map(job => job.jobId));
    expect(tree[1]).toEqual({
      job_id: child.jobId,
      parent_job_id: root.jobId,
      plugin: 'echo',
      command: 'handle',
      status: 'failed',
      started_at: '2023-11-14T22:13:20.500000Z',
      completed_at: '2023-11-14T22:13:21.000999Z',
      result: { status: 'error', result: { n: 1 }, ...empty },
    });
  });

  test('HEAD of a tree has no body', async () => {
    const { jobId } = gateway.engine.addJob('succeeded');
    const answer = await fetch(`${gateway.url}/job/${jobId}/tree`, { method: 'HEAD', headers });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });

  const jobsTotal = 100_000;
  const pageJobs = 100;
  function largeTree(): { pagesGiven(): number; next(): readonly JobView[] } {
    const job = gateway.engine.addJob('succeeded', { body: encodeBody({ result: pack({ text: 'x'.repeat(200) }) }) });
    const page = Array.from({ length: pageJobs }, () => job);
    let given = 0;
    return { pagesGiven: () => given, next: () => (given++ < jobsTotal / pageJobs ? page : []) };
  }
  const request = (id: string) =>
    `GET /job/${id}/tree HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer root-token\r\nConnection: close\r\n\r\n`;

  test('100,000 jobs to a slow reader: read only as fast as they are taken, in bounded memory, and whole', async () => {
    const { jobId } = gateway.engine.addJob('succeeded');
    const tree = largeTree();
    gateway.engine.pages = tree.next;
    const answer = await new Promise<IncomingMessage>(resolve => {
      httpGet(`${gateway.url}/job/${jobId}/tree`, { headers, agent: false }, resolve);
    });
    answer.pause();
    let pagesBefore = -1;
    const isQuiet = () => {
      const pages = tree.pagesGiven();
      const isSame = pages === pagesBefore;
      pagesBefore = pages;
      return isSame;
    };
    // Once the buffers of the kernel are full, no more pages are made, so memory does not grow with the tree.
    await expect.poll(isQuiet, { interval: 100 }).toBe(true);
    expect(tree.pagesGiven()).toBeLessThan(jobsTotal / pageJobs / 2);
    const mark = '{"job_id":';
    let jobs = 0;
    let text = '';
    for await (const chunk of answer) {
      text = text.slice(1 - mark.length) + String(chunk);
      jobs += text.split(mark).length - 1;
      // Makes the reader slow.
      if (jobs % 13 === 0) await new Promise(resume => setTimeout(resume, 1));
    }
    gateway.engine.pages = null;
    expect([jobs, text.slice(-2)]).toEqual([jobsTotal, '}]']);
  });

  test('a reader that leaves in the middle ends the reading', async () => {
    const { jobId } = gateway.engine.addJob('succeeded');
    const tree = largeTree();
    gateway.engine.pages = tree.next;
    const socket = connect(gateway.server.port, '127.0.0.1');
    socket.write(request(jobId));
    await new Promise<void>(resolve => socket.once('data', () => resolve()));
    gateway.lines.length = 0;
    socket.destroy();
    await expect.poll(() => gateway.lines.map(line => line.status)).toEqual([null]);
    const pages = tree.pagesGiven();
    await fetch(`${gateway.url}/healthz`);
    expect([tree.pagesGiven(), gateway.faults]).toEqual([pages, []]);
    gateway.engine.pages = null;
  });

  test('a tree that breaks half-way ends the connection, not the server, and never looks whole', async () => {
    const { jobId } = gateway.engine.addJob('succeeded');
    const tree = largeTree();
    gateway.engine.pages = () => {
      if (tree.pagesGiven() > 20) throw new Error('the disk is gone');
      return tree.next();
    };
    await expect(
      fetch(`${gateway.url}/job/${jobId}/tree`, { headers }).then(answer => answer.text()),
    ).rejects.toThrow();
    gateway.engine.pages = null;
    expect(gateway.faults).toMatchObject([{ message: 'the disk is gone' }]);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  });
});

test('a cancel that the ledger refuses is refused with its reason', async () => {
  const { jobId } = gateway.engine.addJob('queued');
  gateway.engine.refusal = 'disk_full';
  const answer = await fetch(`${gateway.url}/job/${jobId}/cancel`, { method: 'POST', headers });
  gateway.engine.refusal = null;
  expect([answer.status, await answer.json()]).toEqual([503, expect.objectContaining({ code: 'disk_full' })]);
});
