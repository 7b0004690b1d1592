// docs/schedules.md: its configurations load, and its commands do what the page says.
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { startGateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';
import { loadFiles, plugin } from '../../unit/config/sandbox.ts';
import { blocksOf } from '../kit/page.ts';
import { runInShell } from '../kit/shell.ts';
import { headgate } from './headgate.ts';

const blocks = blocksOf(new URL('../../../docs/schedules.md', import.meta.url));
const configurations = blocks.filter(({ name }) => name === 'config.yaml').map(({ text }) => text);

test('its configurations load without a warning', () => {
  expect(configurations).toHaveLength(2);
  for (const text of configurations) {
    const loaded = loadFiles({ 'config.yaml': text, ...plugin('greet') });
    expect(loaded).toMatchObject({ ok: true, config: { warnings: [] } });
  }
});

test('its schedules are those that the page speaks of', () => {
  const ids = configurations.map(text => {
    const loaded = loadFiles({ 'config.yaml': text, ...plugin('greet') });
    return loaded.ok && loaded.config.schedules.map(({ id }) => id);
  });
  expect(ids).toEqual([
    ['nightly', 'heartbeat', 'opening'],
    ['greet.0', 'greet.1'],
  ]);
});

test('its command prints what the page shows', async () => {
  const at = blocks.findIndex(({ language }) => language === 'sh');
  const words = blocks[at]!.text.trim()
    .match(/"[^"]*"|\S+/g)!
    .map(word => word.replaceAll('"', ''));
  const { stdout } = await headgate(words.slice(1));
  const trimmed = (text: string) => text.split('\n').map(line => line.trimEnd());
  expect(trimmed(stdout)).toEqual(trimmed(blocks[at + 1]!.text));
});

test('its commands list, pause, show, resume, run and backfill the schedule of the page', async () => {
  const { pipelines, schedules } = parse(configurations[0]!);
  const gateway = await startGateway({ plugins: { greet: echo }, pipelines, schedules });
  const said = await runInShell(gateway, blocks.find(({ name }) => name === 'control')!.text);
  expect(said).toMatch(/^nightly +active +pipeline report +30 2 \* \* \* \(Europe\/Berlin\)/m);
  expect(said).toContain('\nthe schedule nightly is paused\n');
  expect(said).toMatch(/^paused {3}by api:test since .*: the warehouse moves$/m);
  expect(said).toContain('\nthe schedule nightly is resumed\n{\n  "kind": "full",\n  "name": "full"\n}\n');
  expect(said).toMatch(/7 occurrences; already fired: 0\n$/);
});
