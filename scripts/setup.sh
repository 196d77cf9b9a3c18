#!/usr/bin/env bash
# Installs what building and testing Weir needs and this Debian machine lacks.
#
#   scripts/setup.sh          nginx, its headers, clang (for bindgen, and for what runs in the kernel),
#                             libelf, the OWASP Core Rule Set, curl, openssl; for tests: LuaJIT, nginx's
#                             Lua module, wrk
#   scripts/setup.sh bench    also the rivals and load generators of `make bench`
#
# Quick the second time: only what is missing is asked for. An nginx service that was not running
# before is not started by the installation; one that is running is left alone.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(gcc libc6-dev make nginx nginx-dev libclang-dev clang libelf-dev libpcre2-dev libssl-dev zlib1g-dev curl openssl
  ca-certificates modsecurity-crs luajit2 libnginx-mod-http-lua wrk)
if [ "${1:-}" = bench ]; then
  packages+=(dpkg-dev linux-perf nghttp2-client haproxy libnginx-mod-http-modsecurity libnginx-mod-http-geoip2
    libmodsecurity-dev caddy mosquitto)
  # Coraza needs a newer Go than Debian 12 has; without it its rows are left out.
  command -v go >/dev/null || echo "setup: there is no Go 1.25 (https://go.dev/dl): Coraza will not be measured" >&2
elif [ $# -gt 0 ]; then
  echo "setup: unknown argument '$1'; it is 'bench' or none" >&2
  exit 2
fi

command -v dpkg-query >/dev/null || {
  echo "setup: this is no Debian; install the likes of: ${packages[*]}" >&2
  exit 1
}
missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: needs root to install: ${missing[*]}" >&2; exit 1; }
    root=(sudo)
  fi
  echo "setup: installing ${missing[*]}" >&2
  # policy-rc.d keeps dpkg from starting services; one that the machine's owner has made stays.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee $policy >/dev/null
    "${root[@]}" chmod 755 $policy
    trap '"${root[@]}" rm -f $policy' EXIT
  fi
  apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120)
  "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2 || {
    "${apt[@]}" update >&2
    "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2
  }
fi

command -v cargo >/dev/null || {
  echo "setup: there is no cargo; install Rust 1.91 or later: https://rustup.rs" >&2
  exit 1
}
scripts/nginx-source.sh
