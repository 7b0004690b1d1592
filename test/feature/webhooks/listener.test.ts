// The webhook listener: what becomes a job, and every refusal with its status.
import { expect, test } from 'vitest';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { until } from '../../service/gateway/until.ts';
import { can } from '../../unit/http/differences.ts';
import { exchange, statuses } from '../../unit/http/raw.ts';
import { openSource } from '../events/reader.ts';
import { ask, type Headers, keys, send, settings, sign, signed, smallBytesMax } from './sender.ts';

const gateway = shareGateway(settings);
const body = '{"payload":{"a":1},"b":[1,2]}';
const digest = sign(keys.plain, body);
const nowSeconds = () => Math.floor(Date.now() / 1000);
const total = async () => Number((await gateway.call('GET', '/jobs')).body['total']);

test.each<[what: string, signature: string | null]>([
  ['missing', null],
  ['empty', ''],
  ['a prefix alone', 'sha256='],
  ['wrong', sign(keys.plain, `${body} `)],
  ['short', digest.slice(1)],
  ['short by a byte', digest.slice(2)],
  ['long', `${digest}0`],
  ['long by a byte', `${digest}00`],
  ['twice', `${digest}, ${digest}`],
  ['not hexadecimal', digest.replace(/.$/, 'g')],
  ['base64', Buffer.from(digest, 'hex').toString('base64')],
  ['prefixed in capitals', `SHA256=${digest}`],
  ['prefixed twice', `sha256=sha256=${digest}`],
  ['of another algorithm', `sha1=${digest}`],
  ['prefixed for a longer digest', `sha512=${digest}`],
  ["another endpoint's", sign(keys.other, body)],
  ['made with the name of the key', sign('plain', body)],
  ['made with no key', sign('', body)],
  ['of nothing', sign(keys.plain, '')],
])('a signature that is %s is 403 forbidden', async (_, signature) => {
  const before = await total();
  for (const prefix of ['', 'sha256=']) {
    const headers: Headers = signature === null ? {} : { 'X-Signature': prefix + signature };
    if (prefix + signature === `sha256=${digest}`) continue;
    const answer = await send(gateway, '/webhook/plain', body, headers);
    expect([answer.status, answer.body['code'], answer.body['detail']]).toEqual([
      403,
      'forbidden',
      'this delivery is refused',
    ]);
  }
  expect(await total()).toBe(before);
});

test('hexadecimal digits count in either case, with the prefix or without', async () => {
  for (const signature of [digest, digest.toUpperCase(), `sha256=${digest}`, `sha256=${digest.toUpperCase()}`]) {
    const answer = await send(gateway, '/webhook/plain', body, { 'X-Signature': signature });
    expect(answer).toMatchObject({ status: 202, body: { status: 'queued' } });
  }
});

test('the signature is of the bytes: the same object written again is 403', async () => {
  for (const other of [JSON.stringify(JSON.parse(body), null, 1), '{"b":[1,2],"payload":{"a":1}}', `${body}\n`])
    expect((await send(gateway, '/webhook/plain', other, { 'X-Signature': digest })).status).toBe(403);
});

test('a body that is no JSON object is refused after its signature only', async () => {
  const deep = `{"a":${'['.repeat(70)}${']'.repeat(70)}}`;
  const bodies = ['', 'x', '[]', '1', 'null', '"{}"', '{', '{} {}', '{"a":1,"a":2}', '{"__proto__":{}}', deep];
  for (const text of [...bodies.map(each => Buffer.from(each)), Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])]) {
    expect((await send(gateway, '/webhook/plain', text, signed(`${text} `))).status).toBe(403);
    const { status, body: said } = await send(gateway, '/webhook/plain', text, signed(text));
    expect([status, String(said['code'])]).toEqual([400, expect.stringMatching(/^invalid_(json|request)$/)]);
  }
});

test('an integer that would be rounded is 400 with its place, or text where the endpoint says so', async () => {
  const large = '{"order":{"id":12345678901234567890}}';
  const refused = await send(gateway, '/webhook/plain', large, signed(large));
  expect(refused).toMatchObject({
    status: 400,
    body: { code: 'invalid_json', errors: [{ pointer: '/order/id', message: expect.stringContaining('as a string') }] },
  });
  const taken = await send(gateway, '/webhook/lenient', large, signed(large));
  expect(taken.status).toBe(202);
  const job = await gateway.settled(String(taken.body['job_id']));
  expect(JSON.stringify(job.result?.result)).toContain('"id":"12345678901234567890"');
});

