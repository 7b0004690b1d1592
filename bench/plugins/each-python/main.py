#!/usr/bin/env python3
"""Answers with the number in the payload."""
import json
import sys

request = json.load(sys.stdin)
json.dump({"status": "ok", "result": {"n": request["payload"]["n"]}}, sys.stdout)
