// What the command makes of services that are broken, hostile or away.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { elements } from '../../../cli/client/elements.ts';
import { commands } from '../../../cli/commands.ts';
import { headgate } from './headgate.ts';

/** Answers with a stream of events that stays open. */
function beginEvents(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': connected\n\n');
  return response;
}

test('a token that no header can carry is wrong use, and is not repeated', async () => {
  const { status, stderr } = await headgate(['status', '--url', 'http://127.0.0.1:1'], {
    env: { HEADGATE_TOKEN: 'a\nb' },
  });
  expect([status, stderr.includes('a\nb')]).toEqual([2, false]);
});

test('a reason for a single job that is to run now is wrong use, as nothing would show it', async () => {
  const words = ['job', 'run-now', 'x', '--reason', 'hurry', '--url', 'http://127.0.0.1:1'];
  const { status, stderr } = await headgate(words);
  expect([status, stderr]).toEqual([2, expect.stringContaining('--reason is only for actions over many jobs')]);
});

test('of a run in its phase "finally", job cancel names the option that stops it', async () => {
  const url = await serve((_request, response) => problem(response, 409, 'ending'));
  const { status, stderr } = await headgate(['job', 'cancel', 'x', '--url', url]);
  expect([status, stderr]).toEqual([1, expect.stringContaining('add --force to stop it')]);
});

test.each<[what: string, answer: (response: ServerResponse) => void, status: number, code: string]>([
  ['a page of HTML', r => r.writeHead(200).end('<html>'), 69, 'broken_answer'],
  ['an answer that breaks off', r => r.writeHead(200).write('{"a"', () => r.destroy()), 69, 'broken_answer'],
  ['a redirect', r => r.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(), 69, 'unreachable'],
  ['a closed connection', r => r.destroy(), 69, 'unreachable'],
  ['an error without a problem document', r => r.writeHead(500).end('{"detail":1}'), 1, 'unexpected_answer'],
  ['a proxy in between', r => r.writeHead(502).end(), 69, 'unexpected_answer'],
  ['503', r => problem(r, 503, 'stopping'), 69, 'stopping'],
  ['409', r => problem(r, 409, 'reload_refused'), 78, 'reload_refused'],
  ['409 of a reload that would hold jobs', r => problem(r, 409, 'reload_would_hold'), 78, 'reload_would_hold'],
  ['409 of a job that has ended', r => problem(r, 409, 'already_settled'), 1, 'already_settled'],
  ['422', r => problem(r, 422, 'idempotency_mismatch'), 2, 'idempotency_mismatch'],
  ['403', r => problem(r, 403, 'forbidden'), 3, 'forbidden'],
])('%s', async (_, answer, status, code) => {
  const url = await serve((_request, response) => answer(response));
  const outcome = await headgate(['reload', '--json', '--url', url]);
  expect([outcome.status, outcome.json.code]).toEqual([status, code]);
});

test.each(
  commands
    // `vault audit` is left out, because it calls the service only after it has read and written a trail.
    .filter(({ usage, options }) => usage !== 'vault audit' && options.some(({ long }) => long === '--url'))
    .map(({ usage, options }) => [usage, options.filter(({ mandatory }) => mandatory)] as const),
)('%s of a service of another kind says so', async (usage, mandatory) => {
  const url = await serve((_request, response) => response.end('{"jobs":[{"id":1}],"status":"ok"}'));
  // Only this form of the command calls a service.
  const asking = usage === 'config check' ? 'config check --running' : usage;
  const words = asking.replaceAll(/[<[]\w+[>\]]/g, 'x').split(' ');
  const times = mandatory.flatMap(({ long }) => [long!, '2026-01-01T00:00:00Z']);
  const env = { SERVICE_VAULT_TOKEN: 'x' };
  const { status, json } = await headgate([...words, ...times, '--json', '--url', url], { env, stdin: 'x' });
  expect([status, json.code, json.detail]).toEqual([
    69,
    'broken_answer',
    expect.stringMatching(/is not headgate|no headgate|broke off/),
  ]);
});

test('job why says of a job that is about to end with its run that it will not run', async () => {
  const job = { job_id: 'j', status: 'cancelled', plugin: 'p', command: 'c', completed_at: null };
  const url = await serve((_request, response) => response.end(JSON.stringify(job)));
  const { stdout } = await headgate(['job', 'why', 'j', '--url', url]);
  expect(stdout).toBe('p.c was cancelled with its run, and will not run\n');
});

