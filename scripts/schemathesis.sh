#!/usr/bin/env bash
# Runs Schemathesis against a running API and its own OpenAPI document: generated requests, valid and not, must meet no
# server error and no answer that the document does not describe.
#
#   scripts/schemathesis.sh WEIR [ARGUMENTS OF schemathesis run...]
set -euo pipefail
cd "$(dirname "$0")/.."
weir=$(realpath "$1")
shift

venv=.build/schemathesis
version=4.32.5
if [ ! -x "$venv/bin/schemathesis" ]; then
  echo "api-test: installing schemathesis $version into $venv"
  if ! python3 -m venv "$venv" 2>/dev/null; then
    echo "api-test: installing python3-venv"
    apt-get install -y -qq python3-venv >/dev/null
    python3 -m venv "$venv"
  fi
  "$venv/bin/pip" install -q "schemathesis==$version"
fi

dir=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
token=$("$weir" token create schemathesis --role admin --state "$dir/state" 2>/dev/null)
"$weir" --runtime "$dir/run" control --state "$dir/state" --listen "127.0.0.1:$port" 2>"$dir/log" &
control=$!
trap 'kill $control 2>/dev/null || true; wait $control 2>/dev/null || true; rm -rf "$dir"' EXIT

url=http://127.0.0.1:$port
for _ in $(seq 100); do
  curl -sf "$url/healthz" >/dev/null && break
  sleep 0.1
done

status=0
"$venv/bin/schemathesis" run "$url/openapi.json" --url "$url" \
  --header "Authorization: Bearer $token" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance \
  --exclude-path /api/v1/watch --phases examples,coverage,fuzzing,stateful --max-time "${SCHEMATHESIS_SECONDS:-120}" \
  "$@" || status=$?
if ! kill -0 $control 2>/dev/null; then
  echo "api-test: control has ended:" >&2
  tail -n 20 "$dir/log" >&2
  status=1
fi
exit $status
