#!/usr/bin/env bash
# Checks signatures and tokens of others' clients against nginx with Weir (tests/interop).
#
#   scripts/interop.sh MODULE
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(realpath "$1")
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/interop
mkdir -p "$work"

. scripts/packages.sh
install_packages interop python3-venv
for program in node npm openssl nginx; do
  command -v $program >/dev/null || { echo "interop: $program is missing" >&2; exit 1; }
done

cp tests/interop/{requirements.txt,package.json,clients.mjs} "$work/"
[ -d "$work/venv" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r "$work/requirements.txt"
[ -d "$work/node_modules" ] || npm install --prefix "$work" --no-audit --no-fund --silent
exec "$work/venv/bin/python" tests/interop/interop.py "$module" "$work"
