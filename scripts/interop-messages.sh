#!/usr/bin/env bash
# Checks messages with clients that others have written, through a running gateway that reloads meanwhile: Chromium (by
# Playwright), the library eventsource, Python's websockets and wsproto, websocat, curl over HTTP/1.1 and HTTP/2. Then
# compares the WebSocket decoder with wsproto on generated and mutated frames, and runs the client for browsers on node
# (tests/interop/messages). What cannot be installed is said to be skipped.
#
#   scripts/interop-messages.sh MODULE WEIR WSDECODE [STREAMS [SEED]]
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(realpath "$1") weir=$(realpath "$2") wsdecode=$(realpath "$3")
shift 3
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/interop/messages
mkdir -p "$work"

WEBSOCAT=1.14.1

. scripts/packages.sh
install_packages interop-messages python3-venv curl
for program in node npm; do
  command -v $program >/dev/null || { echo "interop-messages: $program is missing" >&2; exit 1; }
done
command -v chromium >/dev/null || install_packages interop-messages chromium ||
  echo "interop-messages: Chromium could not be installed" >&2
if ! command -v websocat >/dev/null && [ ! -x "$work/tools/bin/websocat" ]; then
  echo "interop-messages: building websocat $WEBSOCAT" >&2
  nice "${CARGO:-cargo}" install --quiet --locked --root "$work/tools" --version $WEBSOCAT websocat ||
    echo "interop-messages: websocat could not be built" >&2
fi

cp tests/interop/messages/{package.json,report.mjs,browser.mjs,events.mjs} "$work/"
[ -d "$work/venv" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/messages/requirements.txt
npm install --prefix "$work" --no-audit --no-fund --silent

failed=0
"$work/venv/bin/python" tests/interop/messages/clients.py "$module" "$weir" "$work" || failed=1
node tests/interop/messages/client.mjs crates/messages/client/weir-messages.js || failed=1
"$work/venv/bin/python" tests/interop/messages/frames.py "$wsdecode" "$@" || failed=1
exit $failed
