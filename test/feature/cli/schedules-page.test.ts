// docs/schedules.md: its configurations load, and its command prints what the page says.
import { expect, test } from 'vitest';
import { loadFiles, plugin } from '../../unit/config/sandbox.ts';
import { blocksOf } from '../kit/page.ts';
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
