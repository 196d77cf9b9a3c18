#!/usr/bin/env bash
# Runs nginx's own test suite, its http part, on nginx alone and with Weir in several modes, and h2spec; writes
# bench/results/nginx-tests.json.
#
#   NGINX_TESTS=DIRECTORY scripts/nginx-tests.sh MODULE WEIR [FILE...]
#
# NGINX_TESTS is a checkout of https://github.com/nginx/nginx-tests of the time of the nginx that is installed (for 1.22:
# the last commit before 25 May 2022). Tests run as the user nobody. With FILE..., only these files, and no result is
# written. A file that fails beside others is tried again alone.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(realpath "$1") weir=$(realpath "$2")
shift 2
[ -d "${NGINX_TESTS:-}/lib/Test" ] || {
  echo "nginx-tests: NGINX_TESTS must name a checkout of https://github.com/nginx/nginx-tests" >&2
  exit 2
}
tests=$(realpath "$NGINX_TESTS")

. scripts/packages.sh
install_packages nginx-tests libio-socket-ssl-perl libcryptx-perl libscgi-perl libfcgi-perl libcache-memcached-perl \
  libgd-perl libprotocol-websocket-perl memcached jq util-linux \
  libnginx-mod-http-{perl,xslt-filter,image-filter,geoip} libnginx-mod-{mail,stream,stream-geoip}

# What the unprivileged user has to read; the checkout may be below a private directory.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$tests" "$work/tests"
cp "$module" "$work/weir.so"
cp "$weir" "$work/weir"
cp bench/nginx-tests/* "$work/"
mkdir "$work/tmp"
chmod -R a+rX "$work"
user=()
if [ "$(id -u)" -eq 0 ]; then
  chown nobody "$work/tmp"
  user=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
cd "$work/tests"
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(ls -- *.t | grep -vE '^(mail|stream)_'); fi

# run VARIANT DIRECTIVES JOBS FILE...: the output of prove.
run() {
  local name=$1 directives=$2 jobs=$3 load=
  shift 3
  [ "$name" = bare ] || load="load_module $work/weir.so;"
  [ -z "$directives" ] || directives="$directives weir_runtime %%TESTDIR%%/weir;"
  env -i PATH="$PATH" TMPDIR="$work/tmp" WEIR="$work/weir" \
    ${GATEWAY:+PERL5OPT="-I$work -MWeirGateway"} \
    TEST_NGINX_BINARY="$(command -v nginx)" TEST_NGINX_MODULES=/usr/lib/nginx/modules \
    TEST_NGINX_GLOBALS="$load" TEST_NGINX_GLOBALS_HTTP="$directives" \
    "${user[@]}" prove --merge -j "$jobs" "$@" </dev/null 2>&1 | LC_ALL=C sed -n '/^Test Summary/q;/\.\. /p' || true
}

# variant NAME DIRECTIVES: appends the counts and the names of the files that failed to the result.
variant() {
  local name=$1 directives=$2 failed
  echo "nginx-tests: $name, ${#files[@]} files" >&2
  run "$name" "$directives" $((3 * $(nproc))) "${files[@]}" >"$work/$name.log"
  mapfile -t failed < <(not_passed "$work/$name.log" "${files[@]}")
  if [ ${#failed[@]} -gt 0 ]; then
    run "$name" "$directives" 1 "${failed[@]}" >>"$work/$name.log"
    mapfile -t failed < <(not_passed "$work/$name.log" "${files[@]}")
  fi
  local skipped
  skipped=$(LC_ALL=C sed -n 's/^\([^ ]*\.t\) .*\.\. skipped:.*/\1/p' "$work/$name.log" | sort -u | wc -l)
  jq -cn --arg name "$name" --argjson skip "$skipped" --argjson all ${#files[@]} '{($name): {
    pass: ($all - $skip - ($ARGS.positional | length)), fail: ($ARGS.positional | length), skip: $skip,
    failed: $ARGS.positional}}' --args -- "${failed[@]}" >>"$work/results"
}

