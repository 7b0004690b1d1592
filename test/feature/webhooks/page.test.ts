// docs/webhooks.md: its configurations are valid, and its recipe for GitHub does what it says.
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Settings } from '../../service/gateway/configuration.ts';
import { startGateway } from '../../service/gateway/gateway.ts';
import { until } from '../../service/gateway/until.ts';
import { loaded, plugin } from '../../unit/config/sandbox.ts';
import { blocksOf } from '../kit/page.ts';
import { keys, send, sign } from './sender.ts';

const page = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(match => match[1]!);

test('every configuration of the page loads', () => {
  const environment = { SHOP_KEY: keys.plain, BILLING_KEY: keys.standard };
  const endpoints = blocks.flatMap(
    block => loaded({ 'config.yaml': block, ...plugin('receiver') }, environment).webhooks.endpoints,
  );
  expect(endpoints).toMatchObject([
    { name: 'orders', pipeline: 'order-received' },
    { name: 'billing', scheme: 'standard-webhooks', idHeader: 'webhook-id', timestamp: { toleranceMs: 300_000 } },
  ]);
});

/** The example that GitHub publishes for its signatures. */
const published = {
  key: "It's a Secret to Everybody",
  body: 'Hello, World!',
  signature: 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
};

test('the recipe for GitHub: its published signature is right, and push and pull_request come to their pipelines', async () => {
  const files = blocksOf(new URL('../../../docs/webhooks.md', import.meta.url));
  const file = (name: string) => files.find(block => block.name === name)!.text;
  const config = parse(file('config.yaml')) as Settings;
  const { webhooks, pipelines } = config;
  const gateway = await startGateway({
    webhooks: webhooks!,
    pipelines: pipelines!,
    tokens: [{ name: 'github_key', key: published.key }],
    plugins: {
      github: file('plugins/github/index.mjs'),
      releaser:
        'export const handle = ({ event }) => ({ result: { type: event.type, commit: event.payload.commit } });',
    },
  });
  const deliver = (event: string, id: string, body: string, signature = `sha256=${sign(published.key, body)}`) =>
    send(gateway, '/webhook/github', body, {
      'X-GitHub-Event': event,
      'X-GitHub-Delivery': id,
      'X-Hub-Signature-256': signature,
    });
  const { body: hello, signature } = published;
  expect(page).toContain(signature);
  expect((await deliver('ping', '1', hello, signature)).body['code']).toBe('invalid_json');
  expect((await deliver('ping', '1', hello, signature.replace('757', '756'))).status).toBe(403);

  /** The results of the steps that a delivery led to. */
  const outcome = async (event: string, id: string, body: object, startsRun = true) => {
    const { body: said } = await deliver(event, id, JSON.stringify(body));
    const { job_id: received } = await gateway.settled(String(said['job_id']));
    // An event may start its run in a turn after the one that settled the job.
    const runs = await until('a run has started, if one should', async () => {
      const started = (await gateway.tree(received)).filter(({ plugin }) => plugin === 'pipeline');
      return (started.length > 0 || !startsRun) && started;
    });
    const settled = await gateway.allSettled(runs.map(({ job_id }) => job_id));
    return settled.map(({ command, result }) => [command, result?.result]);
  };
  const push = { ref: 'refs/heads/main', after: 'c0ffee' };
  expect(await outcome('push', '2', push)).toEqual([['deploy', { type: 'github.push', commit: 'c0ffee' }]]);
  const request = { action: 'opened', pull_request: { head: { sha: 'beef' } } };
  expect(await outcome('pull_request', '3', request)).toEqual([
    ['review', { type: 'github.pull_request', commit: 'beef' }],
  ]);
  const hasPrograms = ['curl', 'openssl'].every(name => spawnSync(name, ['version']).error === undefined);
  if (hasPrograms) {
    const byHand = files
      .find(({ language }) => language === 'sh')!
      .text.replace('http://127.0.0.1:8081', gateway.webhooks);
    const env = { ...process.env, GITHUB_KEY: published.key };
    const { stdout } = await promisify(execFile)('sh', ['-c', byHand], { env });
    expect(JSON.parse(stdout)).toEqual({ job_id: expect.any(String), status: 'queued' });
  }
  expect(await outcome('push', '4', { ...push, ref: 'refs/heads/other' }, false)).toEqual([]);
  expect(await outcome('ping', '5', { zen: 'Keep it logically awesome.' }, false)).toEqual([]);
});
