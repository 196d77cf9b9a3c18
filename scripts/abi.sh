#!/usr/bin/env bash
# Checks that the module refuses an nginx whose structures differ at an equal version and signature: builds nginx with a
# member added to a structure, once for each row of `patches`, and runs `nginx -t` with the module that it is given.
#
#   scripts/abi.sh MODULE
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(realpath "$1")
target=target/abi

# Structure, its header, the line before which a member is added, the member that the message has to name.
patches=(
  "unpatched:src/http/ngx_http_request.h::"
  "ngx_http_headers_in_t:src/http/ngx_http_request.h:ngx_table_elt_t  *host;:ngx_http_headers_in_t.host"
  "ngx_http_request_s:src/http/ngx_http_request.h:ngx_http_headers_out_t  headers_out;:ngx_http_request_t.unparsed_uri"
  "ngx_http_upstream_conf_t:src/http/ngx_http_upstream.h:ngx_msec_t  read_timeout;:ngx_http_upstream_conf_t.read_timeout"
)

scripts/nginx-package.sh
mkdir -p $target/run
cat > $target/run/nginx.conf <<CONF
load_module $module;
pid $PWD/$target/run/nginx.pid;
events {}
http { server { listen 127.0.0.1:1; weir on; } }
CONF
failed=0
for patch in "${patches[@]}"; do
  IFS=: read -r structure header line member <<< "$patch"
  rm -rf $target/source
  cp -r "${NGINX_SOURCE_DIR:-.build/nginx-package}" $target/source
  if [ -n "$line" ]; then
    pattern=$(sed 's/[*]/[*]/g; s/  */ */g' <<< "$line")
    sed -i "0,/^ *$pattern/s//    ngx_uint_t added_by_a_fix;\n&/" "$target/source/$header"
    grep -q added_by_a_fix "$target/source/$header" || { echo "abi: $header has no line '$line'" >&2; exit 1; }
  fi
  rm -f $target/nginx/.stamp
  NGINX_SOURCE_DIR=$target/source NGINX_TARGET=$target/nginx scripts/nginx-source.sh
  make -C $target/nginx -f objs/Makefile binary > $target/make.log 2>&1 || { tail -n 20 $target/make.log >&2; exit 1; }
  said=$($target/nginx/objs/nginx -p $target/run -c "$PWD/$target/run/nginx.conf" -e stderr -t 2>&1) && status=0 || status=$?
  if [ -z "$line" ] && [ $status -eq 0 ]; then
    echo "abi: $structure: accepted"
  elif [ -n "$line" ] && [ $status -ne 0 ] && grep -q "\[emerg\].*$member is at byte" <<< "$said"; then
    echo "abi: $structure: $(grep -m1 -o "weir: .*" <<< "$said")"
  else
    failed=1
    echo "abi: $structure: FAILED, nginx -t ended with $status: $said" >&2
  fi
done
[ $failed -eq 0 ] && echo "abi: clean: the module refuses every patched nginx, and accepts the unpatched one"
exit $failed