# not_passed LOG FILE...: the files that the log does not call passed or skipped.
not_passed() {
  local log=$1
  shift
  comm -13 <(LC_ALL=C sed -nE 's/^([^ ]*\.t) .*\.\. (ok|skipped:).*/\1/p' "$log" | LC_ALL=C sort -u) \
    <(printf '%s\n' "$@" | LC_ALL=C sort -u)
}

variant bare ''
variant weir "weir detect; weir_policy $work/detect.yaml;"
variant body "weir on; weir_policy $work/body.yaml;"
variant held "weir on; weir_bounds open; weir_policy $work/held.yaml;"
GATEWAY=1 variant gateway ''

# h2spec FILE DIRECTIVES: counts of a run against a server with static files and a proxied location.
h2spec() {
  local port=$((20000 + RANDOM % 10000))
  mkdir -p "$work/h2/html"
  echo hello >"$work/h2/html/index.html"
  cat >"$work/h2/nginx.conf" <<END
daemon off; pid $work/h2/pid; error_log $work/h2/error.log; worker_processes 1; $1
events {}
http { $2 server { listen 127.0.0.1:$port http2; root $work/h2/html; } }
END
  nginx -p "$work/h2" -c "$work/h2/nginx.conf" &
  local pid=$!
  sleep 1
  "$H2SPEC" http2 hpack generic -h 127.0.0.1 -p $port -o 3 2>&1 | grep -oE '[0-9]+ tests, [0-9]+ passed, [0-9]+ skipped, [0-9]+ failed' || true
  kill $pid && wait $pid || true
}
H2SPEC=${H2SPEC:-$OLDPWD/.build/tools/h2spec}
if [ $# -eq 0 ]; then
  [ -x "$H2SPEC" ] || {
    echo "nginx-tests: installing h2spec" >&2
    mkdir -p "$(dirname "$H2SPEC")"
    GOBIN=$(dirname "$H2SPEC") go install github.com/summerwind/h2spec/cmd/h2spec@v2.6.0 ||
      echo "nginx-tests: no h2spec; H2SPEC names a binary" >&2
  }
  if [ -x "$H2SPEC" ]; then
    for one in bare weir; do
      load='' directives=''
      [ $one = bare ] || { load="load_module $work/weir.so;"; directives="weir on; weir_policy $work/held.yaml; weir_runtime $work/h2/run;"; }
      counts=$(h2spec "$load" "$directives")
      jq -cn --arg one $one --arg counts "$counts" '{h2spec: {($one): $counts}}' >>"$work/results"
    done
  fi
fi

jq -s --argjson started "$(date +%s)" --arg commit "$(git -C "$OLDPWD" rev-parse --short HEAD 2>/dev/null || echo unknown)" \
  --arg nginx "$(nginx -v 2>&1 | sed 's,.*/,,')" --arg tests "$(git -C "$tests" rev-parse HEAD 2>/dev/null || echo unknown)" '
  reduce .[] as $one ({started: $started, commit: $commit, nginx: $nginx, nginx_tests: $tests}; . * $one)
  | .bare.failed as $bare
  | reduce ("weir", "body", "held", "gateway") as $name (.; .[$name].differs = (.[$name].failed - $bare))' \
  "$work/results" >"$work/result.json"
cd "$OLDPWD"
[ $# -gt 0 ] || cp "$work/result.json" bench/results/nginx-tests.json
jq -r 'to_entries[] | select(.value | type == "object" and has("pass"))
  | "\(.key): \(.value.pass) passed, \(.value.fail) failed, \(.value.skip) skipped" +
    (if .value.differs then ", differs from bare nginx: \(.value.differs | join(" "))" else "" end)' "$work/result.json"
jq -r '.h2spec // {} | to_entries[] | "h2spec, \(.key): \(.value)"' "$work/result.json"
