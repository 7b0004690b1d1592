// The source files obey the laws of floors.ts, and the checker detects each kind of violation.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { checkHouse, tell } from './floors.ts';
import { readHouse, sourceFile } from './house.ts';

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
const { dependencies: required, optionalDependencies: optional } = JSON.parse(manifest);
/** Packages that are part of the published bundles. */
const bundled = ['ajv', 'commander', 'croner', 'eventsource-parser', 'fastest-levenshtein', 'pino', 're2js', 'yaml'];
const dependencies = [...Object.keys({ ...required, ...optional }), ...bundled];

test('every file keeps the floors, the import rules and the habits', () => {
  const files = readHouse(fileURLToPath(new URL('../..', import.meta.url)));
  expect(files.length).toBeGreaterThan(100);
  expect(checkHouse(files, dependencies).map(tell)).toEqual([]);
});

test('a house in order has nothing to tell', () => {
  expect(
    check({ 'cli/main.ts': "import { a } from '../runtime/a.ts';", 'runtime/a.ts': 'export const a = 1;' }),
  ).toEqual([]);
});

const home = ['', 'home', 'somebody'].join('/');

test.each<[what: string, files: { [path: string]: string }, told: string]>([
  [
    'a lower floor that imports a higher one',
    { 'runtime/a.ts': "import type { B } from '../actors/job/records/job.ts';" },
    'runtime/a.ts: imports actors/job/records/job.ts: runtime/ lies below actors/',
  ],
  [
    'an import over several lines',
    { 'config/a.ts': "import {\n  a,\n  b,\n} from '../http/b.ts';" },
    'config/a.ts: imports http/b.ts: config/ lies below http/',
  ],
  [
    'a thread that is started on a higher floor',
    { 'runtime/a.ts': "new Worker(new URL('../service/ledger/thread.js', import.meta.url));" },
    'runtime/a.ts: imports service/ledger/thread.ts: runtime/ lies below service/',
  ],
  [
    'code that imports a test',
    { 'cli/a.ts': "import { b } from '../test/b.ts';" },
    'cli/a.ts: imports test/b.ts: nobody imports test/',
  ],
  [
    'code that imports a bench',
    { 'cli/a.ts': "await import('../bench/b.ts');" },
    'cli/a.ts: imports bench/b.ts: nobody imports bench/',
  ],
  [
    "the inside of another actor's folder",
    { 'actors/hub/a.ts': "import { b } from '../job/job-state.ts';" },
    'actors/hub/a.ts: imports actors/job/job-state.ts: of another actor only protocol, gauges, records and views may be imported',
  ],
  [
    'a record that needs an engine',
    { 'actors/job/records/a.ts': "import { b } from '../dispatch.ts';" },
    'actors/job/records/a.ts: imports actors/job/dispatch.ts: records import nothing but records and runtime/',
  ],
  [
    'a view that needs an engine',
    { 'actors/job/views/a.ts': "import { b } from '../dispatch.ts';" },
    'actors/job/views/a.ts: imports actors/job/dispatch.ts: views import no engine',
  ],
  [
    'a plugin thread that knows the ledger thread',
    { 'runtime/host/thread/a.ts': "import { b } from '../client/b.ts';" },
    'runtime/host/thread/a.ts: imports runtime/host/client/b.ts: host/thread/ knows nothing of the threads and processes around it',
  ],
  [
    'the service that reaches up to HTTP',
    { 'service/a.ts': "import { b } from '../http/b.ts';" },
    'service/a.ts: imports http/b.ts: service/ lies below http/',
  ],
  [
    'a second user of a heavy package',
    { 'runtime/a.ts': "import { open } from 'lmdb';", 'runtime/b.ts': "import type { X } from 'lmdb/inner';" },
    'runtime/b.ts: imports lmdb: only one file may, and runtime/a.ts does',
  ],
  [
    'a package that is not installed with it',
    { 'runtime/a.ts': "import { v4 } from 'uuid';", 'test/b.ts': "import fc from 'fast-check';" },
    'runtime/a.ts: imports uuid: it is no dependency',
  ],
  [
    'a second ajv on one floor',
    { 'config/a.ts': "import { Ajv } from 'ajv';", 'config/b.ts': "import A from 'ajv/dist/2020.js';" },
    'config/b.ts: imports ajv: only one file may, and config/a.ts does',
  ],
  [
    'a command line library below the command line',
    { 'http/a.ts': "import { Command } from 'commander';" },
    'http/a.ts: imports commander: only cli/ may',
  ],
  [
    'a cycle',
    { 'http/a.ts': "import { b } from './b.ts';", 'http/b.ts': "import { a } from './a.ts';" },
    'http/a.ts: is in a cycle of imports: http/a.ts > http/b.ts > http/a.ts',
  ],
  [
    'a barrel',
    { 'http/a.ts': "export { b } from './b.ts';\nexport * from './c.ts';\n" },
    'http/a.ts: only hands on what others export: no barrels',
  ],
  [
    'two exported types of one name',
    { 'actors/a.ts': 'export type A = 1;', 'http/b.ts': 'export class A {}' },
    'http/b.ts: exports a type A: actors/a.ts has one of that name',
  ],
  ['a default export', { 'http/a.ts': 'export default function a() {}' }, 'http/a.ts: has a default export'],
  ['an enum', { 'http/a.ts': 'export enum A { B }' }, 'http/a.ts: has an enum: use a constant list'],
  ['a vague name', { 'http/body-utils.ts': '' }, 'http/body-utils.ts: has a vague name: files are nouns of the domain'],
  ['a giant', { 'http/a.ts': '\n'.repeat(400) }, 'http/a.ts: has 401 lines: at most 400'],
  ['a print', { 'actors/a.ts': "console.log('here');" }, 'actors/a.ts: prints to the console'],
  [
    'a ledger that reads a clock which can be set',
    { 'service/ledger/a.ts': 'const nowMs = Date.now;' },
    "service/ledger/a.ts: reads a clock that can be set: use the ledger's",
  ],
  [
    'a property that the oldest Node lacks',
    { 'service/a.ts': 'const directory = entry.parentPath;' },
    'service/a.ts: reads parentPath of a directory entry: Node has it from 20.12 only',
  ],
  [
    'a path of one machine',
    { 'test/a.ts': `const a = '${home}/x';` },
    `test/a.ts: names a path of one machine: ${home}`,
  ],
])('the checker catches %s', (_, files, told) => {
  expect(check(files)).toEqual([told]);
});

test('the checker catches a file that does not say its purpose', () => {
  const told = ['http/a.ts: does not open with a comment that says its purpose'];
  expect(checkHouse([sourceFile('http/a.ts', "import './b.ts';\n// Late.\n")], dependencies).map(tell)).toEqual(told);
});

test('what stands in a template or a comment is no code', () => {
  const text = "const plugin = `\nimport { a } from '../cli/a.ts';\nconsole.log(1);\n`;\n// export default\n";
  expect(check({ 'http/a.ts': text })).toEqual([]);
});

/** Problems of files that state a purpose and then have this text. */
function check(files: { readonly [path: string]: string }): string[] {
  return checkHouse(
    Object.entries(files).map(([path, text]) => sourceFile(path, `// A part.\n${text}`)),
    dependencies,
  ).map(tell);
}
