// A new process plugin in Python: one process serves many jobs.
import type { NewFile } from './files.ts';

export function pythonFiles(name: string): NewFile[] {
  const code = `#!/usr/bin/env python3
"""${name}: a process that serves many jobs. Each line of stdin is a request; its answer is one line on stdout, with the same id.

The process ends at the end of stdin. stderr is stored with the job.
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


commands = {"handle": handle}


def main():
    answers = sys.stdout
    # Everything else that prints writes to stderr: stdout carries only answers.
    sys.stdout = sys.stderr
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            response = commands[request["command"]](request)
        except Exception as error:
            # This job failed; the process serves the next one.
            response = {"status": "error", "error": f"{type(error).__name__}: {error}"}
        # ASCII with \\u escapes is safe in every locale.
        print(json.dumps({"id": request["id"], **response}), file=answers, flush=True)


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


def request_for(name, **fields):
    return {"command": "handle", "event": {"payload": {"name": name}}, "config": {}, **fields}


class Handle(unittest.TestCase):
    def test_it_greets_by_name(self):
        self.assertEqual(main.handle(request_for("Ada"))["result"], "hello Ada")

    def test_the_greeting_is_configured(self):
        request = request_for("Ada", config={"greeting": "good morning"})
        self.assertEqual(main.handle(request)["result"], "good morning Ada")

    def test_one_process_answers_each_line_with_its_id(self):
        requests = [request_for("Ada", id=1), {"command": "handle", "id": 2}, request_for("Grace", id=3)]
        entrypoint = pathlib.Path(__file__).with_name("main.py")
        lines = "".join(json.dumps(request) + "\\n" for request in requests)
        done = subprocess.run([sys.executable, entrypoint], input=lines, capture_output=True, text=True, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([answer["id"] for answer in answers], [1, 2, 3])
        self.assertEqual([answer["status"] for answer in answers], ["ok", "error", "ok"])


if __name__ == "__main__":
    unittest.main()
`;
  return [
    { path: 'main.py', text: code, mode: 0o755 },
    { path: 'test_main.py', text: test },
  ];
}