test('job tree --json is one document where the answer breaks off: its last element says so', async () => {
  const url = await serve((_request, response) => {
    response.writeHead(200).write('[{"job_id":"a","status":"running"},{"job_id":"b"', () => response.destroy());
  });
  const { status, json, stderr } = await headgate(['job', 'tree', 'a', '--json', '--url', url]);
  expect([status, json]).toMatchObject([69, [{ job_id: 'a' }, { code: 'broken_answer' }]]);
  expect(stderr).toMatch(/^headgate: the tree broke off: /);
});

test('job tree --json is an empty list where the tree has no job any more', async () => {
  const url = await serve((_request, response) => response.writeHead(200).end('[]'));
  const { status, json } = await headgate(['job', 'tree', 'a', '--json', '--url', url]);
  expect([status, json]).toEqual([0, []]);
});

test('a payload that is not UTF-8 is refused: read as text, it would be another', async () => {
  const stdin = Buffer.from('{"name":"J\xfcrgen"}', 'latin1');
  const words = ['plugin', 'run', 'greet', 'handle', '--payload', '-', '--url', 'http://127.0.0.1:9', '--json'];
  const { status, json } = await headgate(words, { stdin });
  expect([status, json.detail]).toEqual([2, '--payload is not UTF-8 text']);
});

test('what a service says is not obeyed by a terminal', async () => {
  const url = await serve((_request, response) => problem(response, 409, 'reload_refused', '\u001b]0;title\u0007'));
  const { stdout, stderr } = await headgate(['reload', '--json', '--url', url], { isTerminal: true });
  for (const text of [stdout, stderr]) expect(text).toContain('\\u001b]0;title\\u0007');
});

test('everything that is wrong with a new configuration is said, a line each', async () => {
  const errors = [{ message: 'a.yaml:1:1: one' }, { message: 'b.yaml:2:2: two' }];
  const url = await serve((_request, response) => problem(response, 409, 'reload_refused', 'two errors', { errors }));
  const { status, stderr } = await headgate(['reload', '--url', url]);
  expect([status, stderr]).toEqual([78, 'headgate: two errors\na.yaml:1:1: one\nb.yaml:2:2: two\n']);
});

test('an event stream that breaks off is opened again behind the last event', async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    const from = request.headers['last-event-id'];
    asked.push(from as string | undefined);
    if (asked.length === 2) return void response.destroy();
    const id = Number(from ?? 0) + 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`: connected\n\nid: ${id}\nevent: job.started\ndata: {"at":"2026-11-21T09:00:00.000000Z"}\n\n`);
    if (id < 2) setImmediate(() => response.destroy());
  });
  const { status, stdout, stderr } = await headgate(['events', '--count', '2', '--json', '--url', url]);
  expect([status, asked]).toEqual([0, [undefined, '1', '1']]);
  expect(
    stdout
      .split('\n')
      .slice(0, 2)
      .map(line => JSON.parse(line).id),
  ).toEqual(['1', '2']);
  expect(stderr.match(/connection lost/g)).toHaveLength(2);
});

test('job watch asks for the job again when nobody listened, also when the service was away meanwhile', async () => {
  const asked: string[] = [];
  let stream: ServerResponse | null = null;
  const url = await serve((request, response) => {
    asked.push(request.url!);
    if (request.url!.startsWith('/events')) {
      stream = beginEvents(response);
      return;
    }
    if (asked.length === 3) {
      problem(response, 503, 'stopping');
      stream?.destroy();
      return;
    }
    const at = '2026-11-21T09:00:00.000000Z';
    const status = asked.length === 1 ? 'running' : 'timed_out';
    response.end(JSON.stringify({ job_id: 'j', status, plugin: 'p', command: 'c', completed_at: at }));
  });
  const { status, stdout, stderr } = await headgate(['job', 'watch', 'j', '--json', '--url', url]);
  expect([status, JSON.parse(stdout)]).toEqual([5, expect.objectContaining({ type: 'job.timed_out', job_id: 'j' })]);
  const events = '/events?types=job.*&job_id=j';
  expect(asked).toEqual(['/job/j', events, '/job/j', events, '/job/j']);
  expect(stderr).toContain('connection lost');
});

test.each([
  ['plugin run p c', []],
  ['pipeline run p', []],
  ['job rerun x', ['--wait']],
  ['schedule run s', ['--wait']],
])('%s asks again for the job that it started while the service is away', async (line, more) => {
  const asked: string[] = [];
  const url = await serve((request, response) => {
    asked.push(request.method!);
    if (request.method === 'POST') return response.end('{"job_id":"j","status":"queued"}');
    if (asked.length === 2) return problem(response, 503, 'too_many_reads');
    if (asked.length === 3) return response.destroy();
    return response.end('{"job_id":"j","status":"succeeded","plugin":"p","command":"c","completed_at":null}');
  });
  const { status, json, stderr } = await headgate([...line.split(' '), ...more, '--json', '--url', url]);
  expect([status, json.job_id, asked]).toEqual([0, 'j', ['POST', 'GET', 'GET', 'GET']]);
  expect(stderr.match(/no answer .*/g)).toEqual(['no answer (as asked); asking again for job j']);
});

