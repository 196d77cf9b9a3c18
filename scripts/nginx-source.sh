#!/usr/bin/env bash
# Configures nginx's sources as the installed nginx was built, so that the module is
# binary compatible with it. The result is in .build/nginx (headers in src/, the
# generated ones in objs/).
#
#   NGINX_SOURCE_DIR  sources to use instead of Debian's nginx-dev (OpenResty: bundle/nginx-*)
#   NGINX_BIN         the nginx whose configure arguments are used (default: nginx)
#   NGINX_TARGET      where to configure (default: .build/nginx)
#   NGINX_ARGUMENTS   more arguments of configure, as words of a shell
set -euo pipefail
cd "$(dirname "$0")/.."

nginx_bin=${NGINX_BIN:-$(command -v nginx || echo /usr/sbin/nginx)}
source_dir=${NGINX_SOURCE_DIR:-/usr/share/nginx/src}
target=${NGINX_TARGET:-.build/nginx}

[ -x "$nginx_bin" ] || { echo "nginx-source: no nginx at $nginx_bin; install nginx (make setup) or set NGINX_BIN" >&2; exit 1; }
[ -f "$source_dir/src/core/nginx.h" ] || { echo "nginx-source: $source_dir has no src/core/nginx.h; install nginx-dev (make setup) or set NGINX_SOURCE_DIR" >&2; exit 1; }

have=$("$nginx_bin" -v 2>&1 | sed -n 's/.*\/\([0-9][0-9.]*\).*/\1/p' | cut -d. -f1-3)
want=$(sed -n 's/.*NGINX_VERSION *"\(.*\)".*/\1/p' "$source_dir/src/core/nginx.h")
[ "$have" = "$want" ] || { echo "nginx-source: $nginx_bin is version $have, but $source_dir holds $want; the versions must be equal" >&2; exit 1; }

stamp=$( { "$nginx_bin" -V 2>&1; echo "$source_dir${NGINX_ARGUMENTS:+ $NGINX_ARGUMENTS}"; } | sha256sum | cut -d' ' -f1)
[ "$(cat "$target/.stamp" 2>/dev/null || true)" = "$stamp" ] && exit 0

echo "nginx-source: configuring nginx $want as $nginx_bin was built" >&2
rm -rf "$target"
mkdir -p "$target"
cp -r "$source_dir/auto" "$source_dir/src" "$source_dir/configure" "$target/" 2>/dev/null \
  || cp -r "$source_dir"/. "$target/"
# Third-party modules that the distribution adds are not in the sources. They do not
# change the layout of nginx's structures under --with-compat, and neither do dynamic
# modules, whose libraries would have to be installed for nothing.
arguments=$("$nginx_bin" -V 2>&1 | sed -n 's/^configure arguments: //p')
eval "set -- $arguments ${NGINX_ARGUMENTS:-}"
kept=()
for argument in "$@"; do
  case "$argument" in
    --add-module=*|--add-dynamic-module=*|--with-*_module=dynamic|--with-mail=dynamic|--with-stream=dynamic) ;;
    --with-mail_ssl_module|--with-stream*_module) ;;
    *) kept+=("$argument") ;;
  esac
done
if ! (cd "$target" && sh ./configure "${kept[@]}") > "$target/configure.log" 2>&1; then
  tail -n 20 "$target/configure.log" >&2
  echo "nginx-source: configure failed; its complete output is in $target/configure.log" >&2
  exit 1
fi
echo "$stamp" > "$target/.stamp"
