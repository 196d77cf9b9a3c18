#!/usr/bin/env bash
# Checks inspectors with servers that others have written: oauth2-proxy, Istio's sample of ext_authz (on go-control-plane),
# and CrowdSec's AppSec (tests/interop/inspectors). The first run builds them, which takes about ten minutes.
#
#   scripts/interop-inspectors.sh MODULE WEIR
set -euo pipefail
cd "$(dirname "$0")/.."
module=$(realpath "$1") weir=$(realpath "$2")
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/interop/inspectors
tools=$work/bin
mkdir -p "$tools"

OAUTH2_PROXY=v7.15.6
ISTIO=v0.0.0-20260827124520-eed52ebb66ad
CROWDSEC=v1.7.3

. scripts/packages.sh
install_packages interop-inspectors curl gcc libc6-dev
for program in go nginx python3; do
  command -v $program >/dev/null || { echo "interop-inspectors: $program is missing" >&2; exit 1; }
done

# build NAME VERSION COMMAND...: once for each version
build() {
  local name=$1 version=$2
  shift 2
  [ ! -x "$tools/$name" ] || [ "$(cat "$tools/$name.version" 2>/dev/null)" != "$version" ] || return 0
  echo "interop-inspectors: building $name $version" >&2
  "$@"
  echo "$version" >"$tools/$name.version"
}

# CrowdSec's module replaces others, so it has to be the main one, and is built in a copy.
crowdsec() {
  local module=github.com/crowdsecurity/crowdsec@$CROWDSEC tags=netgo,osusergo,sqlite_omit_load_extension,no_cscli_setup source
  for source in cloudwatch docker http journalctl k8saudit kafka kinesis loki s3 syslog victorialogs; do
    tags+=,no_datasource_$source
  done
  go mod download "$module"
  rm -rf "$work/crowdsec-source"
  cp -r "$(go list -m -f '{{.Dir}}' "$module")" "$work/crowdsec-source"
  chmod -R u+w "$work/crowdsec-source"
  GOBIN=$tools nice go -C "$work/crowdsec-source" install -tags "$tags" ./cmd/crowdsec ./cmd/crowdsec-cli
}

build oauth2-proxy $OAUTH2_PROXY env GOBIN="$tools" nice go install github.com/oauth2-proxy/oauth2-proxy/v7@$OAUTH2_PROXY
build extauthz $ISTIO env GOBIN="$tools" nice go install istio.io/istio/samples/extauthz/cmd/extauthz@$ISTIO
build crowdsec-cli $CROWDSEC crowdsec
nice go -C tests/interop/inspectors/provider build -o "$tools/provider" .
exec python3 tests/interop/inspectors/inspectors.py "$module" "$weir" "$tools" "$work"
