#!/bin/bash
# ./traintwin test --ci: all that a change must pass. Each step prints its name, and what it took; the first that fails
# ends the run with its name. Fast tests come early, all tests last, so that a good run ends with CTest's own summary.
# Builds in .build-ci, .build-asan, .build-tsan of the checkout.
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
  echo "== ok: $name ($((SECONDS - start)) s of $((SECONDS - began)) s)"
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

tests() {  # tests FOLDER TIMEOUT [CTEST ARGUMENTS]
  local folder=$1 timeout=$2
  shift 2
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$jobs" --timeout "$timeout" "$@"
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

gate() { .build-ci/traintwin validate --gate --quiet --threads "$jobs" | tail -40; }

export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
step "tools" tools
step "scripts parse" scripts
step "clang-format" format
step "build, warnings are errors (g++)" build ci all
step "fast tests" tests .build-ci 600 -L fast
step "accuracy gate" gate
step "benchmark smoke" bash tests/ci/bench.sh .build-ci
step "warnings are errors (clang)" clang_warnings
step "address and undefined-behaviour sanitizers: build" build asan all
step "address and undefined-behaviour sanitizers: fast tests" tests .build-asan 900 -L fast
step "address and undefined-behaviour sanitizers: fuzz replay" tests .build-asan 900 -L fuzz
step "thread sanitizer: build" build tsan test_core test_validate
step "thread sanitizer: threaded parts" fast_under .build-tsan/tests/test_core .build-tsan/tests/test_validate
echo "== all tests, after $((SECONDS - began)) s"
tests .build-ci 1200 || { echo "== FAILED: all tests (whole run $((SECONDS - began)) s)"; exit 1; }
