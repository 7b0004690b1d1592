// The reads thread: while it reads, however much, the rest of the service goes on; also when the thread dies.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { noting, pausesSince } from '../../service/fuzz/pauses.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { type Gateway, type Job, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { cyclesOf } from '../../support/deep.ts';
import { scrape } from '../metrics/scrape.ts';

const largeBytes = 3_900_000;
/** Large texts that deflate to almost nothing, and a plugin that returns a long list. */
const plugins = {
  echo,
  large: `
export const handle = ({ event }) => ({ result: { text: event.payload.text.repeat(${largeBytes} / event.payload.text.length) } });
`,
  list: `export const handle = ({ event }) => ({ result: { items: Array.from({ length: event.payload.count }, (_, n) => n) } });`,
};
const pipelines = [
  {
    name: 'wide',
    on: 'wide',
    execution_mode: 'synchronous',
    timeout_secs: 600,
    steps: [{ uses: 'list' }, { uses: 'echo', foreach: 'payload.items' }],
  },
  {
    name: 'heavy',
    on: 'heavy',
    execution_mode: 'synchronous',
    timeout_secs: 600,
    steps: [{ uses: 'large', foreach: 'payload.items', with: { text: '{payload.item}' } }],
  },
];

/** How long the main thread may be blocked. On the main thread itself, these reads would take whole seconds. */
const pauseMsMax = 250;

/** The longest time that the main thread worked without a break during `act`. */
async function longestPauseMs(gateway: Gateway, act: () => Promise<unknown>): Promise<number> {
  const startMs = Date.now();
  await act();
  // A pause is noted only in the first turn of the event loop after it.
  await gateway.call('GET', '/healthz');
  return pausesSince(gateway.directory, startMs)[0]?.workMs ?? 0;
}

/** Keeps asking after the health of the service until the work is done; how often it was answered. */
async function healthyDuring(gateway: Gateway, work: Promise<unknown>): Promise<number> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  let count = 0;
  for (; !isOver; count++) expect((await gateway.call('GET', '/healthz')).status).toBe(200);
  await work;
  return count;
}

