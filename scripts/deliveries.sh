#!/usr/bin/env bash
# Prepares the backends of the corpus of deliveries and runs it: every attack in every delivery, through nginx with
# Weir and to Flask, Go's net/http, Express and PHP (bench/deliveries).
#
#   scripts/deliveries.sh MODULE [arguments of bench/deliveries/deliveries.py]
#
# CRS4 names a checkout of CRS 4; otherwise its release comes from the Go module that embeds it.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(realpath "$1")
shift
work=${CARGO_TARGET_DIR:-target}/deliveries
mkdir -p "$work/express"

. scripts/packages.sh
install_packages deliveries python3-flask php-cli php-xml
for program in go node npm; do
  command -v $program >/dev/null || { echo "deliveries: $program is missing" >&2; exit 1; }
done

cp bench/deliveries/backends/{package.json,express.js} "$work/express/"
[ -d "$work/express/node_modules" ] || npm install --prefix "$work/express" --no-audit --no-fund --silent
go build -C bench/deliveries/backends -o "$(realpath "$work")/go-backend" .

if [ -z "${CRS4:-}" ]; then
  embedded=$(go mod download -C bench/peers/coraza -json github.com/corazawaf/coraza-coreruleset/v4 |
    sed -n 's/.*"Dir": "\(.*\)",*/\1/p')/rules
  CRS4=$work/crs4
  mkdir -p "$CRS4"
  ln -sfn "$embedded/@owasp_crs" "$CRS4/rules"
  ln -sf "$embedded/@crs-setup.conf.example" "$CRS4/crs-setup.conf"
fi
exec python3 bench/deliveries/deliveries.py --module "$module" --work "$work" --crs4 "$CRS4" "$@"
