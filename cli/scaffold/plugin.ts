// A new plugin that works: manifest, code, and a test that passes.
import type { NewFile } from './files.ts';

export const runtimes = ['worker', 'process'] as const;
export type Runtime = (typeof runtimes)[number];

/** The files of a plugin's directory, and the command line that tests them from there. */
export type NewPlugin = { readonly files: readonly NewFile[]; readonly test: string };

export function newPlugin(name: string, runtime: Runtime): NewPlugin {
  return runtime === 'worker' ? workerPlugin(name) : processPlugin(name);
}

function manifest(name: string, runtime: Runtime, entrypoint: string): NewFile {
  const text = `manifest_spec: headgate.plugin
manifest_version: 1
name: ${name}
version: 0.1.0
protocol: 2
runtime: ${runtime}
entrypoint: ${entrypoint}
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

function workerPlugin(name: string): NewPlugin {
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
  const files = [
    manifest(name, 'worker', 'index.mjs'),
    { path: 'index.mjs', text: code },
    { path: 'index.test.mjs', text: test },
  ];
  return { files, test: 'node --test' };
}

function processPlugin(name: string): NewPlugin {
  const code = `#!/usr/bin/env python3
"""${name}: runs as one process per attempt. It reads the request from stdin, one line of JSON, and prints the response.

stderr is stored with the job.
"""

import json
import sys


def handle(request):
    name = request["event"]["payload"]["name"]
    greeting = request["config"].get("greeting", "hello")
    return {
        "status": "ok",
        "result": f"{greeting} {name}",
        "logs": [{"level": "info", "message": f"greeting {name}"}],
    }


def main():
    try:
        response = handle(json.loads(sys.stdin.buffer.readline()))
    except (ValueError, KeyError) as error:
        response = {"status": "error", "error": f"invalid request: {error!r}", "retry": False}
    # ASCII with \\u escapes is safe in every locale.
    print(json.dumps(response))


if __name__ == "__main__":
    main()
`;
  const test = `"""python3 -B -m unittest (-B leaves no cache files in the plugin)"""

import json
import pathlib
import subprocess
import sys
import unittest

import main


class Handle(unittest.TestCase):
    def test_it_greets_by_name(self):
        response = main.handle({"event": {"payload": {"name": "Ada"}}, "config": {}})
        self.assertEqual(response["result"], "hello Ada")

    def test_the_greeting_is_configured(self):
        request = {"event": {"payload": {"name": "Ada"}}, "config": {"greeting": "good morning"}}
        self.assertEqual(main.handle(request)["result"], "good morning Ada")

    def test_one_line_in_one_object_out(self):
        request = json.dumps({"event": {"payload": {"name": "Ada"}}, "config": {}}) + "\\n"
        entrypoint = pathlib.Path(__file__).with_name("main.py")
        done = subprocess.run([sys.executable, entrypoint], input=request, capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(done.stdout)["status"], "ok")


if __name__ == "__main__":
    unittest.main()
`;
  const files = [
    manifest(name, 'process', 'main.py'),
    { path: 'main.py', text: code, mode: 0o755 },
    { path: 'test_main.py', text: test },
  ];
  return { files, test: 'python3 -B -m unittest' };
}
