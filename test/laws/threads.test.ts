// The service's threads and hosts load no package that reads configuration files when they start: the main thread has read them.
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readHouse } from './house.ts';

const entries = [
  'service/ledger/thread.ts',
  'service/indexer/thread.ts',
  'service/reads/thread.ts',
  'runtime/host/process/host-main.ts',
  'runtime/host/thread/thread.ts',
];
/** Each of these packages makes a start a tenth of a second longer. */
const parsers = ['yaml', 'ajv', 'commander', 'pino', 'uWebSockets.js'];

const files = new Map(readHouse(fileURLToPath(new URL('../..', import.meta.url))).map(file => [file.path, file]));

/** Matches static imports, which are loaded with the file; imports of types and dynamic imports do not match. */
const atOnce = /^(?:import|export)\s(?!type\b)[^'";]*?['"]([^'"]+)['"]/gm;

/** The packages that the entry loads, each with the chain of imports that leads to it. */
function packagesLoadedBy(entry: string): Map<string, string> {
  const ways = new Map([[entry, entry]]);
  const packages = new Map<string, string>();
  for (const [path, way] of ways) {
    for (const [, name = ''] of files.get(path)!.text.matchAll(atOnce)) {
      const other = files.get(new URL(name, `file:///${path}`).pathname.slice(1))?.path;
      if (name.startsWith('.') && other !== undefined && !ways.has(other)) ways.set(other, `${way} > ${other}`);
      else if (!/^(\.|node:)/.test(name)) packages.set(name.split('/')[0]!, way);
    }
  }
  return packages;
}

test.each(entries)('%s loads no parser', entry => {
  const packages = packagesLoadedBy(entry);
  expect(packages.has('msgpackr')).toBe(true);
  expect([...packages].filter(([name]) => parsers.includes(name))).toEqual([]);
});

test('the main thread is seen to load them', () => {
  expect([...packagesLoadedBy('cli/start/start.ts').keys()]).toEqual(expect.arrayContaining(['yaml', 'ajv', 'pino']));
});

test('a host loads no package before it has closed what it inherited: one that leaves files open for a moment would lose them', () => {
  const packages = packagesLoadedBy('runtime/host/process/main.ts');
  expect(['msgpackr', 'koffi', 'piscina'].filter(name => packages.has(name))).toEqual([]);
});
