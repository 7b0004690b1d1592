// The inspector of the dependency report: size, scripts, age and bundled code of one package, whatever state it is in.
import { describe, expect, it } from 'vitest';
import { type HandleModule, importPlugin, makeRequest, makeTree, type Tree, texts } from './fixture.ts';

type InspectorModule = HandleModule & {
  inspect(root: string, item: { path: string; name?: string; version?: string | null }, now: Date): Inspection;
};
type Inspection = {
  size: { files: number; bytes: number };
  install: unknown;
  age: { newest: string; oldest: string } | null;
  bundled: unknown;
  problems: string[];
};

const { handle, inspect } = await importPlugin<InspectorModule>('dependency-report/inspector/index.mjs');
const now = new Date('2026-06-01T00:00:00Z');

/** Inspects the files as the package `p`. */
function inspectFiles(files: Tree): Inspection {
  const inPackage = Object.entries(files).map(([path, content]) => [`node_modules/p/${path}`, content] as const);
  return inspect(makeTree(Object.fromEntries(inPackage)), { path: 'node_modules/p' }, now);
}

describe('inspector', () => {
  it('answers with all it knows of the package', () => {
    const json = { name: 'p', version: '1.2.3', license: 'MIT' };
    const root = makeTree({
      'node_modules/p/package.json': json,
      'node_modules/p/LICENSE': texts.MIT,
      'node_modules/p/lib/index.js': 'x'.repeat(1000),
    });
    expect(handle(makeRequest({ root, index: 0, item: { path: 'node_modules/p' } }))).toEqual({
      result: {
        path: 'node_modules/p',
        name: 'p',
        version: '1.2.3',
        size: { files: 3, bytes: JSON.stringify(json).length + texts.MIT.length + 1000 },
        license: {
          claim: 'MIT',
          texts: [{ file: 'LICENSE', licenses: ['MIT'] }],
          verdict: 'agrees',
          effective: 'MIT',
          beyond: [],
          copyleft: null,
        },
        install: { scripts: {}, binaries: { files: 0, bytes: 0 } },
        age: {
          newest: '2021',
          oldest: '2019',
          evidence: [{ kind: 'copyright', file: 'LICENSE', newest: '2021', oldest: '2019' }],
        },
        bundled: { declared: [], vendored: [], licenses: [] },
        problems: [],
      },
    });
  });

  it('measures a package without the packages in its node_modules, and does not follow its links', () => {
    const { size, bundled } = inspectFiles({
      'package.json': '{}',
      'lib/a.js': '12345',
      'node_modules/q/package.json': '{ "name": "q" }',
      'dist/node_modules/vendored/index.js': '123',
      'dist/node_modules/@s/too/index.js': '123',
      'dist/node_modules/file.js': '1',
      'lib/circle': { linkTo: '.' + './lib' },
    });
    // A link takes as many bytes as the path that it holds.
    expect(size).toEqual({ files: 6, bytes: 2 + 5 + 3 + 3 + 1 + '../lib'.length });
    expect(bundled).toMatchObject({ vendored: ['dist/node_modules/@s/too', 'dist/node_modules/vendored'] });
  });

  it('finds install scripts, the implicit one of binding.gyp, and prebuilt addons', () => {
    const scripts = { preinstall: 'a', postinstall: 'c', prepare: 'd', test: 'e', install: 7 };
    expect(inspectFiles({ 'package.json': { scripts }, 'build/x.node': '1234', 'y.node': '12' }).install).toEqual({
      scripts: { preinstall: 'a', postinstall: 'c' },
      binaries: { files: 2, bytes: 6 },
    });
    const gyp = (json: Tree[string]) => inspectFiles({ 'package.json': json, 'binding.gyp': '' }).install;
    expect(gyp({})).toMatchObject({ scripts: { install: 'node-gyp rebuild' } });
    expect(gyp({ gypfile: false })).toMatchObject({ scripts: {} });
    expect(gyp({ scripts: { install: 'make' } })).toMatchObject({ scripts: { install: 'make' } });
  });

  it('names bundled dependencies in both spellings', () => {
    const declared = (json: Tree[string]) => inspectFiles({ 'package.json': json }).bundled;
    expect(declared({ bundledDependencies: ['b', 'a', 1] })).toMatchObject({ declared: ['a', 'b'] });
    expect(declared({ bundleDependencies: true, dependencies: { z: '1' } })).toMatchObject({ declared: ['z'] });
    expect(declared({ bundleDependencies: false })).toMatchObject({ declared: [] });
  });

  it('keeps the licenses of bundled code apart from its own', () => {
    const notice = `${texts.MIT}\n# Licenses of bundled dependencies\n\n${texts.ISC}`;
    const inspection = inspectFiles({
      'package.json': { license: 'MIT' },
      'LICENSE.md': notice,
      'ThirdPartyNotices.txt': texts['Apache-2.0'],
    });
    expect(inspection).toMatchObject({
      license: { verdict: 'agrees', texts: [{ file: 'LICENSE.md', licenses: ['MIT'] }] },
      bundled: { licenses: ['ISC', 'Apache-2.0'] },
      age: { newest: '2021' },
    });
  });

  it.each([
    ['nothing to go by', {}, null],
    ['years, ranges and short ranges', { LICENSE: 'Copyright 2012, 2015-18 A\n(c) 2009-present B' }, ['2009', '2018']],
    ['no years of the license itself', { COPYING: texts['GPL-3.0'] }, null],
    ['nothing that is still to come', { LICENSE: 'Copyright 2020 A, 2999 B' }, ['2020', '2020']],
    [
      'ISO days',
      { 'CHANGELOG.md': '## [2.0.0] - 2024-05-01\nsince 2025-01-01\n## 1.0.0 (2019-2-3)' },
      ['2019-02-03', '2024-05-01'],
    ],
    ['days in words', { History: '1.1.0 / March 4th, 2018\n\n1.0.0 / 28 February 2017' }, ['2017-02-28', '2018-03-04']],
    ['no days that are none', { 'CHANGELOG.md': '## 1.0.0 - 2024-13-01\n## 0.9.0 - Foo 1, 2020' }, null],
    ['both', { 'CHANGES.md': '# v1.0 2016-01-01', LICENSE: 'Copyright 2014 A' }, ['2014', '2016-01-01']],
  ] as const)('takes as evidence of age: %s', (_, files, expected) => {
    const { age } = inspectFiles({ 'package.json': '{}', ...files });
    expect(age && [age.oldest, age.newest]).toEqual(expected);
  });

  it.each([
    ['a package.json that is torn', { 'package.json': '{ "name": ' }, ['package.json is not valid JSON']],
    ['a package.json that is a list', { 'package.json': '[]' }, ['package.json is not an object']],
    ['a package.json that is a directory', { 'package.json/': '' }, ['package.json cannot be read (EISDIR)']],
    ['no package.json', { 'index.js': '' }, ['package.json cannot be read (ENOENT)']],
    [
      'fields of odd types',
      { 'package.json': { name: [], version: {}, license: 7, scripts: 'x' } },
      ['the license claim has an unknown form'],
    ],
    [
      'a license that leads nowhere',
      { 'package.json': '{}', LICENSE: { linkTo: 'nowhere' } },
      ['LICENSE cannot be read (ENOENT)'],
    ],
  ] as const)('reports %s, and goes on', (_, files, problems) => {
    expect(inspectFiles(files)).toMatchObject({ name: 'node_modules/p', version: null, problems });
  });

  it('reports a package that is gone, under the name that it was found by', () => {
    expect(inspect(makeTree({}), { path: 'node_modules/p', name: 'q', version: '1.0.0' }, now)).toMatchObject({
      name: 'q',
      version: '1.0.0',
      size: { files: 0, bytes: 0 },
      license: { verdict: 'none', effective: null },
      age: null,
      problems: ['package.json cannot be read (ENOENT)', 'the package cannot be listed (ENOENT)'],
    });
  });
});
