// Deliveries while something happens to the service: a kill, a reload, a full queue, a stop.
import { expect, test } from 'vitest';
import { writeConfiguration } from '../../service/gateway/configuration.ts';
import { shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { ask, send, settings, signed, webhooks } from './sender.ts';

const busy = { ...settings, plugins: { ...settings.plugins, teller: worker }, service: { max_queue_depth: 5 } };
const gateway = shareGateway(busy);
const body = '{"a":1}';

test('a delivery id is known after kill -9, and the job that was accepted runs', async () => {
  const deliver = () => send(gateway, '/webhook/once', body, { 'X-Delivery': 'kept', ...signed(body) });
  const first = await deliver();
  await gateway.restart();
  expect(await deliver()).toMatchObject({ status: 202, body: first.body });
  expect((await gateway.settled(String(first.body['job_id']))).status).toBe('succeeded');
});

test('when the queue is full a delivery is 503 with Retry-After, but a known one is answered as before', async () => {
  const held = '{"gate":"full"}';
  const deliver = (id: string) => send(gateway, '/webhook/once', held, { 'X-Delivery': id, ...signed(held) });
  const first = await deliver('held-0');
  const taken = [first];
  for (let n = 1; n < 5; n++) taken.push(await deliver(`held-${n}`));
  expect(taken.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
  const refused = await deliver('held-5');
  expect([refused.status, refused.body['code'], refused.headers.get('Retry-After')]).toEqual([503, 'queue_full', '1']);
  expect((await deliver('held-0')).body).toEqual(first.body);
  gateway.open('full');
  // Waits for all jobs, because the next test needs room in the queue.
  for (const { body } of taken) await gateway.settled(String(body['job_id']));
  await until('there is room', async () => (await deliver('held-5')).status === 202);
});

test('while it stops, what is on its way is finished, and new deliveries are 503 or find nobody', async () => {
  const held = '{"gate":"stop"}';
  const accepted = await send(gateway, '/webhook/plain', held, signed(held));
  await gateway.noted('start', String(accepted.body['job_id']));
  gateway.signal('SIGTERM');
  await until('it takes no more', async () => {
    const late = await send(gateway, '/webhook/plain', body, signed(body)).catch(() => null);
    return late === null || late.status === 503;
  });
  gateway.open('stop');
  expect(await gateway.ended).toEqual({ status: 0, signal: null });
  await gateway.start();
  expect((await gateway.job(String(accepted.body['job_id']))).status).toBe('succeeded');
});

test('endpoints change with a reload, while deliveries go on; the address does not, and the message says so', async () => {
  const endpoints = (path: string, secret_ref: string) => [{ ...webhooks.endpoints[0]!, path, secret_ref }];
  const change = async (list: readonly object[], listen = '127.0.0.1:0') => {
    writeConfiguration(gateway.directory, { ...settings, webhooks: { listen, endpoints: list } });
    return gateway.call('POST', '/system/reload');
  };
  expect((await change(webhooks.endpoints)).status).toBe(200);
  let isOver = false;
  const seen = new Set<number>();
  const traffic = Array.from({ length: 2 }, async () => {
    while (!isOver) seen.add((await send(gateway, '/webhook/plain', body, signed(body))).status);
  });
  for (let round = 0; round < 3; round++) {
    expect((await change(endpoints('/webhook/moved', 'plain'))).status).toBe(200);
    expect((await send(gateway, '/webhook/plain', body, signed(body))).status).toBe(404);
    expect((await send(gateway, '/webhook/moved', body, signed(body))).status).toBe(202);
    expect((await change(endpoints('/webhook/plain', 'other'))).status).toBe(200);
    expect((await send(gateway, '/webhook/plain', body, signed(body))).status).toBe(403);
    expect((await change(endpoints('/webhook/plain', 'plain'))).status).toBe(200);
    expect((await send(gateway, '/webhook/plain', body, signed(body))).status).toBe(202);
  }
  isOver = true;
  await Promise.all(traffic);
  expect([...seen].filter(status => ![202, 403, 404].includes(status))).toEqual([]);
  const { body: said } = await change([], '127.0.0.1:1');
  expect(said['message']).toBe('configuration reloaded; a restart is needed for webhooks.listen');
  expect((await send(gateway, '/webhook/plain', body, signed(body))).status).toBe(404);
  expect((await ask(gateway, 'GET', '/healthz')).status).toBe(200);
});

test('with api.enabled: false nobody listens for the API, and deliveries are taken', async () => {
  const alone = await startGateway({ ...busy, api: { enabled: false } });
  expect(alone.log.find(line => line.msg === 'ready')).toMatchObject({ url: null });
  expect((await send(alone, '/webhook/plain', body, signed(body))).status).toBe(202);
  await alone.noted('end');
});
