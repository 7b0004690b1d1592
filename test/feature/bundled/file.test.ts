// The bundled `file`: what it reads, writes and lists, and that no path leads out of its root.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Handler, JsonObject } from '../../../runtime/host/api/plugin-api.ts';
import { call, importBundled } from './fixture.ts';

const plugin = await importBundled<{ read: Handler; write: Handler; list: Handler }>('file/index.js');
const { within } = await importBundled<{
  within<T>(
    root: string,
    names: readonly string[],
    options: { make: boolean },
    use: (directory: { at(name: string): string }) => T,
  ): T;
}>('file/directory.js');

let home = '';
let root = '';
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-file-')));
  root = join(home, 'root');
  mkdirSync(join(root, 'inner'), { recursive: true });
  mkdirSync(join(home, 'outside'));
  writeFileSync(join(home, 'outside/secret'), 'secret');
  writeFileSync(join(root, 'inner/a.txt'), 'aé');
  symlinkSync('../outside', join(root, 'way-out'));
  symlinkSync('../outside/secret', join(root, 'link'));
  symlinkSync('inner', join(root, 'way-in'));
  symlinkSync('loop', join(root, 'loop'));
});
afterEach(() => rmSync(home, { recursive: true }));

const run = async (command: keyof typeof plugin, payload: JsonObject, config: JsonObject = {}) =>
  (await call(command, plugin[command], payload as never, { config: { root, writable: true, ...config } }))
    .response as {
    error?: string;
    retry?: boolean;
    result?: { [key: string]: unknown };
  };
const outside = () => readdirSync(join(home, 'outside')).concat(readFileSync(join(home, 'outside/secret'), 'utf8'));

describe('in the root', () => {
  test('a file is read as text, or as base64 where it is none', async () => {
    expect((await run('read', { path: 'inner/a.txt' })).result).toEqual({ path: 'inner/a.txt', size: 3, text: 'aé' });
    writeFileSync(join(root, 'raw'), Buffer.from([0xff, 0x00]));
    expect((await run('read', { path: 'raw' })).result).toEqual({ path: 'raw', size: 2, base64: '/wA=' });
    writeFileSync(join(root, 'empty'), '');
    expect((await run('read', { path: 'empty' })).result).toEqual({ path: 'empty', size: 0, text: '' });
  });

  const makesUp = existsSync('/proc/self/smaps');
  test.runIf(makesUp)('a file of which the system says that it has no bytes is read whole, too', async () => {
    const { result } = await run('read', { path: 'smaps' }, { root: '/proc/self', max_bytes: 8 * 2 ** 20 });
    expect(result?.['text']).toMatch(/VmFlags:.*\n$/);
    expect(result?.['size']).toBeGreaterThan(20_000);
    const { error } = await run('read', { path: 'smaps' }, { root: '/proc/self', max_bytes: 20_000 });
    expect(error).toContain('more than 20000 bytes, which config.max_bytes allows');
  });

  test('a file is written whole, with the directories on the way, and over what was there', async () => {
    for (const text of ['one', 'two']) {
      expect((await run('write', { path: 'new/deep/b.txt', text })).result).toEqual({
        path: 'new/deep/b.txt',
        size: 3,
      });
      expect(readFileSync(join(root, 'new/deep/b.txt'), 'utf8')).toBe(text);
    }
    await run('write', { path: 'raw', base64: '/wA=' });
    expect([...readFileSync(join(root, 'raw'))]).toEqual([0xff, 0x00]);
    expect(readdirSync(join(root, 'new/deep'))).toEqual(['b.txt']);
  });

  test.each(['!!!', 'YQ==\n', 'a b c', 'YQ===', '-_-_', 'Y', 'YWFhY'])(
    'what is not base64 is not written: %j',
    async base64 => {
      expect(await run('write', { path: 'raw', base64 })).toMatchObject({ status: 'error', retry: false });
      expect(readdirSync(root)).not.toContain('raw');
    },
  );

  test('nothing is written over where overwrite is false', async () => {
    const again = await run('write', { path: 'inner/a.txt', text: 'b', overwrite: false });
    expect(again).toMatchObject({ error: 'inner/a.txt exists already', retry: false });
    expect(readFileSync(join(root, 'inner/a.txt'), 'utf8')).toBe('aé');
    expect((await run('write', { path: 'inner/b', text: 'b', overwrite: false })).result).toEqual({
      path: 'inner/b',
      size: 1,
    });
    expect(readdirSync(join(root, 'inner'))).toEqual(['a.txt', 'b']);
  });

  test('a directory is listed by name, links as links', async () => {
    const { result } = await run('list', {});
    expect(result).toEqual({
      path: '',
      entries: [
        { name: 'inner', kind: 'directory', size: expect.any(Number) },
        ...['link', 'loop', 'way-in', 'way-out'].map(name => ({ name, kind: 'link', size: expect.any(Number) })),
      ],
      is_cut: false,
    });
    expect((await run('list', { path: 'inner' })).result).toMatchObject({
      entries: [{ name: 'a.txt', kind: 'file', size: 3 }],
    });
  });

  test('nothing is written where the config does not say so', async () => {
    const error = 'config.writable must be true to write files';
    expect(await run('write', { path: 'b', text: 'b' }, { writable: false })).toEqual({
      status: 'error',
      error,
      retry: false,
    });
  });

  test('a file that is too large is not read, and not written', async () => {
    writeFileSync(join(root, 'large'), 'x'.repeat(11));
    expect((await run('read', { path: 'large' }, { max_bytes: 10 })).error).toContain(
      'more than 10 bytes, which config.max_bytes allows',
    );
    expect((await run('read', { path: 'large' }, { max_bytes: 11 })).result).toMatchObject({ size: 11 });
    expect((await run('write', { path: 'more', text: 'x'.repeat(11) }, { max_bytes: 10 })).error).toContain(
      'the content has 11 bytes',
    );
  });
});

