// The finder of the dependency report: what counts as an installed package.
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type HandleModule, importPlugin, makeRequest, makeTree } from './fixture.ts';

type Found = { path: string; name: string; version: string | null };
type FinderModule = HandleModule & { findPackages(root: string): Found[] };

const { handle, findPackages } = await importPlugin<FinderModule>('dependency-report/finder/index.mjs');

const named = (name: string, version = '1.0.0') => ({ name, version });
const paths = (root: string): string[] => findPackages(root).map(({ path }) => path);

describe('finder', () => {
  it('lists plain, scoped and nested packages by path, in one event', () => {
    const root = makeTree({
      'node_modules/b/package.json': named('b', '2.0.0'),
      'node_modules/b/node_modules/a/package.json': named('a', '0.9.0'),
      'node_modules/@s/c/package.json': named('@s/c', '3.0.0-rc.1'),
      'node_modules/a/package.json': named('a'),
    });
    expect(handle(makeRequest({ root }))).toEqual({
      result: `found 4 packages under ${root}`,
      events: [
        {
          type: 'packages.found',
          payload: {
            root,
            packages: [
              { path: 'node_modules/@s/c', name: '@s/c', version: '3.0.0-rc.1' },
              { path: 'node_modules/a', name: 'a', version: '1.0.0' },
              { path: 'node_modules/b', name: 'b', version: '2.0.0' },
              { path: 'node_modules/b/node_modules/a', name: 'a', version: '0.9.0' },
            ],
          },
        },
      ],
    });
  });

  it('passes over what is no package, and looks below it', () => {
    const root = makeTree({
      'node_modules/.bin/tool/package.json': named('tool'),
      'node_modules/.cache/x/package.json': named('x'),
      'node_modules/.package-lock.json': {},
      'node_modules/file.js': '',
      'node_modules/@empty/': '',
      'node_modules/left/node_modules/over/package.json': named('over'),
      'node_modules/a/test/fixtures/node_modules/fake/package.json': named('fake'),
      'node_modules/a/package.json': named('a'),
    });
    expect(paths(root)).toEqual(['node_modules/a', 'node_modules/left/node_modules/over']);
  });

  it('lists a package whose package.json is broken under the name of its directory', () => {
    const root = makeTree({
      'node_modules/@s/torn/package.json': '{ "name": "@s/to',
      'node_modules/closed/package.json/': '',
      'node_modules/list/package.json': '[]',
      'node_modules/null/package.json': 'null',
      'node_modules/odd/package.json': { name: 7, version: '' },
      'node_modules/bom/package.json': '\uFEFF{ "name": "with-bom", "version": "1.0.0" }',
    });
    expect(findPackages(root)).toEqual([
      { path: 'node_modules/@s/torn', name: '@s/torn', version: null },
      { path: 'node_modules/bom', name: 'with-bom', version: '1.0.0' },
      { path: 'node_modules/closed', name: 'closed', version: null },
      { path: 'node_modules/list', name: 'list', version: null },
      { path: 'node_modules/null', name: 'null', version: null },
      { path: 'node_modules/odd', name: 'odd', version: null },
    ]);
  });

  it('follows each link once: circles end, and the shortest path of a package counts', () => {
    const root = makeTree({
      'node_modules/a/package.json': named('a'),
      'node_modules/a/node_modules/self': { linkTo: '..' + '/../../a' },
      'node_modules/a/node_modules/work': { linkTo: '../../../work' },
      'node_modules/round': { linkTo: 'round' },
      'node_modules/gone': { linkTo: './nowhere' },
      'node_modules/top': { linkTo: '..' },
      'node_modules/zwork': { linkTo: '../work' },
      'package.json': named('project'),
      'work/package.json': named('work'),
      'work/node_modules/inner/package.json': named('inner'),
      'work/node_modules/back': { linkTo: '../../node_modules/a' },
    });
    expect(paths(root)).toEqual(['node_modules/a', 'node_modules/zwork', 'node_modules/zwork/node_modules/inner']);
  });

  it('reads the virtual store of pnpm', () => {
    const root = makeTree({
      'node_modules/a': { linkTo: '.pnpm/a@1.0.0/node_modules/a' },
      'node_modules/.pnpm/a@1.0.0/node_modules/a/package.json': named('a'),
      'node_modules/.pnpm/a@1.0.0/node_modules/b': { linkTo: '../../b@2.0.0/node_modules/b' },
      'node_modules/.pnpm/b@2.0.0/node_modules/b/package.json': named('b', '2.0.0'),
      'node_modules/.pnpm/b@2.0.0/node_modules/a': { linkTo: '../../a@1.0.0/node_modules/a' },
    });
    const found = findPackages(root).map(({ name, version }) => `${name}@${version}`);
    expect(found.sort()).toEqual(['a@1.0.0', 'b@2.0.0']);
  });

  it('takes the root of the call, else that of its config, else the working directory', () => {
    const root = makeTree({ 'one/node_modules/a/package.json': named('a'), 'two/': '' });
    const said = (payload: { root?: string }, config = {}) => handle(makeRequest(payload, { config })).result;
    const one = join(root, 'one');
    const two = join(root, 'two');
    expect(said({ root: two }, { root: one })).toBe(`found 0 packages under ${two}`);
    expect(said({}, { root: one })).toBe(`found 1 packages under ${one}`);
    expect(said({ root: relative(process.cwd(), one) })).toBe(`found 1 packages under ${one}`);
    expect(said({})).toMatch(`packages under ${process.cwd()}`);
  });

  it('emits an empty list where nothing is installed', () => {
    const root = makeTree({ 'index.js': '' });
    expect(handle(makeRequest({ root })).events).toEqual([{ type: 'packages.found', payload: { root, packages: [] } }]);
  });

  it('fails for good when the root is not a directory', () => {
    const root = makeTree({ file: '' });
    for (const wrong of [join(root, 'missing'), join(root, 'file')]) {
      const error = `root: ${wrong} is not a directory that can be read`;
      expect(handle(makeRequest({ root: wrong }))).toEqual({ status: 'error', error, retry: false });
    }
  });
});