test.each([
  ['no end of the wait', 503, 5, 'not_settled'],
  ['a token that may not read jobs', 403, 3, 'refused'],
])('%s: the failure names the job that was accepted', async (_, httpStatus, expected, code) => {
  const url = await serve((request, response) => {
    if (request.method === 'POST') return response.end('{"job_id":"j","status":"queued"}');
    return problem(response, httpStatus, 'refused');
  });
  const words = ['plugin', 'run', 'p', 'c', '--timeout', '1ms', '--json', '--url', url];
  const { status, json, stderr } = await headgate(words);
  expect([status, json.code, json.job_id]).toEqual([expected, code, 'j']);
  expect(stderr).toContain('"headgate job watch j" follows it');
});

test.each<[what: string, answer: (response: ServerResponse) => void]>([
  ['gives no answer', () => {}],
  ['does not complete its answer', response => response.writeHead(200).write('{')],
])('--timeout is kept while the service %s', async (_, answer) => {
  const url = await serve((request, response) => {
    if (request.method === 'POST') return response.writeHead(202).end('{"job_id":"j","status":"queued"}');
    return answer(response);
  });
  const words = ['plugin', 'run', 'p', 'c', '--timeout', '1s', '--json', '--url', url];
  const { status, json, stderr } = await headgate(words);
  expect([status, json.code, json.job_id]).toEqual([5, 'not_settled', 'j']);
  expect(stderr).toContain('job j is without a known end after 1.00 s');
});

test.each([['job cancel'], ['job rerun'], ['job run-now'], ['job cancel --dry-run']])(
  '%s over many jobs waits for minutes, because the service counts the jobs first',
  async line => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const url = await serve((_request, response) => {
      vi.advanceTimersByTime(280_000);
      response.end(JSON.stringify({ action_id: 'a', matched: 1, sample: ['j'], up_to: '2026-11-21T09:00:00.000000Z' }));
    });
    const { status, json } = await headgate([...line.split(' '), '--status', 'failed', '--json', '--url', url]);
    expect([status, json.matched]).toEqual([0, 1]);
  },
);

test.each([['plugin run p c'], ['pipeline run p'], ['job rerun x']])(
  '%s with two values of one tag is wrong use, and starts nothing',
  async line => {
    let calls = 0;
    const url = await serve((_request, response) => {
      calls++;
      response.writeHead(202).end('{"job_id":"j","status":"queued"}');
    });
    const words = [...line.split(' '), '--tag', 'a=1', '--tag', 'b=1', '--tag', 'a=2', '--url', url];
    const { status, stderr } = await headgate(words);
    expect([status, calls, stderr]).toEqual([2, 0, expect.stringContaining('--tag gives the tag a more than once')]);
  },
);

test('job watch learns of an end without an event, also when the service was away at its first question', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let stream: ServerResponse | null = null;
  const tenSecondsOn = () => {
    vi.advanceTimersByTime(10_000);
    stream!.write(': the service is there\n\n');
  };
  let asked = 0;
  const url = await serve((request, response) => {
    if (request.url!.startsWith('/events')) {
      stream = beginEvents(response);
      return;
    }
    if (++asked === 3) {
      problem(response, 503, 'too_many_reads');
      return tenSecondsOn();
    }
    const at = '2026-11-21T09:00:00.000000Z';
    const status = asked < 4 ? 'queued' : 'cancelled';
    response.end(JSON.stringify({ job_id: 'j', status, plugin: 'p', command: 'c', created_at: at, completed_at: at }));
  });
  const onNote = (text: string) => text.startsWith('listening') && tenSecondsOn();
  const { status, stdout } = await headgate(['job', 'watch', 'j', '--url', url], { onNote });
  expect([status, asked]).toEqual([6, 4]);
  expect(stdout).toMatch(/job.enqueued .*\n.* job.cancelled .*\n$/);
});

