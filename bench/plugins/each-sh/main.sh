#!/bin/sh
# Answers with the number that came.
read -r request
n=${request##*'"n":'}
echo '{"status":"ok","result":{"n":'"${n%%\}*}"'}}'
