// Callers that leave while the service works on their call, before it sends anything to the ledger.
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { unpack } from '../../../runtime/packing.ts';
import { type ActionReads, countsMax, openActions } from '../../../service/actions.ts';
import { can } from './differences.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { exchange, statuses } from './raw.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.server.close());
beforeEach(() => {
  gateway.engine.submissions.length = 0;
  gateway.lines.length = 0;
});

const call = (path: string, body: string) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    'Authorization: Bearer root-token',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
const batch = (n: number) => call('/plugin/echo/handle/batch', JSON.stringify({ payloads: [{ n }] }));
const taken = () => gateway.engine.submissions.map(({ payload }) => (unpack(payload) as { n: number }).n);
const isAnswered = (text: string) => text.endsWith('}');
const left = () => gateway.lines.filter(({ status }) => status === null).length;

/** A connection that has sent this request, and what it has received. */
async function sent(request: string): Promise<{ readonly socket: Socket; text: string }> {
  const connection = { socket: connect(gateway.server.port, '127.0.0.1').on('error', () => {}), text: '' };
  onTestFinished(() => void connection.socket.destroy());
  connection.socket.on('data', data => {
    connection.text += data.toString('latin1');
  });
  await new Promise<void>(written => connection.socket.write(request, () => written()));
  return connection;
}

/** Begins a batch whose commit waits until the returned function is called, and another batch behind it. */
async function twoBatches() {
  const release = gateway.engine.hold();
  const first = await sent(batch(1));
  await expect.poll(taken).toEqual([1]);
  const second = await sent(batch(2));
  // The service has received the second batch when it answers a later request.
  await fetch(`${gateway.url}/healthz`);
  return { release, first, second };
}

test('a batch that waits for another leaves no job if its caller leaves', async () => {
  const { release, first, second } = await twoBatches();
  second.socket.destroy();
  await expect.poll(left).toBe(1);
  release();
  await expect.poll(() => statuses(first.text)).toEqual([202]);
  await sent(batch(3));
  await expect.poll(taken).toEqual([1, 3]);
});

test('a request behind a batch that waits: both are answered in order, or neither is accepted', async () => {
  const { release, first, second } = await twoBatches();
  const isInOrder = can('a pipelined request behind one with a body, in the same packet');
  second.socket.write(batch(3));
  if (!isInOrder) await expect.poll(left).toBe(1);
  release();
  await expect.poll(() => statuses(first.text)).toEqual([202]);
  if (isInOrder) await expect.poll(() => statuses(second.text)).toEqual([202, 202]);
  else expect(second.text).toBe('');
  await sent(batch(4));
  await expect.poll(taken).toEqual(isInOrder ? [1, 2, 3, 4] : [1, 4]);
});

test('a count ends when its caller leaves, and makes room for another', async () => {
  const { actions } = gateway.engine;
  onTestFinished(() => void Object.assign(gateway.engine, { actions }));
  const link = { ask: async () => ({ kind: 'moment', moment: { atUs: 1, commitUs: 1 } }) };
  let begun = 0;
  const countMatches: ActionReads['countMatches'] = (_selection, _moment, caller) => {
    if (++begun > countsMax) return Promise.resolve({ matched: 7, sample: [], commands: [], searchedUs: null });
    return new Promise(resolve => caller.onGone(() => resolve(null)));
  };
  Object.assign(gateway.engine, { actions: openActions({ link, reads: { countMatches } } as never) });
  const dryRun = call('/actions', '{"do":"cancel","where":{"plugin":"echo"},"dry_run":true}');
  const callers = await Promise.all(Array.from({ length: countsMax }, () => sent(dryRun)));
  await expect.poll(() => begun).toBe(countsMax);
  expect((await exchange(gateway.server.port, [dryRun], isAnswered)).text).toContain('"code":"too_many_reads"');
  for (const { socket } of callers) socket.destroy();
  await expect.poll(left).toBe(countsMax);
  expect((await exchange(gateway.server.port, [dryRun], isAnswered)).text).toContain('"matched":7');
  expect(gateway.faults).toEqual([]);
});

test('an action whose caller leaves while its jobs are counted is withdrawn', async () => {
  const { actions } = gateway.engine;
  onTestFinished(() => void Object.assign(gateway.engine, { actions }));
  const moment = { atUs: 1, commitUs: 1 } as never;
  const counted = { matched: 1, sample: [], commands: [], searchedUs: null, moment };
  const counts: (() => void)[] = [];
  const askers: boolean[] = [];
  const count = () => new Promise<typeof counted>(resolve => counts.push(() => resolve(counted)));
  const start: typeof actions.start = async ({ asker }) => {
    askers.push(asker.isGone);
    return { kind: 'refused', refusal: 'unavailable' };
  };
  Object.assign(gateway.engine, { actions: { ...actions, count, start } });
  const { socket } = await sent(call('/actions', '{"do":"cancel","where":{"plugin":"echo"}}'));
  await expect.poll(() => counts.length).toBe(1);
  socket.destroy();
  await expect.poll(left).toBe(1);
  counts[0]!();
  await expect.poll(() => askers).toEqual([true]);
  expect(gateway.faults).toEqual([]);
});
