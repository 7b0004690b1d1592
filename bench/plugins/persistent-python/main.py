#!/usr/bin/env python3
"""Answers each request with the number in its payload."""
import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"], "status": "ok", "result": {"n": request["payload"]["n"]}}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