test('a body that breaks the input schema of the plugin is 400, and names what does', async () => {
  const wrong = '{"n":"one"}';
  const { status, body: said } = await send(gateway, '/webhook/measured', wrong, signed(wrong));
  expect([status, said['code'], said['detail']]).toEqual([400, 'invalid_payload', expect.stringContaining('/n ')]);
});

test('another Content-Type is 415 after the signature; none counts as JSON', async () => {
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
  expect((await send(gateway, '/webhook/plain', body, { ...type, ...signed('') })).status).toBe(403);
  expect((await send(gateway, '/webhook/plain', body, { ...type, ...signed(body) })).status).toBe(415);
  const bare = await ask(gateway, 'POST', '/webhook/plain', { body: Buffer.from(body), headers: signed(body) });
  expect(bare.status).toBe(202);
});

test('a body over max_body_size is 413 before its signature is looked at, by length and by chunks', async () => {
  const fill = (bytes: number) => `{"t":"${'x'.repeat(bytes - 8)}"}`;
  const port = Number(new URL(gateway.webhooks).port);
  const head = (...headers: string[]) => ['POST /webhook/small HTTP/1.1', 'Host: x', ...headers, '', ''].join('\r\n');
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const isAnswered = (text: string) => text.endsWith('}');
  for (const [bytes, status] of [
    [smallBytesMax, 202],
    [smallBytesMax + 1, 413],
  ] as const) {
    const text = fill(bytes);
    const signature = `X-Signature: ${sign(keys.plain, text)}`;
    const whole = await exchange(port, [head(signature, `Content-Length: ${bytes}`) + text], isAnswered);
    expect(statuses(whole.text)).toEqual([status]);
    if (!can('a body in chunks')) continue;
    const parts = [chunk(text.slice(0, 9)), chunk(text.slice(9)), '0\r\nX-Sum: 1\r\n\r\n'];
    const chunked = await exchange(port, [head(signature, 'Transfer-Encoding: chunked'), ...parts], isAnswered);
    expect(statuses(chunked.text)).toEqual([status]);
  }
  const announced = await exchange(port, [head('X-Signature: none', 'Content-Length: 99999999')], isAnswered);
  const endless = [head('Transfer-Encoding: chunked'), chunk('x'.repeat(smallBytesMax)), chunk('x')];
  expect(statuses(announced.text)).toEqual([413]);
  const counted = await exchange(port, endless, text => /"code":"/.test(text));
  expect(statuses(counted.text)).toEqual([can('a body in chunks') ? 413 : 411]);
});

test('two lengths, or a length and chunks, are 400 and the connection closes', async () => {
  const port = Number(new URL(gateway.webhooks).port);
  const head = ['POST /webhook/plain HTTP/1.1', 'Host: x', `X-Signature: ${digest}`, `Content-Length: ${body.length}`];
  for (const more of ['Content-Length: 2', 'Transfer-Encoding: chunked']) {
    const { text, isClosed } = await exchange(port, [`${[...head, more].join('\r\n')}\r\n\r\n${body}`], () => false);
    expect([statuses(text), isClosed]).toEqual([[400], true]);
  }
});

test('what is not configured is 404, whoever asks and however', async () => {
  const authorized = { Authorization: `Bearer ${everythingToken}`, ...signed(body) };
  for (const path of [
    '/',
    '/webhook',
    '/webhook/',
    '/webhook/plain/',
    '/webhook/Plain',
    '/webhooks/plain',
    '/jobs',
    '/plugins',
    '/vault/secret',
  ])
    for (const method of ['GET', 'POST', 'PUT']) {
      const init = method === 'GET' ? {} : { body: Buffer.from(body) };
      const { status, body: said } = await ask(gateway, method, path, { ...init, headers: authorized });
      expect([method, path, status, said['code']]).toEqual([method, path, 404, 'unknown_route']);
    }
  expect((await gateway.call('POST', '/webhook/plain', body, { headers: signed(body) })).status).toBe(404);
});

test('another method on a configured path is 405, and Allow says which one works', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const { status, headers } = await ask(gateway, method, '/webhook/plain', { headers: signed('') });
    expect([method, status, headers.get('Allow')]).toEqual([method, 405, 'POST']);
  }
});

