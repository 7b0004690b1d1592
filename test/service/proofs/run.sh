#!/bin/sh
# Runs one of the long proofs by itself: run.sh FILE UNIT DEFAULT [--UNIT NUMBER], where UNIT is what the proof counts (cycles, images, ...).
file=$1 unit=$2 count=$3
shift 3
case "$#:$1:$2" in
  0::) ;;
  "2:--$unit:"[1-9]*) count=$2 ;;
  *) echo "say --$unit NUMBER, or nothing" >&2; exit 64 ;;
esac
export TEST_DEEP=1 TEST_COUNT="$count"
exec npx vitest run --project uws "$file"
