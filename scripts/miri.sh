#!/usr/bin/env bash
# Runs tests of code with `unsafe` under Miri, which reports undefined behaviour: see the table in docs/contributing.md for
# what is covered, and what cannot be. Everything is in target/miri.
#
#   scripts/miri.sh
set -euo pipefail
cd "$(dirname "$0")/.."
nightly=${NIGHTLY:-nightly}
cargo "+$nightly" miri --version > /dev/null 2>&1 || {
  echo "miri: installing Rust's $nightly toolchain with Miri" >&2
  rustup toolchain install "$nightly" --profile minimal --component miri,rust-src >&2
}
# Tests read the clock and the number of the process. The engine's kernel is only there with AVX2. Property tests take a
# few cases: Miri is some thousand times slower than the processor.
export CARGO_TARGET_DIR=$PWD/target/miri MIRIFLAGS=-Zmiri-disable-isolation RUSTFLAGS=-Ctarget-feature=+avx2 PROPTEST_CASES=2

# Crate, test targets, filters of tests.
runs=(
  "weir-bus|--lib|ring:: owner:: layout::"
  "weir-ledger|--lib|ledger::"
  "weir-gateway|--lib|teardown::"
  "weir-transform|--test cases|"
  "weir-engine|--lib|scan::"
)
for run in "${runs[@]}"; do
  IFS='|' read -r crate targets filters <<< "$run"
  # shellcheck disable=SC2086 # one word per target and filter
  cargo "+$nightly" miri test --quiet -p "$crate" $targets -- $filters || {
    echo "miri: FAILED: $crate" >&2
    exit 1
  }
done
# Silence would mean nothing if Miri did not see a fault: a ring that is longer than its memory.
said=$(cargo "+$nightly" miri test --quiet -p weir-bus --lib -- --ignored planted 2>&1) && {
  echo "miri: FAILED: the planted fault was not reported" >&2
  exit 1
}
grep -q "Undefined Behavior" <<< "$said" || { tail -n 20 <<< "$said" >&2; echo "miri: FAILED: no report of the planted fault" >&2; exit 1; }
echo "miri: clean: $(printf '%s ' "${runs[@]%%|*}")and the planted fault was reported"
