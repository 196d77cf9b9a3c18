#!/usr/bin/env bash
# Runs the tests of `make conformance` once the module and the bench are built: the SecLang vectors of each crate that has
# some, then CRS's regression cases on nginx. The last line sums both up.
#
#   scripts/conformance.sh WEIR_BENCH [PROFILE] [arguments of `weir-bench conformance`]
#
# A test program tests/vectors.rs prints lines that end in "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
bench=$1
profile=${2:-quick}
shift "$(($# < 2 ? $# : 2))"
export CRS_TESTS=${CRS_TESTS:-$PWD/../shared/crs-3.3.4}
output=$(mktemp)
trap 'rm -f "$output"' EXIT
status=0

for crate in transform detect engine; do
  echo "language vectors of weir-$crate"
  "${CARGO:-cargo}" test --quiet --profile "$profile" -p "weir-$crate" --test vectors -- --nocapture 2>&1 |
    tee -a "$output" || status=1
done

# A checkout of CRS has rules of its own, which have to load as they are.
if [ -d "$CRS_TESTS/rules" ]; then
  for crate in rules policy; do
    CRS_PATH=$CRS_TESTS "${CARGO:-cargo}" test --quiet --profile "$profile" -p "weir-$crate" -- --ignored any_checkout || status=1
  done
fi

# CRS 4's cases need the origin that they were written for. It is a Go program.
if [ -d "$CRS_TESTS/tests/regression/tests" ] && [ -z "${ALBEDO:-}" ]; then
  tools=$PWD/.build/tools
  [ -x "$tools/albedo" ] || { echo "conformance: installing albedo" >&2; go build -C bench/peers/albedo -o "$tools/albedo" github.com/coreruleset/albedo || status=1; }
  export ALBEDO=$tools/albedo
fi
"$bench" conformance "$@" | tee -a "$output" || status=1

# cargo's own counts refer to test functions, not to vectors.
grep -v '^test result:' "$output" | grep -oE '[0-9]+ passed, [0-9]+ failed' | awk '
  { passed += $1; failed += $3 }
  END { printf "\n%d passed, %d failed\n", passed, failed }'
exit $status
