// The reporter of the dependency report: from inspected packages to the report and its lines for people.
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../runtime/host/api/plugin-api.ts';
import { type HandleModule, importPlugin, makeRequest } from './fixture.ts';

const { handle } = await importPlugin<HandleModule>('dependency-report/reporter/index.mjs');

function makeInspection(name: string, version: string | null, given: JsonObject = {}): JsonObject {
  const license = { claim: 'MIT', texts: [{ file: 'LICENSE', licenses: ['MIT'] }], verdict: 'agrees' };
  return {
    path: `node_modules/${name}`,
    name,
    version,
    size: { files: 1, bytes: 100 },
    install: { scripts: {}, binaries: { files: 0, bytes: 0 } },
    age: null,
    bundled: { declared: [], vendored: [], licenses: [] },
    problems: [],
    ...given,
    license: { ...license, effective: 'MIT', beyond: [], copyleft: null, ...(given['license'] as JsonObject) },
  };
}

const evidence = [{ kind: 'copyright', file: 'LICENSE', newest: '2011', oldest: '2010' }];
const missing = { claim: null, texts: [], effective: null };
const inspections = [
  makeInspection('zed', '1.0.0', { size: { files: 3, bytes: 5 * 1024 * 1024 } }),
  makeInspection('dup', '10.0.0', { age: { newest: '2011', oldest: '2010', evidence } }),
  makeInspection('dup', '9.0.0', { path: 'node_modules/zed/node_modules/dup' }),
  makeInspection('dup', '9.0.0', { path: 'node_modules/a/node_modules/dup' }),
  makeInspection('same', '1.0.0'),
  makeInspection('same', '1.0.0', { path: 'node_modules/a/node_modules/same' }),
  makeInspection('liar', '1.0.0', {
    license: {
      verdict: 'conflicts',
      texts: [{ file: 'COPYING', licenses: ['GPL-3.0'] }],
      beyond: ['GPL-3.0'],
      copyleft: 'strong',
    },
  }),
  makeInspection('weak', '1.0.0', { license: { claim: 'MPL-2.0', effective: 'MPL-2.0', copyleft: 'weak' } }),
  makeInspection('bare', null, {
    license: { ...missing, verdict: 'none' },
    problems: ['package.json is not valid JSON'],
  }),
  makeInspection('native', '1.0.0', {
    install: { scripts: { install: 'node-gyp rebuild' }, binaries: { files: 2, bytes: 2048 } },
    bundled: { declared: ['x'], vendored: [], licenses: ['ISC'] },
  }),
];

const report = (results: Json[], rest: JsonObject = {}, given = {}) =>
  handle(makeRequest({ results, ...rest }, given)).result as JsonObject;

