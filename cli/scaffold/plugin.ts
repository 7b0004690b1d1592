// A new working plugin: manifest, code, a sample payload, and the command line of a test that passes.
import type { NewFile } from './files.ts';
import { pythonFiles } from './python.ts';
import { typescriptFiles } from './typescript.ts';

/** A kind of plugin. `head`: the manifest's lines about the runtime. `test`: the command line that tests it, run in its directory. */
type Kind = { readonly head: string; readonly files: (name: string) => readonly NewFile[]; readonly test: string };

const kinds = {
  worker: { head: 'runtime: worker\nentrypoint: index.mjs', files: workerFiles, test: 'node --test' },
  typescript: {
    head: 'runtime: worker\nentrypoint: index.ts',
    files: typescriptFiles,
    test: 'headgate plugin test .',
  },
  process: {
    head: 'runtime: process\nmode: persistent\nentrypoint: main.py',
    files: pythonFiles,
    test: 'python3 -B -m unittest',
  },
} as const satisfies { readonly [runtime: string]: Kind };
export type ScaffoldRuntime = keyof typeof kinds;
export const runtimes = Object.keys(kinds);

/** The files of a plugin's directory, and the command line that tests the plugin when run in that directory. */
export function newPlugin(name: string, runtime: ScaffoldRuntime) {
  const payload = { path: 'payloads/handle.json', text: '{ "name": "Ada" }\n' };
  const { head, files, test } = kinds[runtime];
  return { files: [manifest(name, head), ...files(name), payload], test };
}

function manifest(name: string, head: string): NewFile {
  const text = `manifest_spec: headgate.plugin
manifest_version: 1
name: ${JSON.stringify(name)}
version: 0.1.0
protocol: 2
${head}
description: Greets somebody.
commands:
  - name: handle
    type: write
    description: Greet one name.
    input_schema:
      type: object
      required: [name]
      properties:
        name: { type: string, minLength: 1 }
config_keys: { optional: [greeting] }
`;
  return { path: 'manifest.yaml', text };
}

function workerFiles(name: string): NewFile[] {
  const code = `// ${name}: runs in a worker thread of the plugin host. It exports one function per command of the manifest.

/** @type {import('headgate/plugin').Handler} */
export function handle({ event, config }, { log }) {
  const { name } = event.payload;
  log('info', \`greeting \${name}\`);
  return { result: \`\${config.greeting ?? 'hello'} \${name}\` };
}
`;
  const test = `// node --test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handle } from './index.mjs';

/** The second argument that the host passes. */
function helpers() {
  const lines = [];
  const log = (level, message) => lines.push({ level, message });
  return { lines, signal: new AbortController().signal, log, span: () => () => {}, emit: () => {} };
}

test('it greets by name', () => {
  const { lines, ...rest } = helpers();
  const response = handle({ event: { payload: { name: 'Ada' } }, config: {} }, rest);
  assert.deepEqual(response, { result: 'hello Ada' });
  assert.deepEqual(lines, [{ level: 'info', message: 'greeting Ada' }]);
});

test('the greeting is configured', () => {
  const request = { event: { payload: { name: 'Ada' } }, config: { greeting: 'good morning' } };
  assert.equal(handle(request, helpers()).result, 'good morning Ada');
});
`;
  return [
    { path: 'index.mjs', text: code },
    { path: 'index.test.mjs', text: test },
  ];
}