test('job watch of a large run ends with its last event, although an answer with its counts says sooner that it has ended', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let stream: ServerResponse | null = null;
  const at = '2026-11-21T09:00:00.000000Z';
  const send = (type: string, id: string) => {
    const fields = { at, plugin: 'p', command: 'c', job_id: id };
    stream!.write(`event: ${type}\ndata: ${JSON.stringify(fields)}\n\n`);
  };
  let asked = 0;
  const url = await serve((request, response) => {
    if (request.url!.startsWith('/events')) {
      stream = beginEvents(response);
      return;
    }
    const status = ++asked < 4 ? 'running' : 'succeeded';
    const counts = { succeeded: 101, failed: 1 };
    const job = { job_id: 'j', status, plugin: 'pipeline', command: 'p', started_at: at, completed_at: at, counts };
    response.end(JSON.stringify(job));
    vi.advanceTimersByTime(10_000);
    if (asked === 3) send('job.completed', 'job 0');
    if (asked === 4) send('job.failed', 'late');
    if (asked === 4) send('job.completed', 'j');
  });
  const onNote = (text: string) => {
    if (text.startsWith('listening')) for (let n = 0; n < 101; n++) send('job.completed', `job ${n}`);
  };
  const { status, stdout } = await headgate(['job', 'watch', 'j', '--url', url], { onNote });
  const shown = stdout
    .trimEnd()
    .split('\n')
    .slice(1 + 100);
  expect([status, shown]).toEqual([
    0,
    [expect.stringMatching(/job.failed.* late$/), expect.stringMatching(/job.completed.* j$/)],
  ]);
});

test('a service that takes the call for its events and says nothing cannot be reached', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const url = await serve(() => vi.advanceTimersByTime(45_000));
  const { status, json } = await headgate(['events', '--json', '--url', url]);
  expect([status, json.code, json.detail]).toEqual([69, 'unreachable', `the service at ${url} was silent for 45 s`]);
});

test('job cancel --wait cancels all jobs before it waits, and a failure hides none of them', async () => {
  const asked: string[] = [];
  const url = await serve((request, response) => {
    const [, , id] = request.url!.split(/[/?]/);
    asked.push(`${request.method} ${id}`);
    if (request.method === 'POST' && id === 'c') return problem(response, 503, 'overloaded');
    if (request.method === 'GET' && id === 'b') return problem(response, 403, 'forbidden');
    const [status, cancelling] =
      request.method === 'POST' ? ['running', true] : [id === 'd' ? 'succeeded' : 'cancelled'];
    response.end(JSON.stringify({ job_id: id, status, cancelling, plugin: 'p', command: 'c' }));
  });
  const words = ['job', 'cancel', 'a', 'b', 'c', 'd', '--wait', '--url', url];
  const { status, json } = await headgate([...words, '--json']);
  expect(asked).toEqual(['POST a', 'POST b', 'POST c', 'POST d', 'GET a', 'GET b', 'GET d']);
  expect([status, json.jobs]).toMatchObject([
    1,
    [
      { job_id: 'a', status: 'cancelled' },
      { job_id: 'b', status: 'running', cancelling: true, problem: { code: 'forbidden' } },
      { job_id: 'c', problem: { code: 'overloaded' } },
      { job_id: 'd', status: 'succeeded' },
    ],
  ]);
  const { stdout } = await headgate(words);
  expect(stdout).toBe(
    'a cancelled\nb running, being stopped: as asked\nc not cancelled: as asked\nd succeeded before it was stopped\n',
  );
});

test('a stream that is refused when it is opened again ends the command', async () => {
  let opens = 0;
  const url = await serve((_request, response) => {
    if (++opens > 1) return problem(response, 401, 'unauthorized');
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': connected\n\n');
  });
  const { status, stdout } = await headgate(['events', '--json', '--url', url]);
  expect([status, JSON.parse(stdout).code]).toEqual([3, 'unauthorized']);
});

test('elements of an array come one by one, however the bytes are cut', async () => {
  const values = [{ a: 'x,]}"\\' }, [1, [2, {}]], 'ü, "', 3, null, {}];
  const bytes = Buffer.from(JSON.stringify(values));
  for (const size of [1, 2, 3, 7, bytes.length]) expect(await all(elements(cut(bytes, size)))).toEqual(values);
  expect(await all(elements(cut(Buffer.from(' [ ] '), 1)))).toEqual([]);
  await expect(all(elements(cut(bytes.subarray(0, -1), 5)))).rejects.toThrow('broke off');
  for (const wrong of [
    '[1,]',
    '[,]',
    '[,1]',
    '[1,,2]',
    '{1]',
    '[1}',
    '[{]]',
    '{"a":1}',
    '"[1]"',
    '[1][2]',
    '[1] x',
    '',
  ])
    await expect(all(elements(cut(Buffer.from(wrong), 1))), wrong).rejects.toThrow(SyntaxError);
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function problem(response: ServerResponse, status: number, code: string, detail = 'as asked', more = {}): void {
  const body = { type: 'about:blank', title: code, status, detail, code, ...more };
  response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body));
}

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
