// Section 6 of sentences.ts: events, what carries them and what they start.
import { expect, test } from 'vitest';
import { openSource } from '../../feature/events/reader.ts';
import { send, sign } from '../../feature/webhooks/sender.ts';
import { shareGateway } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { hookKeys, read, settings, text, tokenOf } from './service.ts';

const gateway = shareGateway(settings);

test('GET /events streams what happens to jobs as Server-Sent Events', async () => {
  const { seen } = await openSource(gateway, '', tokenOf('events:ro'));
  const { job_id: id } = await gateway.finished('echo/handle');
  const mine = () => seen.filter(({ data }) => data['job_id'] === id);
  await until('its end is told', () => mine().some(({ type }) => type === 'job.completed'));
  expect(mine().map(({ type }) => type)).toEqual(['job.enqueued', 'job.started', 'job.completed']);
  for (const frame of mine()) expect(frame).toMatchObject({ id: text, data: { plugin: 'echo', command: 'handle' } });
});

test('a direct call of handle creates an event envelope of type api.trigger', async () => {
  const { result } = await gateway.finished('echo/handle', { a: { b: 1 } });
  expect(result!.result).toMatchObject({ type: 'api.trigger', payload: { a: { b: 1 } } });
});

test('a plugin result carries an events array', async () => {
  const spoken = await gateway.finished('speaker/handle');
  expect(spoken.result!.events).toMatchObject([{ type: 'word.said', payload: { word: 'hello' } }]);
  expect((await gateway.finished('echo/look')).result!.events).toEqual([]);
});

test('a pipeline starts from its trigger event name', async () => {
  const { job_id: id } = await gateway.finished('speaker/handle');
  const tree = await until('the pipeline has heard', async () => {
    const jobs = await gateway.tree(id);
    return jobs.some(({ plugin, status }) => plugin === 'echo' && status === 'succeeded') && jobs;
  });
  expect(tree).toMatchObject([{ plugin: 'speaker' }, { plugin: 'pipeline', command: 'hear' }, { plugin: 'echo' }]);
  expect(tree[2]!.result!.result).toMatchObject({ type: 'word.said', payload: { word: 'hello' } });
});

test('the topology lists signals with producing and consuming plugin commands', async () => {
  const { signals } = await read(gateway, '/topology', 'plugin:catalog:ro');
  const [producers, consumers] = ['speaker', 'echo'].map(plugin => [{ plugin, command: 'handle' }]);
  expect(signals).toContainEqual({ name: 'word.said', producers, consumers });
});

test('an accepted webhook enqueues a job, and sends no event out', async () => {
  const body = '{"word":"hello"}';
  const signed = { 'X-Signature': sign(hookKeys.push, body) };
  const { job_id: id } = (await send(gateway, '/webhook/push', body, signed)).body;
  const { result } = await gateway.settled(String(id));
  expect(result).toMatchObject({ result: { type: 'webhook.push', payload: JSON.parse(body) }, events: [] });
  expect(await gateway.tree(String(id))).toHaveLength(1);
});
