// Standard Webhooks: signatures of its own library are accepted, and no others.
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { keys, send, settings } from './sender.ts';

const gateway = shareGateway(settings);
const sender = new Webhook(keys.standard);
const stranger = new Webhook(`whsec_${Buffer.from('a-key-of-somebody-else').toString('base64')}`);
const body = '{"type":"user.created","data":{"name":"Zoë"}}';

type Delivery = { id: string; at?: Date; by?: Webhook; signature?: string };
let deliveries = 0;
const nextId = () => `msg_${++deliveries}`;

function deliver({ id, at = new Date(), by = sender, signature = by.sign(id, at, body) }: Delivery, sent = body) {
  const seconds = String(Math.floor(at.getTime() / 1000));
  return send(gateway, '/webhook/std', sent, {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': signature,
  });
}

test('a delivery that the library signs is accepted, and the library accepts it too', async () => {
  const [id, at] = [nextId(), new Date()];
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': sender.sign(id, at, body),
  };
  expect(sender.verify(body, headers)).toEqual(JSON.parse(body));
  expect((await send(gateway, '/webhook/std', body, headers)).status).toBe(202);
});

test('one of several signatures is enough, and other versions are passed over', async () => {
  const [id, at] = [nextId(), new Date()];
  const right = sender.sign(id, at, body);
  const wrong = stranger.sign(id, at, body);
  expect((await deliver({ id, at, signature: `v1a,AAAA ${wrong} ${right} v2,x` })).status).toBe(202);
  for (const signature of [
    wrong,
    `${wrong} ${wrong}`,
    right.replace('v1,', 'v1a,'),
    right.slice(3),
    `${right},`,
    'v1,',
    '',
  ])
    expect([signature, (await deliver({ id: nextId(), at, signature })).status]).toEqual([signature, 403]);
});

test('id, timestamp and body are signed: none of them can be another, or missing', async () => {
  const [id, at] = [nextId(), new Date()];
  const signature = sender.sign(id, at, body);
  expect((await deliver({ id: nextId(), at, signature })).status).toBe(403);
  expect((await deliver({ id, at: new Date(at.getTime() + 2_000), signature })).status).toBe(403);
  expect((await deliver({ id, at, signature }, `${body} `)).status).toBe(403);
  const all = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signature,
  };
  for (const missing of Object.keys(all)) {
    const headers = Object.fromEntries(Object.entries(all).filter(([name]) => name !== missing));
    expect([missing, (await send(gateway, '/webhook/std', body, headers)).status]).toEqual([missing, 403]);
  }
});

test('both guards are on: a stale delivery is 403, a repeated one is answered with the first job', async () => {
  const stale = new Date(Date.now() - 10 * 60_000);
  const early = new Date(Date.now() + 10 * 60_000);
  for (const at of [stale, early]) expect((await deliver({ id: nextId(), at })).status).toBe(403);
  const id = nextId();
  const first = await deliver({ id });
  const again = await deliver({ id, at: new Date(Date.now() - 60_000) });
  expect([first.status, again.status, again.body]).toEqual([202, 202, first.body]);
});
