#!/bin/sh
# Answers with the number in the payload.
read -r request
n=${request##*'"n":'}
echo '{"status":"ok","result":{"n":'"${n%%\}*}"'}}'
