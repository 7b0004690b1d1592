// The event of a delivery: its headers and its type; and a pipeline as the target.
import { expect, test } from 'vitest';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { exchange, statuses } from '../../unit/http/raw.ts';
import { headgate } from '../cli/headgate.ts';
import { keys, send, sign, signed } from './sender.ts';

const plain = { secret_ref: 'plain', signature_header: 'X-Signature' };
const headers = ['X-Kind', 'X-Tenant', 'Content-Type'];
const gateway = shareGateway({
  plugins: { teller: 'export const handle = ({ event }) => ({ result: event });' },
  pipelines: [
    {
      name: 'orders',
      on: 'orders.called',
      steps: [{ split: [[{ uses: 'teller', foreach: 'payload.lines' }], [{ uses: 'teller' }]] }],
    },
    { name: 'eager', on: 'shop.sold', steps: [{ uses: 'teller' }] },
  ],
  webhooks: {
    endpoints: [
      { name: 'bare', path: '/webhook/bare', plugin: 'teller', ...plain },
      { name: 'named', path: '/webhook/named', plugin: 'teller', ...plain, headers },
      { name: 'typed', path: '/webhook/typed', plugin: 'teller', ...plain, headers, event: 'shop.{headers.X-Kind}' },
      { name: 'body', path: '/webhook/body', plugin: 'teller', ...plain, event: '{payload.action}-{payload.n}' },
      { name: 'fixed', path: '/webhook/fixed', plugin: 'teller', ...plain, event: 'shop.sold' },
      { name: 'run', path: '/webhook/run', pipeline: 'orders', ...plain, headers: ['X-Kind'], id_header: 'X-Id' },
    ],
  },
  tokens: [{ name: 'plain', key: keys.plain }],
});

const deliver = (path: string, body: object, more: { readonly [name: string]: string } = {}) => {
  const text = JSON.stringify(body);
  return send(gateway, `/webhook/${path}`, text, { ...signed(text), ...more });
};
/** The event that the plugin was given. */
async function eventOf(...delivery: Parameters<typeof deliver>) {
  const { body } = await deliver(...delivery);
  return (await gateway.settled(String(body['job_id']))).result!.result as { readonly [key: string]: unknown };
}

test('an endpoint without headers has none in its event', async () => {
  const event = await eventOf('bare', { a: 1 }, { 'X-Kind': 'sold' });
  expect(event).toMatchObject({ type: 'webhook.bare', source: 'webhook:bare', payload: { a: 1 } });
  expect(event).not.toHaveProperty('headers');
});

test('a delivery may have the keys "constructor" and "toJSON"', async () => {
  const payload = { constructor: 1, toJSON: 2 };
  expect(await eventOf('bare', payload)).toMatchObject({ payload });
});

test('the headers that the endpoint names are in the event, as it writes their names; one that is missing is left out', async () => {
  const event = await eventOf('named', {}, { 'x-kind': 'a, b', 'X-Other': 'never' });
  expect(event['headers']).toEqual({ 'X-Kind': 'a, b', 'Content-Type': 'application/json' });
  expect((await eventOf('named', {}))['headers']).toEqual({ 'Content-Type': 'application/json' });
});

test('two deliveries at once keep their own headers, and a job that waits keeps them over a kill', async () => {
  const kinds = Array.from({ length: 20 }, (_, n) => `kind-${n}`);
  const answers = await Promise.all(kinds.map(kind => deliver('named', {}, { 'X-Kind': kind })));
  await gateway.restart();
  const jobs = await gateway.allSettled(answers.map(({ body }) => String(body['job_id'])));
  const seen = jobs.map(({ result }) => (result!.result as { headers: { 'X-Kind': string } }).headers['X-Kind']);
  expect(seen).toEqual(kinds);
});

test('GET /job and `job show` show the headers with the event', async () => {
  const { body } = await deliver('named', {}, { 'X-Tenant': 'acme' });
  const job = (await gateway.call('GET', `/job/${body['job_id']}`)).body;
  expect(job['event']).toMatchObject({ type: 'webhook.named', headers: { 'X-Tenant': 'acme' } });
  const env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: everythingToken };
  const { stdout } = await headgate(['job', 'show', String(body['job_id'])], { env });
  expect(stdout).toMatch(/\nevent +webhook\.named from webhook:named\nheader +X-Tenant: acme\n/);
});

test('a header of 256 characters is taken, a longer one is 400 and named, after the signature alone', async () => {
  expect((await deliver('named', {}, { 'X-Kind': 'x'.repeat(256) })).status).toBe(202);
  const long = { 'X-Kind': 'x'.repeat(257) };
  const { status, body } = await deliver('named', {}, long);
  expect([status, body['code'], body['detail']]).toEqual([
    400,
    'invalid_request',
    'the header X-Kind has more than 256 characters',
  ]);
  expect((await deliver('named', {}, { ...long, 'X-Signature': sign(keys.other, '{}') })).status).toBe(403);
});

