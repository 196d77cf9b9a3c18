#!/usr/bin/env bash
# Compares the WebSocket decoder with wsproto on generated and mutated frames, and runs the client for browsers on node
# (tests/interop/messages).
#
#   scripts/interop-messages.sh WSDECODE [STREAMS [SEED]]
set -euo pipefail
cd "$(dirname "$0")/.."
wsdecode=$(realpath "$1")
shift
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/interop/messages
mkdir -p "$work"

. scripts/packages.sh
install_packages interop-messages python3-venv
command -v node >/dev/null || { echo "interop-messages: node is missing" >&2; exit 1; }

[ -d "$work/venv" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r tests/interop/messages/requirements.txt
node tests/interop/messages/client.mjs crates/messages/client/weir-messages.js
exec "$work/venv/bin/python" tests/interop/messages/frames.py "$wsdecode" "$@"
