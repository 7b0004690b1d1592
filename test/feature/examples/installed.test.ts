// The dependency report on the packages installed here, compared with the lockfile from which npm installed them.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../runtime/host/api/plugin-api.ts';
import { type HandleModule, importPlugin, makeRequest, projectRoot } from './fixture.ts';

type Locked = { name?: string; version: string; license?: string; hasInstallScript?: boolean };
type Inspection = { path: string; name: string; version: string; license: { claim: string }; problems: string[] };

const finder = await importPlugin<HandleModule>('dependency-report/finder/index.mjs');
const inspector = await importPlugin<HandleModule>('dependency-report/inspector/index.mjs');
const reporter = await importPlugin<HandleModule>('dependency-report/reporter/index.mjs');

const lockfile = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8'));
// Optional packages for other systems are locked and not installed.
const locked = Object.entries(lockfile.packages as Record<string, Locked>)
  .filter(([path]) => path !== '' && existsSync(join(projectRoot, path, 'package.json')))
  .map(([path, entry]) => ({ path, entry, name: entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 13) }))
  .sort((a, b) => (a.path < b.path ? -1 : 1));

const found = finder.handle(makeRequest({ root: projectRoot })).events?.[0]?.payload as {
  root: string;
  packages: JsonObject[];
};
const inspections = found.packages.map(
  (item, index) => inspector.handle(makeRequest({ item, index, root: found.root })).result as unknown as Inspection,
);

describe('the packages installed here', () => {
  it('are found, with the names and versions that are locked', () => {
    expect(found.packages).toEqual(locked.map(({ path, name, entry }) => ({ path, name, version: entry.version })));
  });

  it('claim the licenses that the lockfile has of them, and are whole', () => {
    const claims = inspections.map(({ path, license, problems }) => ({ path, claim: license.claim, problems }));
    expect(claims).toEqual(locked.map(({ path, entry }) => ({ path, claim: entry.license, problems: [] })));
  });

  it('come together in one report', () => {
    const results = inspections as unknown as Json[];
    const { result } = reporter.handle(makeRequest({ results, succeeded: results.length, failed: 0 }));
    const versions = new Set(locked.map(({ name, entry }) => `${name}@${entry.version}`));
    const names = [...versions].map(version => version.slice(0, version.lastIndexOf('@'))).sort();
    const duplicateNames = [...new Set(names.filter((name, i) => name === names[i - 1]))];
    const scripted = locked.filter(({ entry }) => entry.hasInstallScript);
    expect(result).toMatchObject({
      totals: { packages: locked.length, failed: 0 },
      // A package installed under an alias, whose license text contradicts its claim. Other conflicts change with the packages.
      conflicts: expect.arrayContaining([
        expect.objectContaining({
          package: 'uwebsockets@3.0.6',
          verdict: 'conflicts',
          claim: 'ISC',
          texts: ['Apache-2.0'],
        }),
      ]),
      duplicates: duplicateNames.map(name => ({ name })),
      install_scripts: scripted.map(({ name, entry }) => ({ package: `${name}@${entry.version}` })),
    });
  });
});
