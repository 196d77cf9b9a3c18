#!/usr/bin/env bash
# Counts instructions per request for each matching method in crates/engine/benches/tiers.rs. Counts
# are identical for the same binary, whatever else the machine does.
#
# usage: scripts/callgrind.sh [METHOD...]      (default: all of them)
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind > /dev/null || { echo "callgrind: install valgrind (apt-get install valgrind)" >&2; exit 1; }

ways=("$@")
[ ${#ways[@]} -gt 0 ] || ways=(plan-10 plan-40 plan-1000 plan-10000 every-regex-40 aho-corasick-40 aho-corasick-10000)
cargo bench -q -p weir-engine --profile quick --bench tiers --no-run
binary=$(cargo bench -p weir-engine --profile quick --bench tiers --no-run --message-format=json 2> /dev/null \
  | sed -n 's/.*"executable":"\([^"]*tiers[^"]*\)".*/\1/p' | tail -n 1)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

count() { # method, repetitions
  WEIR_TIER=$1 WEIR_TIMES=$2 valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "$binary" 2>&1 \
    | sed -n 's/.*Collected : \([0-9]*\)$/\1/p'
}

printf '%-20s %s\n' method 'instructions per request'
for way in "${ways[@]}"; do
  # Two runs of different length: their difference excludes start-up and compilation.
  few=$(count "$way" 100)
  many=$(count "$way" 1100)
  printf '%-20s %d\n' "$way" $(((many - few) / 1000))
done