test('every answer has a request id, nosniff and no-store, and every refusal is a problem document', async () => {
  const accepted = await send(gateway, '/webhook/plain', body, { 'X-Request-Id': 'mine', ...signed(body) });
  const refused = await send(gateway, '/webhook/plain', body, { 'X-Request-Id': 'mine' });
  const unknown = await send(gateway, '/webhook/none', body, { 'X-Request-Id': 'mine' });
  for (const { headers } of [accepted, refused, unknown])
    expect(['X-Request-Id', 'X-Content-Type-Options', 'Cache-Control'].map(name => headers.get(name))).toEqual([
      'mine',
      'nosniff',
      'no-store',
    ]);
  expect(accepted.body).toEqual({ job_id: expect.any(String), status: 'queued' });
  for (const { headers, body: said, status } of [refused, unknown]) {
    expect(headers.get('Content-Type')).toBe('application/problem+json');
    expect(said).toMatchObject({ status, request_id: 'mine', code: expect.any(String), error: said['detail'] });
  }
});

test('replayed 100 times at once: 100 jobs without id_header, one job with it', async () => {
  const deliver = (path: string) => send(gateway, path, body, { 'X-Delivery': 'replayed', ...signed(body) });
  for (const [path, jobs] of [
    ['/webhook/plain', 100],
    ['/webhook/once', 1],
  ] as const) {
    const before = await total();
    const answers = await Promise.all(Array.from({ length: 100 }, () => deliver(path)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map(answer => answer.body['job_id'])).size).toBe(jobs);
    expect(await total()).toBe(before + jobs);
  }
});

test('a delivery id counts only once signature and body hold, and for its endpoint alone', async () => {
  const id = { 'X-Delivery': 'careful' };
  expect((await send(gateway, '/webhook/once', body, { ...id, ...signed('') })).status).toBe(403);
  expect((await send(gateway, '/webhook/once', '[]', { ...id, ...signed('[]') })).status).toBe(400);
  const first = await send(gateway, '/webhook/once', body, { ...id, ...signed(body) });
  const again = await send(gateway, '/webhook/once', '{}', { ...id, ...signed('{}') });
  const twin = await send(gateway, '/webhook/twin', body, { ...id, ...signed(body) });
  expect([first.status, again.body, twin.status]).toEqual([202, first.body, 202]);
  expect(twin.body['job_id']).not.toBe(first.body['job_id']);
  for (const wrong of [{}, { 'X-Delivery': '' }, { 'X-Delivery': 'x'.repeat(256) }, { 'X-Delivery': 'a\xe9b' }]) {
    const answer = await send(gateway, '/webhook/once', body, { ...wrong, ...signed(body) });
    expect([answer.status, answer.body['code']]).toEqual([400, 'invalid_request']);
  }
});

test('a timestamp is signed with the body, and must be within the tolerance, both ways', async () => {
  const deliver = (time: string | null, key = keys.plain, behind = '.') =>
    send(gateway, '/webhook/timed', body, {
      'X-Signature': sign(key, `${time ?? ''}${behind}`, body),
      ...(time === null ? {} : { 'X-Time': time }),
    });
  expect((await deliver(String(nowSeconds()))).status).toBe(202);
  expect((await deliver(String(nowSeconds() - 90))).status).toBe(202);
  expect((await deliver(String(nowSeconds() + 90))).status).toBe(202);
  const stale = [nowSeconds() - 600, nowSeconds() + 600, Date.now(), 0];
  for (const time of [
    ...stale.map(String),
    '',
    'soon',
    `${nowSeconds()}.5`,
    `-${nowSeconds()}`,
    `+${nowSeconds()}`,
    null,
  ])
    expect([time, (await deliver(time)).status]).toEqual([time, 403]);
  expect((await deliver(String(nowSeconds()), keys.plain, '')).status).toBe(403);
  expect(
    (await send(gateway, '/webhook/timed', body, { 'X-Time': String(nowSeconds()), ...signed(body) })).status,
  ).toBe(403);
});