describe('on one service', () => {
  const gateway = shareGateway({ plugins, pipelines }, { environment: noting });
  const largeJobs = cyclesOf({ deep: 16, quick: 8 });

  describe('with large logs', () => {
    beforeAll(async () => {
      const jobs = Array.from({ length: largeJobs }, () => gateway.submit('large/handle', { text: 'one two three ' }));
      for (const id of await Promise.all(jobs)) await gateway.settled(id);
    });

    test.each(['zzz', '"three two"'])('a search for %s stops nothing', async query => {
      const find = () => gateway.call('GET', `/job-logs?query=${encodeURIComponent(query)}`);
      let answered = 0;
      const longest = await longestPauseMs(gateway, async () => {
        const found = find();
        answered = await healthyDuring(gateway, found);
        expect((await found).body).toMatchObject({ logs: [], total: 0 });
      });
      expect(answered).toBeGreaterThan(0);
      expect(longest).toBeLessThan(pauseMsMax);
    });

    test('the words of what is large are found, as far as it is searched', async () => {
      const near = await gateway.finished('large/handle', { text: 'near the beginning ' });
      const found = await gateway.call('GET', '/job-logs?query=%22near+the+beginning%22');
      expect(found.body).toMatchObject({ total: 1, logs: [{ job_id: near.job_id }] });
    });

    test('lists with their results come whole, and stop nothing', async () => {
      const longest = await longestPauseMs(gateway, async () => {
        const { body } = await gateway.call('GET', `/job-logs?plugin=large&include_result=true&limit=${largeJobs}`);
        const { logs } = body as { logs: { result: { result: { text: string } } }[] };
        expect(logs.map(log => log.result.result.text.length > largeBytes - 100)).toEqual(logs.map(() => true));
        expect(logs).toHaveLength(largeJobs);
      });
      expect(longest).toBeLessThan(pauseMsMax);
    });

    test('a job that is large comes whole', async () => {
      const job = await gateway.finished('large/handle', { text: 'ab' });
      expect((job.result!.result as { text: string }).text).toBe('ab'.repeat(largeBytes / 2));
    });

    test('one read more than there may be is refused, and who goes away ends its read', async () => {
      const requests: ClientRequest[] = [];
      const statuses: number[] = [];
      const path = `${gateway.url}/job-logs?query=${encodeURIComponent('"three two"')}`;
      for (let k = 0; k < 520; k++) {
        const request = get(path, { headers: { Authorization: `Bearer ${everythingToken}` }, agent: false });
        request.on('response', (answer: IncomingMessage) => {
          statuses.push(answer.statusCode!);
          if (answer.statusCode === 503) expect(answer.headers['retry-after']).toBe('1');
          answer.resume();
        });
        request.on('error', () => {});
        requests.push(request);
      }
      await until('some are refused', () => statuses.filter(status => status === 503).length >= 8);
      const refused = await gateway.call('GET', '/jobs');
      expect([refused.status, refused.body['code']]).toEqual([503, 'too_many_reads']);
      for (const request of requests) request.destroy();
      // The searches of closed connections must be dropped: hundreds of them would take minutes.
      await until('a read is taken again', async () => (await gateway.call('GET', '/jobs')).status === 200, 20_000);
    });
  });

  describe('with a run of many jobs', () => {
    const count = cyclesOf({ deep: 20_000, quick: 5_000 });
    let run: string;
    let leaf: string;
    beforeAll(async () => {
      const { status, body } = await gateway.call('POST', '/pipeline/wide', { payload: { count } });
      expect([status, body['tree_truncated']]).toEqual([200, true]);
      run = String(body['job_id']);
      leaf = (body['tree'] as Job[]).find(({ plugin }) => plugin === 'echo')!.job_id;
    });

    test('its tree comes whole, parents before children', async () => {
      const tree = await gateway.tree(run);
      expect(tree).toHaveLength(count + 2);
      const seen = new Set<string>();
      for (const { job_id: id, parent_job_id: parent } of tree) {
        expect(parent === null || seen.has(parent)).toBe(true);
        seen.add(id);
      }
    });

    test('its timeline has every job once, leads without a gap to its end, and stops nothing', async () => {
      type Entry = { readonly from: string; readonly to: string };
      let shown: { readonly [field: string]: unknown } = {};
      const longest = await longestPauseMs(gateway, async () => {
        const path = `/job/${run}/timeline`;
        const calls = [1, 2, 3].map(buckets => gateway.call('GET', `${path}?buckets=${buckets}`));
        await healthyDuring(gateway, Promise.all(calls));
        shown = (await gateway.call('GET', path)).body;
      });
      expect(longest).toBeLessThan(pauseMsMax);
      expect(shown).toMatchObject({
        count: count + 1,
        steps: [{ count: 1 }, { count, by_status: { succeeded: count } }],
      });
      const path = shown['critical_path'] as Entry[];
      expect(path.map(({ from }) => from)).toEqual([shown['from'], ...path.map(({ to }) => to)].slice(0, path.length));
    });

    test('the tree of a leaf is the leaf, and that of its parent has all beside it', async () => {
      let tree: readonly Job[] = [];
      const longest = await longestPauseMs(gateway, async () => {
        tree = await gateway.tree(leaf);
        await Promise.all(Array.from({ length: 10 }, () => gateway.tree(leaf)));
      });
      expect(tree.map(job => job.job_id)).toEqual([leaf]);
      expect(longest).toBeLessThan(pauseMsMax);
      const parent = await gateway.tree(tree[0]!.parent_job_id!);
      expect(parent.length).toBe(count + 1);
    });
  });

  test('a call that waits for a run of large results is answered whole', async () => {
    const items = ['first ', 'second ', 'third '];
    const { status, body } = await gateway.call('POST', '/pipeline/heavy', { payload: { items } });
    expect([status, body['status']]).toEqual([200, 'succeeded']);
    const texts = (body['tree'] as Job[]).slice(1).map(job => (job.result!.result as { text: string }).text);
    expect(texts.map(text => text.slice(0, 6).trim())).toEqual(['first', 'second', 'third'].map(t => t.slice(0, 6)));
  });

  test('what was accepted is listed at once', async () => {
    for (let n = 0; n < 50; n++) {
      const id = await gateway.submit('echo/handle', { n });
      const { body } = await gateway.call('GET', '/jobs?plugin=echo&limit=1');
      expect((body['jobs'] as Job[])[0]!.job_id).toBe(id);
    }
  });

  test('HEAD of an answer that is streamed takes no place for long', async () => {
    const { job_id: id } = await gateway.finished('list/handle', { count: cyclesOf({ deep: 30_000, quick: 6_000 }) });
    for (let k = 0; k < cyclesOf({ deep: 12, quick: 4 }); k++) {
      const calls = Array.from({ length: 50 }, () => gateway.call('HEAD', `/job/${id}/tree`));
      for (const { status } of await Promise.all(calls)) expect(status).toBe(200);
    }
  });
});

