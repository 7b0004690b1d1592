// `npm ci` works on every platform: the lock file lists the optional packages of all of them, and names no registry.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

type Locked = {
  readonly version?: string;
  readonly resolved?: string;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly license?: string;
  readonly optionalDependencies?: { readonly [name: string]: string };
};

const packages: { readonly [path: string]: Locked } = JSON.parse(
  readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8'),
).packages;

test('each optional package of a locked package is locked too, at the version that its parent asks for', () => {
  const missing = Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name, version]) => {
        const locked = packages[`${parent}/node_modules/${name}`] ?? packages[`node_modules/${name}`];
        const asked = version.replace(/^npm:.*@/, '');
        return locked?.optional !== true || (/^\d/.test(asked) && locked.version !== asked);
      })
      .map(([name]) => `${parent} > ${name}`),
  );
  expect(missing).toEqual([]);
  expect(Object.keys(packages)).toContain('node_modules/@biomejs/cli-darwin-arm64');
});

test('no locked package names the registry that it came from', () => {
  expect(Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

/** Licences of what is installed with the product: they let it be used, changed and passed on with no more than a notice. */
const allowed = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT', 'Unlicense'];

test('every package of the production tree has a licence that is allowed', () => {
  const production = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  expect(production.length).toBeGreaterThan(30);
  expect(production.filter(([, { license = '' }]) => !allowed.includes(license))).toEqual([]);
});
