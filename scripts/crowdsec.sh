#!/usr/bin/env bash
# Bans and unbans with a real CrowdSec: its local API on loopback, with a database of its own, and no service.
#
#   scripts/crowdsec.sh MODULE WEIR
set -euo pipefail
cd "$(dirname "$0")/.."
export WEIR_MODULE WEIR_BIN
WEIR_MODULE=$(realpath "$1") WEIR_BIN=$(realpath "$2")
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/crowdsec
port=${CROWDSEC_PORT:-18080}
mkdir -p "$work"

# The package's own installation would start a service, so only its files are taken.
if [ ! -x "$work/root/usr/bin/crowdsec" ]; then
  (cd "$work" && apt-get download crowdsec && dpkg -x crowdsec_*.deb root)
fi
rm -rf "$work/run" && mkdir -p "$work/run/data"
cp "$work/root/etc/crowdsec/"{profiles.yaml,simulation.yaml} "$work/run/"
cat > "$work/run/config.yaml" <<END
common: {daemonize: false, log_media: stdout, log_level: warning, working_dir: .}
config_paths:
  {config_dir: $work/run, data_dir: $work/run/data, simulation_path: $work/run/simulation.yaml, hub_dir: $work/run/hub,
   index_path: $work/root/usr/share/crowdsec/hub/.index.json}
db_config: {type: sqlite, db_path: $work/run/data/crowdsec.db}
api:
  client: {credentials_path: $work/run/credentials.yaml}
  server: {listen_uri: "127.0.0.1:$port", profiles_path: $work/run/profiles.yaml}
prometheus: {enabled: false}
END
export CSCLI="$work/root/usr/bin/cscli" CROWDSEC_CONFIG="$work/run/config.yaml" CROWDSEC_URL="http://127.0.0.1:$port"
"$CSCLI" -c "$CROWDSEC_CONFIG" machines add test --auto --force --file "$work/run/credentials.yaml" --url "$CROWDSEC_URL" >/dev/null
"$work/root/usr/bin/crowdsec" -c "$CROWDSEC_CONFIG" -no-cs > "$work/run/crowdsec.log" 2>&1 &
crowdsec=$!
trap 'kill $crowdsec' EXIT
for _ in $(seq 100); do
  "$CSCLI" -c "$CROWDSEC_CONFIG" lapi status >/dev/null 2>&1 && break
  kill -0 $crowdsec || { tail "$work/run/crowdsec.log" >&2; exit 1; }
  sleep 0.1
done
"${CARGO:-cargo}" test --profile "${PROFILE:-quick}" -p weir-tests --test e2e -- --ignored --nocapture real_crowdsec