test('a header that comes twice is one text', async () => {
  const lines = ['X-Kind: a', 'X-Kind: b', `X-Signature: ${sign(keys.plain, '{}')}`, 'Content-Length: 2'];
  const request = ['POST /webhook/named HTTP/1.1', 'Host: x', ...lines, '', '{}'].join('\r\n');
  const { text } = await exchange(Number(new URL(gateway.webhooks).port), [request], said => said.endsWith('}'));
  expect(statuses(text)).toEqual([202]);
  const [, id] = text.match(/"job_id":"([^"]+)"/)!;
  const { result } = await gateway.settled(id!);
  expect((result!.result as { headers: object }).headers).toEqual({ 'X-Kind': expect.stringMatching(/^a(, b)?$/) });
});

test('the type of the event is made of headers and payload, and fixed text', async () => {
  expect((await eventOf('typed', {}, { 'X-Kind': 'made' }))['type']).toBe('shop.made');
  expect((await eventOf('body', { action: 'open_ed', n: 7 }))['type']).toBe('open_ed-7');
  expect((await eventOf('fixed', {}))['type']).toBe('shop.sold');
});

test.each([
  ['typed', {}, {}, 'the type of the event needs headers.X-Kind, which is missing'],
  ['typed', {}, { 'X-Kind': 'a b' }, 'the type of the event would be "shop.a b"; it must have 1 to 128 letters'],
  ['typed', {}, { 'X-Kind': 'x'.repeat(124) }, 'the type of the event would be'],
  ['body', { n: 1 }, {}, 'the type of the event needs payload.action, which is missing'],
  [
    'body',
    { action: 'a', n: null },
    {},
    'the type of the event needs payload.n, which is neither a string nor a number',
  ],
  ['body', { action: { toString: 'a' }, n: 1 }, {}, 'needs payload.action, which is neither'],
  ['body', { action: 'é', n: 1 }, {}, 'the type of the event would be "é-1"'],
])('no type comes of a delivery to %s with %j and %j: 400 after the signature', async (path, body, more, detail) => {
  const answer = await deliver(path, body, more);
  expect([answer.status, answer.body['code']]).toEqual([400, 'invalid_request']);
  expect(answer.body['detail']).toContain(detail);
  expect((await deliver(path, body, { ...more, 'X-Signature': sign(keys.other, '{}') })).status).toBe(403);
});

test('only the target hears of the type: a pipeline that waits for it is not started', async () => {
  const { body } = await deliver('fixed', {});
  await gateway.settled(String(body['job_id']));
  expect((await gateway.tree(String(body['job_id']))).map(({ plugin }) => plugin)).toEqual(['teller']);
});

test('a pipeline as the target: the body is the payload, and its first steps get type and headers', async () => {
  const { status, body } = await deliver('run', { lines: [1, 2] }, { 'X-Kind': 'sold', 'X-Id': '1' });
  expect([status, body]).toEqual([202, { job_id: expect.any(String), status: 'queued' }]);
  const run = await gateway.settled(String(body['job_id']));
  expect(run).toMatchObject({
    status: 'succeeded',
    plugin: 'pipeline',
    command: 'orders',
    submitted_by: 'webhook:run',
  });
  const event = { type: 'webhook.run', source: 'webhook:run', headers: { 'X-Kind': 'sold' } };
  expect(run.result!.result).toMatchObject([
    { ...event, payload: { item: 1, index: 0 } },
    { ...event, payload: { item: 2, index: 1 } },
    { ...event, payload: { lines: [1, 2] } },
  ]);
  const again = await deliver('run', { lines: [] }, { 'X-Id': '1' });
  expect(again.body).toEqual(body);
});

test('the topology shows a pipeline that a webhook starts, and a template as it is written', async () => {
  const { signals } = (await gateway.call('GET', '/topology')).body as { signals: { name: string }[] };
  const names = signals.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['webhook.run', 'shop.{headers.X-Kind}', 'shop.sold', 'webhook.bare']));
});

test('a pause with reject refuses deliveries to its target; without it they are taken, and wait', async () => {
  const control = (target: string, verb: string, body = {}) => gateway.call('POST', `/control/${target}/${verb}`, body);
  for (const [target, path] of [
    ['plugin/teller', 'bare'],
    ['pipeline/orders', 'run'],
  ] as const) {
    await control(target, 'pause', { reject: true });
    const refused = await deliver(path, { lines: [] }, { 'X-Id': `${path} refused` });
    expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).toEqual([503, 'paused', '60']);
    await control(target, 'pause');
    const taken = await deliver(path, { lines: [] }, { 'X-Id': `${path} taken` });
    expect(taken.status).toBe(202);
    await gateway.waiting(String(taken.body['job_id']), 'paused');
    await control(target, 'resume');
    expect((await gateway.settled(String(taken.body['job_id']))).status).toBe('succeeded');
  }
});
