#!/bin/sh
# Runs every fuzz target (or the given ones) for FUZZ_SECONDS each, on the stable toolchain.
#
#   FUZZ_SECONDS=60 scripts/fuzz.sh [TARGET...]
#
# libFuzzer needs coverage counters in the code, which rustc generates with code generation flags
# alone, so neither a nightly compiler nor cargo-fuzz is needed. Memory sanitizers
# are omitted: the parsers have no unsafe code. New inputs are kept in fuzz/corpus/TARGET. A
# crash leaves its input in fuzz/artifacts/TARGET, and the exit status is 1.
set -u
cd "$(dirname "$0")/.." || exit 2

seconds=${FUZZ_SECONDS:-60}
target_dir=${CARGO_TARGET_DIR:-fuzz/target}/fuzz
triple=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags="$flags -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags="$flags -Cllvm-args=-sanitizer-coverage-trace-compares -Cllvm-args=-simplifycfg-branch-fold-threshold=0"

[ $# -gt 0 ] || set -- $(cd fuzz/fuzz_targets && ls ./*.rs | sed 's|^\./||; s|\.rs$||')

bins=""
for target in "$@"; do bins="$bins --bin $target"; done
# With --target, the flags do not apply to build scripts and macros.
# shellcheck disable=SC2086 # one word per option
RUSTFLAGS="$flags" CARGO_TARGET_DIR="$target_dir" \
    cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target "$triple" $bins || exit 2

status=0
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
for target in "$@"; do
    mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target" "fuzz/seeds/$target"
    if "$target_dir/$triple/release/$target" "fuzz/corpus/$target" "fuzz/seeds/$target" \
        -artifact_prefix="fuzz/artifacts/$target/" -max_total_time="$seconds" \
        -max_len=8192 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "fuzz $target: clean, $seconds s, $runs runs, $(find "fuzz/corpus/$target" -type f | wc -l) inputs kept"
    else
        status=1
        tail -n 40 "$log"
        echo "fuzz $target: FAILED, the input is in fuzz/artifacts/$target"
    fi
done
exit $status
