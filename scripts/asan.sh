#!/usr/bin/env bash
# Runs the end-to-end tests with AddressSanitizer in nginx and in the module, and fails if it reports anything.
#
#   scripts/asan.sh [FILTER...]      tests whose names contain a word; default: all of them
#
# There is one runtime in the process: rustc's, which is linked into nginx; the module leaves its symbols to nginx.
# NGX_DEBUG_PALLOC has nginx allocate each piece of a pool by itself, and weir_asan keeps arenas from being reused: both
# would hide uses after the end. Everything is in target/asan. Reports are files there, whose names begin with `report`;
# their path is in the binary, because nginx hands no environment on to the binary that replaces it (USR2).
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-quick}
target=$PWD/target/asan
triple=$(rustc -vV | sed -n 's/^host: //p')
nightly=${NIGHTLY:-nightly}

# Tests that measure memory, which AddressSanitizer changes.
skipped=(
  two_hundred_sites_with_their_own_exclusions_share_the_rules # resident memory: freed memory waits in quarantine
)

rustc "+$nightly" --version > /dev/null 2>&1 || {
  echo "asan: installing Rust's $nightly toolchain" >&2
  rustup toolchain install "$nightly" --profile minimal >&2
}
runtime=$(rustc "+$nightly" --print sysroot)/lib/rustlib/$triple/lib/librustc-nightly_rt.asan.a
[ -f "$runtime" ] || { echo "asan: $runtime is missing: set NIGHTLY to a nightly toolchain of rustup" >&2; exit 1; }

mkdir -p "$target"
rm -f "$target"/report.*
# Leaks are not looked for: nginx frees nothing when a process ends.
cat > "$target/options.c" <<C
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0:abort_on_error=1:disable_coredump=1:log_path=$target/report"; }
C
clang -c -O1 -fPIC -o "$target/options.o" "$target/options.c"

[ -n "${NGINX_SOURCE_DIR:-}" ] || scripts/nginx-package.sh
# The compiler instruments (-Xclang), and its driver does not look for a runtime of its own to link.
NGINX_SOURCE_DIR=${NGINX_SOURCE_DIR:-.build/nginx-package} NGINX_TARGET=target/asan/nginx NGINX_ARGUMENTS="--with-cc=clang \
  --with-cc-opt='-g -O1 -fno-omit-frame-pointer -fPIC -Wno-error -Xclang -fsanitize=address -DNGX_DEBUG_PALLOC=1' \
  --with-ld-opt='$target/options.o -Wl,--whole-archive $runtime -Wl,--no-whole-archive -Wl,-E -lpthread -lrt -lm -ldl -lresolv'" \
  scripts/nginx-source.sh
make -C "$target/nginx" -f objs/Makefile binary > "$target/make.log" 2>&1 || {
  tail -n 20 "$target/make.log" >&2
  echo "asan: nginx could not be built; the complete output is in $target/make.log" >&2
  exit 1
}
NGINX_SOURCE_DIR=$target/nginx NGINX_BUILD_DIR=$target/nginx/objs CARGO_TARGET_DIR=$target \
  RUSTFLAGS="-Zsanitizer=address -Zexternal-clangrt -Cforce-frame-pointers=yes --cfg=weir_asan" \
  cargo "+$nightly" build --profile "$profile" --target "$triple" -p weir-nginx

arguments=("$@")
for name in "${skipped[@]}"; do arguments+=(--skip "$name"); done
status=0
export NGINX_BIN=$target/nginx/objs/nginx \
  WEIR_MODULE=$target/$triple/$profile/libngx_http_weir_module.so \
  WEIR_BIN=${WEIR_BIN:-$PWD/target/$profile/weir}
e2e=(cargo test --profile "$profile" --workspace --test e2e --)
"${e2e[@]}" "${arguments[@]}" || status=$?
"${e2e[@]}" --exact --ignored planted::memory_that_is_read_after_the_end_of_its_request_is_reported || status=$?

reports=$(find "$target" -maxdepth 1 -name 'report.*' | wc -l)
if [ "$reports" -gt 0 ]; then
  for report in "$target"/report.*; do sed -n '2,12p' "$report" >&2; done
  echo "asan: FAILED: $reports reports in $target/report.*" >&2
  exit 1
fi
[ $status -eq 0 ] || { echo "asan: no report, but tests failed" >&2; exit $status; }
echo "asan: clean: no report; skipped: ${skipped[*]}"
