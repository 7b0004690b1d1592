#!/usr/bin/env python3
# Creates a file that marks the job as waiting, and blocks until another file appears.
import json, os, sys, time
request = json.loads(sys.stdin.readline())
directory = request['config']['directory']
open(os.path.join(directory, 'held-' + request['job_id']), 'w').close()
while not os.path.exists(os.path.join(directory, 'open')):
    time.sleep(0.001)
print(json.dumps({'status': 'ok', 'result': {'opened': True}}))