describe('reporter', () => {
  it('joins inspections to one report, whatever their order', () => {
    const given = { context: { report: { root: '/project' } }, config: { list_length: 2 } };
    const made = report(inspections, { succeeded: 10, failed: 0 }, given);
    const { summary, ...facts } = made;
    expect(facts).toEqual({
      root: '/project',
      totals: { packages: 10, names: 7, failed: 0, files: 12, bytes: 5 * 1024 * 1024 + 900 },
      licenses: [
        {
          license: 'MIT',
          count: 8,
          packages: [
            'dup@10.0.0',
            'dup@9.0.0',
            'dup@9.0.0',
            'liar@1.0.0',
            'native@1.0.0',
            'same@1.0.0',
            'same@1.0.0',
            'zed@1.0.0',
          ],
        },
        { license: 'MPL-2.0', count: 1, packages: ['weak@1.0.0'] },
        { license: 'none', count: 1, packages: ['bare'] },
      ],
      conflicts: [
        { package: 'liar@1.0.0', path: 'node_modules/liar', verdict: 'conflicts', claim: 'MIT', texts: ['GPL-3.0'] },
      ],
      missing: [{ package: 'bare', path: 'node_modules/bare', verdict: 'none', claim: null }],
      copyleft: [
        { package: 'liar@1.0.0', license: 'MIT AND GPL-3.0', strength: 'strong' },
        { package: 'weak@1.0.0', license: 'MPL-2.0', strength: 'weak' },
      ],
      largest: [
        { package: 'zed@1.0.0', path: 'node_modules/zed', bytes: 5 * 1024 * 1024, files: 3 },
        { package: 'bare', path: 'node_modules/bare', bytes: 100, files: 1 },
      ],
      duplicates: [
        {
          name: 'dup',
          versions: [
            { version: '9.0.0', paths: ['node_modules/a/node_modules/dup', 'node_modules/zed/node_modules/dup'] },
            { version: '10.0.0', paths: ['node_modules/dup'] },
          ],
        },
      ],
      install_scripts: [{ package: 'native@1.0.0', scripts: { install: 'node-gyp rebuild' } }],
      binaries: [{ package: 'native@1.0.0', files: 2, bytes: 2048 }],
      oldest: [{ package: 'dup@10.0.0', newest: '2011', evidence: 'copyright in LICENSE' }],
      bundled: [{ package: 'native@1.0.0', declared: ['x'], vendored: [], licenses: ['ISC'] }],
      problems: [{ package: 'bare', problems: ['package.json is not valid JSON'] }],
    });
    expect(report([...inspections].reverse(), { failed: 0 }, given)).toEqual(made);
  });

  it('says the same in some lines for people', () => {
    const given = { context: { report: { root: '/project' } }, config: { list_length: 2 } };
    expect(report(inspections, { failed: 3 }, given)['summary']).toBe(
      `10 packages (7 names) under /project: 12 files, 5.0 MB
Not inspected: 3
Licenses: MIT 8, MPL-2.0 1, none 1
License conflicts: 1
  liar@1.0.0 claims MIT, its text is GPL-3.0
License missing or unknown: 1
  bare: claims no license and has no license text
Copyleft: 2
  liar@1.0.0: MIT AND GPL-3.0 (strong)
  weak@1.0.0: MPL-2.0 (weak)
Largest:
  zed@1.0.0: 5.0 MB
  bare: 100 B
In several versions: 1
  dup: 9.0.0, 10.0.0
Install scripts: 1
  native@1.0.0: node-gyp rebuild
Oldest:
  dup@10.0.0: 2011 (copyright in LICENSE)`,
    );
  });

  it('cuts long lists in the lines for people, and says by how much', () => {
    const many = Array.from({ length: 7 }, (_, i) =>
      makeInspection(`p${i}`, '1.0.0', { license: { ...missing, claim: 'ISC', verdict: 'no_text' } }),
    );
    const lines = String(report(many)['summary']).split('\n');
    const at = lines.indexOf('License missing or unknown: 7');
    expect(lines.slice(at + 1, at + 7)).toEqual([
      ...[0, 1, 2, 3, 4].map(i => `  p${i}@1.0.0: claims ISC but has no license text`),
      '  and 2 more',
    ]);
  });

  it('reports nothing of nothing', () => {
    expect(report([], { succeeded: 0, failed: 0 })).toMatchObject({
      root: null,
      totals: { packages: 0, names: 0, failed: 0, files: 0, bytes: 0 },
      licenses: [],
      largest: [],
    });
    expect(report([])['summary']).toMatch(/^0 packages \(0 names\): 0 files, 0 B\nLicenses: none\n/);
  });

  it('counts the errors of a join as packages that were not inspected', () => {
    const results = [makeInspection('a', '1.0.0'), { error: 'timed out' }, 'lost', null];
    expect(report(results)).toMatchObject({ totals: { packages: 1, failed: 3 } });
    expect(report(results, { succeeded: 1, failed: 3 })).toMatchObject({ totals: { packages: 1, failed: 3 } });
  });
});
