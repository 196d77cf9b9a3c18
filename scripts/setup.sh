#!/usr/bin/env bash
# Installs the packages that building and testing Weir needs, on Debian.
#
#   scripts/setup.sh          nginx, its headers, libclang (for bindgen), the OWASP Core Rule Set, curl, openssl
#   scripts/setup.sh tools    also clang and libelf for weir-tools (the BPF programs)
#   scripts/setup.sh test     also LuaJIT, Lua, nginx's Lua module, Redis, Python, xz, wrk, h2load
#   scripts/setup.sh more     also what the tests of `make test-more` need
#   scripts/setup.sh bench    also the compared products and load generators of `make bench`
#   scripts/setup.sh probe    also what builds the Java probe, and the databases of its shop
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(gcc libc6-dev make nginx nginx-dev libclang-dev libpcre2-dev libssl-dev zlib1g-dev curl openssl ca-certificates
  modsecurity-crs)
[ $# = 0 ] || packages+=(clang libelf-dev)
[ $# = 0 ] || [ "$1" = tools ] ||
  packages+=(luajit2 lua5.1 libnginx-mod-http-lua redis-server python3 xz-utils wrk nghttp2-client)
if [ "${1:-}" = bench ]; then
  packages+=(dpkg-dev linux-perf haproxy libnginx-mod-http-modsecurity libnginx-mod-http-geoip2
    libmodsecurity-dev caddy mosquitto libnginx-mod-nchan nats-server)
  # Coraza needs a newer Go than Debian 12 has; without it, Coraza is not measured.
  command -v go >/dev/null || echo "setup: Go 1.25 is missing (https://go.dev/dl): Coraza will not be measured" >&2
elif [ "${1:-}" = probe ]; then
  packages+=(openjdk-17-jdk-headless maven postgresql)
elif [ "${1:-}" = more ]; then
  packages+=(chromium libnginx-mod-http-modsecurity)
elif [[ ! ${1:-test} =~ ^(test|tools)$ ]]; then
  echo "setup: unknown argument '$1'; expected 'bench', 'more', 'probe', 'test', 'tools' or no argument" >&2
  exit 2
fi

command -v dpkg-query >/dev/null || {
  echo "setup: this system is not Debian; install the equivalents of: ${packages[*]}" >&2
  exit 1
}
. scripts/packages.sh
install_packages setup "${packages[@]}"

command -v cargo >/dev/null || {
  echo "setup: cargo is missing; install Rust 1.91 or later: https://rustup.rs" >&2
  exit 1
}
scripts/nginx-source.sh