test('many calls of the doctor are one look, and its sandboxes are tried once', async () => {
  const gateway = await startGateway({ plugins: { echo } }, { environment: noting });
  await gateway.call('GET', '/system/doctor');
  const before = started(gateway);
  const longest = await longestPauseMs(gateway, async () => {
    const calls = Array.from({ length: 200 }, () => gateway.call('GET', '/system/doctor'));
    for (const { status } of await Promise.all(calls)) expect(status).toBe(200);
  });
  expect(longest).toBeLessThan(pauseMsMax);
  expect(started(gateway)).toBe(before);
});

/** A measure of the processes that the service has started and that have ended: the page faults of its children, hundreds for each. */
function started({ pid }: Gateway): number {
  return Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ')[8]);
}

const deadly = `
import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
if (!isMainThread && process.argv[1]?.endsWith('reads/thread.js')) {
  const place = process.argv[process.argv.indexOf('--config') + 1];
  setInterval(() => existsSync(process.env.HEADGATE_TEST_DEATH) && process.exit(3), 5).unref();
}
`;

test('when the thread dies, what was asked of it is refused or cut, and the service goes on', async () => {
  const death = join(tmpdir(), `headgate-death-${process.pid}`);
  const gateway = await startGateway(
    { plugins, pipelines },
    {
      environment: {
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(deadly)}`,
        HEADGATE_TEST_DEATH: death,
      },
    },
  );
  const { job_id: id } = await gateway.finished('large/handle', { text: 'one two three ' });
  const { body } = await gateway.call('POST', '/pipeline/wide', { payload: { count: 10_000 } });
  // Half of an answer has been read when the thread dies.
  const streamed = await new Promise<IncomingMessage>(resolve => {
    const path = `${gateway.url}/job/${body['job_id']}/tree`;
    get(path, { headers: { Authorization: `Bearer ${everythingToken}` }, agent: false }, resolve);
  });
  streamed.pause();
  writeFileSync(death, '');
  await until('the death is seen', () => gateway.log.some(line => line['part'] === 'reads'));
  const { status, body: refusal, headers } = await gateway.call('GET', '/jobs');
  expect([status, refusal['code'], headers.get('retry-after')]).toEqual([503, 'unavailable', '1']);
  expect((await gateway.call('GET', '/system/doctor')).status).toBe(503);
  expect((await gateway.call('GET', `/job/${await gateway.submit('echo/handle')}`)).status).toBe(200);
  rmSync(death);
  const whole = async () => {
    for await (const _ of streamed);
  };
  await expect(whole()).rejects.toThrow();
  await until('reads are answered again', async () => (await gateway.call('GET', '/jobs')).status === 200);
  expect((await gateway.job(id)).status).toBe('succeeded');
  expect((await gateway.call('GET', '/system/doctor')).status).toBe(200);
  expect((await scrape(gateway)).sum('headgate_http_requests_total', { code: 'gone' })).toBe(1);
});
