#!/bin/bash
# ./traintwin test --ci: all that a change must pass, cheapest first. Each step prints its name, and what it took; the
# first that fails ends the run with its name. Builds in .build-ci, .build-asan, .build-tsan of the checkout.
set -uo pipefail
root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 2
jobs=$(nproc)
began=$SECONDS

step() {  # step NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@" || { echo "== FAILED: $name after $((SECONDS - start)) s (whole run $((SECONDS - began)) s)"; exit 1; }
  echo "== ok: $name ($((SECONDS - start)) s)"
}

tools() {
  local missing=() p
  for p in clang clang-format valgrind; do command -v $p >/dev/null || missing+=("$p"); done
  TRAINTWIN_BUILD=$root/.build-ci ./traintwin packages || return 1
  [ ${#missing[@]} -eq 0 ] && return 0
  [ "$(id -u)" -eq 0 ] || { echo "install them with: sudo apt-get install -y ${missing[*]}"; return 1; }
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -q && apt-get install -y -q --no-install-recommends "${missing[@]}"; } </dev/null >&2
}

sources() { find sim topologies workloads traces validate tests \( -name '*.cpp' -o -name '*.hpp' \) -print0 2>/dev/null | sort -z; }

format() { sources | xargs -0 clang-format --style=file --dry-run -Werror; }

scripts() { bash -n traintwin && bash -n .ci/run && bash -n tests/ci/run.sh && bash -n tests/ci/bench.sh; }

build() {  # build PRESET TARGETS...
  local preset=$1 log=.build-$1/ci-build.log
  shift
  cmake --preset "$preset" >/dev/null && cmake --build --preset "$preset" -j "$jobs" --target "$@" >"$log" 2>&1 && return 0
  tail -60 "$log"
  return 1
}

closing=()
tests() {  # tests FOLDER LABEL [TIMEOUT]
  local log=$1/ci-ctest.log code=0
  ctest --test-dir "$1" -L "$2" --output-on-failure --no-tests=error -j "$jobs" --timeout "${3:-600}" | tee "$log" || code=1
  closing+=("$1, $2: $(grep -E 'tests passed|tests failed' "$log" | tail -1)")
  return $code
}

clang_warnings() {  # our sources, as clang sees them
  sources | grep -z '\.cpp$' | xargs -0 -n 1 -P "$jobs" clang++ -std=c++20 -fsyntax-only -I. -Wall -Wextra -Wpedantic \
    -Wconversion -Wshadow -Wno-missing-field-initializers -Werror \
    -DTWIN_SOURCE_DIR='"."' -DTWIN_BINARY_DIR='"."' -DTWIN_VERSION='"0"'
}

fast_under() {  # fast_under FOLDER: the fast tests that are there, one program after the other
  local t
  for t in "$@"; do
    echo "-- $t"
    "$t" "[fast]" || return 1
  done
}

fuzz() {
  local t
  for t in .build-asan/tests/fuzz_*; do
    [ -x "$t" ] || continue
    "$t" "tests/fuzz/corpus/$(basename "$t" | sed s/^fuzz_//)" 300 || { echo "finding in $t"; return 1; }
  done
}

gate() { .build-ci/traintwin validate --gate --quiet --threads "$jobs" | tail -40; }

export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
step "tools" tools
step "scripts parse" scripts
step "clang-format" format
step "build, warnings are errors (g++)" build ci all
step "fast tests" tests .build-ci fast
step "slow tests" tests .build-ci slow 1200
step "fuzz replay" tests .build-ci fuzz
step "benchmark smoke" bash tests/ci/bench.sh .build-ci
step "accuracy gate" gate
step "warnings are errors (clang)" clang_warnings
step "address and undefined-behaviour sanitizers: build" build asan all
step "address and undefined-behaviour sanitizers: fast tests" tests .build-asan fast 900
step "address and undefined-behaviour sanitizers: fuzz replay" fuzz
step "thread sanitizer: build" build tsan test_core test_validate
step "thread sanitizer: threaded parts" fast_under .build-tsan/tests/test_core .build-tsan/tests/test_validate
printf '%s\n' "${closing[@]}"
echo "== CI passed in $((SECONDS - began)) s"