describe('no way out', () => {
  test.each([
    '..',
    '../outside/secret',
    'inner/../../outside/secret',
    'inner/..',
    './inner/a.txt',
    'inner//a.txt',
    'inner/',
    '/etc/passwd',
    '/',
    '.',
    'inner/.',
    'inner/a.txt\0',
    'a\0/../b',
    'way-out/secret',
    'way-out',
    'link',
    'way-in/a.txt',
    'loop',
    'inner/a.txt/..',
    'inner/a.txt/x',
  ])('through %j', async path => {
    const before = outside();
    expect(await run('read', { path })).toMatchObject({ status: 'error', retry: false });
    expect(await run('list', { path })).toMatchObject({ status: 'error', retry: false });
    const written = await run('write', { path, text: 'b' });
    // A write replaces a link at the end of a path instead of following it; all other paths are refused.
    if (!['way-out', 'link', 'loop'].includes(path)) expect(written).toMatchObject({ status: 'error', retry: false });
    expect(outside()).toEqual(before);
  });

  test('through a directory that becomes a link while it is used', () => {
    const names = within(root, ['inner'], { make: false }, directory => {
      renameSync(join(root, 'inner'), join(root, 'moved'));
      symlinkSync('../outside', join(root, 'inner'));
      writeFileSync(directory.at('b'), 'b');
      return readdirSync(join(root, 'moved'));
    });
    // Only on Linux can the plugin address an open directory by its descriptor; elsewhere it uses the path.
    if (process.platform === 'linux') expect(names).toEqual(['a.txt', 'b']);
  });

  test('by a message: the root is not named', async () => {
    for (const path of ['gone', 'inner', 'way-out/secret'])
      expect((await run('read', { path })).error).not.toContain(home);
  });

  test('for what is no file: a pipe is not waited for, a directory not read', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    expect(await run('read', { path: 'pipe' })).toMatchObject({
      error: 'the path is not a regular file',
      retry: false,
    });
    expect(await run('read', { path: 'inner' })).toMatchObject({ error: 'inner is a directory', retry: false });
    expect(await run('write', { path: 'inner', text: 'b' })).toMatchObject({ status: 'error', retry: false });
    expect(readdirSync(root).filter(name => name.endsWith('.tmp'))).toEqual([]);
  });

  test('a second name of a file is a file of the root', async () => {
    linkSync(join(root, 'inner/a.txt'), join(root, 'second'));
    await run('write', { path: 'second', text: 'b' });
    expect(readFileSync(join(root, 'inner/a.txt'), 'utf8')).toBe('aé');
  });
});

test.each<[config: JsonObject, error: string]>([
  [{ root: 'relative' }, 'config.root must be the absolute path of a directory'],
  [{ root: null }, 'config.root must be the absolute path of a directory'],
  [{ max_bytes: 0 }, 'config.max_bytes must be a number of bytes from 1 to 8388608'],
])('config %j is refused', async (config, error) => {
  expect(await run('read', { path: 'a' }, config)).toEqual({ status: 'error', error, retry: false });
});

test('a root that is not there is told', async () => {
  expect(await run('list', {}, { root: join(home, 'gone') })).toMatchObject({
    error: 'the root does not exist',
    retry: false,
  });
});
