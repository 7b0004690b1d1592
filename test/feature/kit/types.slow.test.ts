// The types of headgate/plugin, as tsc sees them beside a plugin: strict, with no other package, and every example of the documents.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { blocksOf } from './page.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const pages = [
  'README.md',
  'plugins/README.md',
  ...readdirSync(join(root, 'docs')).map(name => `docs/${name}`),
  ...readdirSync(join(root, 'examples'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => `examples/${name}/README.md`),
].filter(name => name.endsWith('.md'));

const code: { readonly [language: string]: string } = {
  js: 'js',
  mjs: 'js',
  javascript: 'js',
  ts: 'ts',
  typescript: 'ts',
};
const examples = pages.flatMap(page =>
  blocksOf(new URL(`../../../${page}`, import.meta.url)).flatMap(({ language, text }, index) => {
    const extension = code[language];
    const check = extension === 'js' ? '// @ts-check\n' : '';
    return extension === undefined
      ? []
      : [[`${page.replaceAll(/[/.]/g, '-')}-${index}.${extension}`, check + text] as const];
  }),
);

/** The types on which plugin authors rely. tsc has to refuse each line below `@ts-expect-error`. */
const contract = `
import type { CommandHandler, Envelope, Handler } from 'headgate/plugin';

interface Report { readonly lines: number }

export const handle: Handler<{ name: string }, { greeting?: string }, { count: number }> = (request, { signal }) => {
  const { event, payload, config, state } = request;
  const envelope: Envelope<{ name: string }> = payload;
  const name: string = event.payload.name + envelope.payload.name;
  const greeting: string | undefined = config.greeting;
  const count: number = (state.count ?? 0) + 1;
  const report: Report = { lines: 1 };
  if (signal.aborted) return { status: 'error', error: 'too late', retry: false };
  // @ts-expect-error: the payload has no such field
  event.payload.nme;
  // @ts-expect-error: the state is empty at first
  state.count + 1;
  // @ts-expect-error: all jobs share the config
  config.greeting = 'hello';
  if (name === greeting) return { result: report };
  return { result: name, state_updates: { count } };
};

export const poll: CommandHandler<{ since: string }> = async ({ payload, ...rest }) => {
  // @ts-expect-error: handle alone has an event
  rest.event;
  return { result: payload.since };
};

export const plain: Handler = ({ event, state }) => ({ result: event.payload.text.trim(), state_updates: { n: (state.n ?? 0) + 1 } });
export const silent: Handler = () => {};

// @ts-expect-error: a state of another type
export const wrongState: Handler<object, object, { count: number }> = () => ({ state_updates: { count: 'one' } });
// @ts-expect-error: a list is no result
export const wrongResult: Handler = () => ({ result: ['one'] });
// @ts-expect-error: an error says what it is
export const wrongError: Handler = () => ({ status: 'error' });
`;

const listening = `
import type { Handler } from 'headgate/plugin';
export const handle: Handler = async (_, { signal }) => ({ result: await (await fetch('http://x/', { signal })).text() });
`;

test.each([
  ['the language alone', ['es2023'], [], { 'contract.ts': contract }],
  ['the DOM library', ['es2023', 'dom'], [], { 'contract.ts': contract, 'listening.ts': listening }],
  ['@types/node', ['es2023'], ['node'], { 'contract.ts': contract, 'listening.ts': listening }],
])('a plugin is checked with %s', (_, lib, types, files) => {
  expect(refusedBy({ lib, types }, files)).toBe('');
});

test('every example in JavaScript and TypeScript of the documents passes: strict, and without @types/node where it imports nothing of Node', () => {
  expect(examples.map(([name]) => name.replace(/-\d+\./, '.'))).toEqual(
    expect.arrayContaining(['README-md.js', 'README-md.ts', 'docs-plugins-md.js', 'docs-plugins-md.ts']),
  );
  const isOfNode = (text: string) => text.includes("from 'node:");
  const plain = examples.filter(([, text]) => !isOfNode(text));
  const others = examples.filter(([, text]) => isOfNode(text));
  expect(refusedBy({ lib: ['es2023', 'dom'], types: [] }, Object.fromEntries(plain))).toBe('');
  expect(refusedBy({ lib: ['es2023'], types: ['node'] }, Object.fromEntries(others))).toBe('');
});

/** What tsc says of the files, in a package of their own that has headgate installed. */
function refusedBy(options: object, files: { readonly [name: string]: string }): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-types-')));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(root, join(directory, 'node_modules/headgate'));
  const strict = { strict: true, noEmit: true, target: 'es2023', module: 'nodenext', skipLibCheck: false };
  const stripped = { erasableSyntaxOnly: true, verbatimModuleSyntax: true, allowJs: true, checkJs: true };
  const compilerOptions = { ...strict, ...stripped, typeRoots: [join(root, 'node_modules/@types')], ...options };
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', '*.js'] }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const { stdout, stderr } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', directory], { encoding: 'utf8' });
  return stdout + stderr;
}
