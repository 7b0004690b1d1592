#!/usr/bin/env python3
# Runs until a file appears; leaves a mark that says it does.
import json, os, sys, time
request = json.loads(sys.stdin.readline())
directory = request['config']['directory']
open(os.path.join(directory, 'held-' + request['job_id']), 'w').close()
while not os.path.exists(os.path.join(directory, 'open')):
    time.sleep(0.001)
print(json.dumps({'status': 'ok', 'result': {'opened': True}}))
