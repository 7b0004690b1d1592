// The page about webhooks: its configurations are right.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loaded, plugin } from '../config/sandbox.ts';
import { keys } from './sender.ts';

const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(match => match[1]!);

test('every configuration of the page loads', () => {
  const environment = { GITHUB_KEY: keys.plain, BILLING_KEY: keys.standard };
  const endpoints = blocks.flatMap(
    block => loaded({ 'config.yaml': block, ...plugin('receiver') }, environment).webhooks.endpoints,
  );
  expect(endpoints).toMatchObject([
    {
      name: 'github',
      signatureHeader: 'X-Hub-Signature-256',
      idHeader: 'X-GitHub-Delivery',
      bodyBytesMax: 25 * 2 ** 20,
    },
    { name: 'billing', scheme: 'standard-webhooks', idHeader: 'webhook-id', timestamp: { toleranceMs: 300_000 } },
  ]);
});
