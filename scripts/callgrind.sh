#!/usr/bin/env bash
# Counts instructions per request: for the matching methods of crates/engine/benches/tiers.rs and for requests under the Core
# Rule Set (crates/engine/benches/crs.rs). Counts are identical for the same binary, whatever else the machine does.
#
# usage: scripts/callgrind.sh [METHOD|REQUEST...]      (default: all of them; PROFILE, WEIR_LEVEL)
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind > /dev/null || { echo "callgrind: install valgrind (apt-get install valgrind)" >&2; exit 1; }

methods=(plan-10 plan-40 plan-1000 plan-10000 every-regex-40 aho-corasick-40 aho-corasick-10000)
requests=(get get-cookies form-repeated form-fresh json upload)
chosen=("$@")
[ ${#chosen[@]} -gt 0 ] || chosen=("${methods[@]}" "${requests[@]}")
profile=${PROFILE:-quick}
built() { # bench
  cargo bench -q -p weir-engine --profile "$profile" --bench "$1" --no-run >&2
  cargo bench -p weir-engine --profile "$profile" --bench "$1" --no-run --message-format=json 2> /dev/null |
    sed -n "s/.*\"executable\":\"\([^\"]*\/$1-[^\"]*\)\".*/\1/p" | tail -n 1
}
tiers=$(built tiers) crs=$(built crs)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

count() { # method or request, repetitions
  local run=("$tiers") method=$1
  [[ " ${requests[*]} " != *" $1 "* ]] || { run=("$crs" "$1"); method=; }
  WEIR_TIER=$method WEIR_TIMES=$2 valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "${run[@]}" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\)$/\1/p'
}

printf '%-20s %s\n' what 'instructions per request'
for one in "${chosen[@]}"; do
  # Two runs of different length: their difference excludes start-up and compilation.
  few=$(count "$one" 100)
  many=$(count "$one" 600)
  printf '%-20s %d\n' "$one" $(((many - few) / 500))
done
