#!/bin/bash
# Benchmark smoke: instructions that fixed pieces of work execute (callgrind), against recorded ceilings with wide slack.
# Counts hardly depend on the machine, so this catches a change of complexity where a clock on shared cores would not.
# usage: bench.sh BUILD_FOLDER   (lines of floors.txt: ceiling in millions of instructions, then the command)
set -uo pipefail
build=$1
here=$(dirname "${BASH_SOURCE[0]}")
bad=0
while read -r ceiling program arguments; do
  [[ -z "$ceiling" || "$ceiling" == \#* ]] && continue
  # shellcheck disable=SC2086  # arguments are words
  log=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/$program" $arguments 2>&1 >/dev/null) || {
    echo "$log" | tail -5
    echo "failed: $program $arguments"
    bad=1
    continue
  }
  count=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$log")
  million=$((${count:-0} / 1000000))
  verdict=ok
  if [ -z "$count" ] || [ "$million" -gt "$ceiling" ]; then verdict="OVER THE CEILING" bad=1; fi
  printf '%8d M instructions (ceiling %6d)  %s %s: %s\n' "$million" "$ceiling" "$program" "$arguments" "$verdict"
done <"$here/floors.txt"
exit $bad
