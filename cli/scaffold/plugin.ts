// A new working plugin: manifest, code, a sample payload, and the command line of a test that passes.
import type { NewFile } from './files.ts';
import { pythonFiles } from './python.ts';
import { typescriptFiles } from './typescript.ts';

export const runtimes = ['worker', 'typescript', 'process'] as const;
export type ScaffoldRuntime = (typeof runtimes)[number];

/** `files` are the files of the plugin's directory; `test` is the command line that tests the plugin when run in that directory. */
export type NewPlugin = { readonly files: readonly NewFile[]; readonly test: string };

export function newPlugin(name: string, runtime: ScaffoldRuntime): NewPlugin {
  const payload = { path: 'payloads/handle.json', text: '{ "name": "Ada" }\n' };
  const { head, files, test } = partsOf(name, runtime);
  return { files: [manifest(name, head), ...files, payload], test };
}

/** `head`: the manifest's lines about the runtime. */
type Parts = { readonly head: string; readonly files: readonly NewFile[]; readonly test: string };

function partsOf(name: string, runtime: ScaffoldRuntime): Parts {
  switch (runtime) {
    case 'worker':
      return { head: 'runtime: worker\nentrypoint: index.mjs', files: workerFiles(name), test: 'node --test' };
    case 'typescript':
      return {
        head: 'runtime: worker\nentrypoint: index.ts',
        files: typescriptFiles(name),
        test: 'headgate plugin test .',
      };
    case 'process':
      return {
        head: 'runtime: process\nmode: persistent\nentrypoint: main.py',
        files: pythonFiles(name),
        test: 'python3 -B -m unittest',
      };
  }
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