test('the shape of GitHub works', async () => {
  const headers = { 'X-Hub-Signature-256': `sha256=${digest}`, 'X-GitHub-Event': 'push', 'X-GitHub-Delivery': 'd' };
  expect((await send(gateway, '/webhook/from/github', body, headers)).status).toBe(202);
  expect((await send(gateway, '/webhook/from/github?via=proxy', body, headers)).status).toBe(202);
});

test('a job is the handle of the plugin, with an envelope that names the endpoint, and starts no pipeline by itself', async () => {
  const { body: said } = await send(gateway, '/webhook/plain', body, signed(body));
  const id = String(said['job_id']);
  expect(await gateway.settled(id)).toMatchObject({
    plugin: 'teller',
    command: 'handle',
    status: 'succeeded',
    submitted_by: 'webhook:plain',
    result: { result: { type: 'webhook.plain', source: 'webhook:plain', payload: JSON.parse(body) } },
  });
  expect(await gateway.tree(id)).toHaveLength(1);
  expect((await gateway.call('GET', '/jobs?plugin=pipeline')).body['total']).toBe(0);
});

test('the event stream tells of accepted deliveries, and of refused ones in numbers', async () => {
  const { seen } = await openSource(gateway, '?types=webhook.*');
  const { body: said } = await send(gateway, '/webhook/measured', '{"n":1}', signed('{"n":1}'));
  const refusals = 20;
  for (let n = 0; n < refusals; n++) await send(gateway, '/webhook/measured', body, {});
  const mine = () => seen.map(({ data }) => data).filter(({ endpoint }) => endpoint === 'measured');
  const rejected = () => mine().filter(data => 'code' in data);
  const count = () => rejected().reduce((sum, data) => sum + Number(data['count']), 0);
  await until('all refusals are told', () => count() === refusals);
  expect(rejected().length).toBeLessThan(refusals);
  expect(rejected()[0]).toMatchObject({ endpoint: 'measured', status: 403, code: 'forbidden', count: 1 });
  const accepted = mine().filter(data => 'job_id' in data);
  expect(accepted).toEqual([{ at: expect.any(String), endpoint: 'measured', job_id: said['job_id'] }]);
});

test('a line of the log has the pattern of the route, and neither signature nor body', async () => {
  await send(gateway, '/webhook/plain?secret=in-the-query', '{"a":"in-the-body"}', {
    'X-Signature': 'in-the-signature',
    'X-Request-Id': 'the-one-that-is-looked-for',
  });
  const line = await until('it is logged', () =>
    gateway.log.find(({ msg, requestId }) => msg === 'request' && requestId === 'the-one-that-is-looked-for'),
  );
  expect(line).toMatchObject({ method: 'POST', route: '/webhook/plain', status: 403, token: null });
  for (const word of ['in-the-query', 'in-the-body', 'in-the-signature', digest, ...Object.values(keys)])
    expect(gateway.stderr).not.toContain(word);
});

test('the topology shows an endpoint as an input of its plugin', async () => {
  const { plugins, signals } = (await gateway.call('GET', '/topology')).body as {
    plugins: object[];
    signals: object[];
  };
  const inputs = [{ signal: 'webhook.measured', command: 'handle' }];
  expect(plugins).toContainEqual({ name: 'measure', active: true, inputs, outputs: [] });
  const consumers = [{ plugin: 'measure', command: 'handle' }];
  expect(signals).toContainEqual({ name: 'webhook.measured', producers: [], consumers });
});

test('the doctor names the endpoints where a repeated delivery runs again', async () => {
  const { checks } = (await gateway.call('GET', '/system/doctor')).body as { checks: object[] };
  const detail = expect.stringMatching(/^10 endpoints; .*: plain, lenient, other, small, github, measured, timed$/);
  expect(checks).toContainEqual({ name: 'webhooks', passed: true, detail });
});

test('health is 200, and says less than that of the API', async () => {
  const { status, body: said } = await ask(gateway, 'GET', '/healthz');
  expect([status, said]).toEqual([
    200,
    { status: 'ok', uptime_seconds: expect.any(Number), version: expect.any(String) },
  ]);
});
