#!/usr/bin/env bash
# Starts the shop behind Weir, with the probe in each of its three JVMs, and says how to send it shadow (load-test)
# traffic and where that ends up. Ctrl-C stops everything.
#
#   scripts/run-probe.sh WEIR          WEIR_PORT (8080), WEIR_KAFKA=1 for a broker, WEIR_PROBE_JAR for another probe (or none)
#   scripts/run-probe.sh WEIR check    places a business and a shadow order, looks where they ended up, and stops everything
set -euo pipefail
cd "$(dirname "$0")/.."
weir=$(realpath "$1") port=${WEIR_PORT:-8080}
. scripts/port.sh
dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")/probe
shop=$PWD/probe/shop/target/shop.jar probe=${WEIR_PROBE_JAR-$PWD/probe/agent/target/weir-probe.jar}
mkdir -p "$dir"
exec 9>"$dir.lock"
flock -n 9 || { echo "run-probe: another one runs in this clone, or its JVMs are still stopping" >&2; exit 1; }
! (: </dev/tcp/127.0.0.1/$port) 2>/dev/null || { echo "run-probe: port $port is taken; choose another: WEIR_PORT=8090 make run-probe" >&2; exit 1; }
rm -rf "$dir" && mkdir -p "$dir/run"

children=() names=()
start() { # NAME COMMAND...
  names+=("$1")
  setpriv --pdeathsig TERM "${@:2}" >"$dir/$1.out" 2>&1 &
  children+=($!) pid=$!
}
stop() {
  trap - EXIT INT TERM
  kill "${children[@]}" 2>/dev/null || true
  wait
}
trap stop EXIT
trap 'exit 0' INT TERM

wait_for() { # SECONDS NAME PID COMMAND...
  local end=$((SECONDS + $1)) name=$2 pid=$3
  shift 3
  until "$@" 2>/dev/null; do
    if ! kill -0 "$pid" 2>/dev/null || [ $SECONDS -ge $end ]; then
      echo "run-probe: $name did not start; see $dir/$name.out" >&2
      tail -n 5 "$dir/$name.out" >&2
      exit 1
    fi
    sleep 0.2
  done
}
listens() { : </dev/tcp/127.0.0.1/$1; }

[ ! -e probe/pom.xml ] || [ -n "${WEIR_PROBE_JAR+set}" ] || mvn -q -B -Dstyle.color=never -f probe -DskipTests package
[ -e "$probe" ] || probe=
[ "$shop" -nt probe/shop/pom.xml ] && [ -z "$(find probe/shop/src -newer "$shop" -print -quit)" ] ||
  mvn -q -B -Dstyle.color=never -f probe/shop package

start stores probe/shop/stores.sh "$dir/stores"
wait_for 60 stores $pid test -e "$dir/stores/stores.env"
. "$dir/stores/stores.env"
db="jdbc:postgresql://127.0.0.1:$PG_PORT/"
export ORDER_PORT=$(free_port) STOCK_PORT=$(free_port) SHOP_REDIS=redis://127.0.0.1:$REDIS_PORT
export SHOP_DB="${db}shop?user=shop" WEIR_PROBE_DIR=$dir/run WEIR_PROBE_CONFIG=$dir/probe.json
gateway=$(free_port)

if [ "${WEIR_KAFKA:-0}" = 1 ]; then
  broker=$(free_port) jars=$(scripts/kafka-jars.sh)
  controller=$(free_port)
  cat >"$dir/kafka.properties" <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$broker,CONTROLLER://127.0.0.1:$controller
controller.listener.names=CONTROLLER
log.dirs=$dir/kafka
offsets.topic.replication.factor=1
END
  kafka=(java -Xmx192m -cp "$jars/*")
  "${kafka[@]}" kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAQ -c "$dir/kafka.properties" >"$dir/kafka.out" 2>&1
  start kafka "${kafka[@]}" kafka.Kafka "$dir/kafka.properties"
  wait_for 60 kafka $pid listens $broker
  export SHOP_KAFKA=127.0.0.1:$broker
fi

cat >"$dir/probe.json" <<END
{"shadow": {
   "mark": {"baggage": "weir.shadow", "accept": ["p-pradar-cluster-test"]},
   "jdbc": [{"business": "$SHOP_DB", "shadow": {"url": "${db}shop_shadow?user=shop", "user": "shop", "password": ""}}],
   "logback": {"suffix": ".shadow"}, "redis": {"prefix": "shadow:"}, "kafka": {"prefix": "shadow-"},
   "allow": ["127.0.0.1:$ORDER_PORT", "127.0.0.1:$STOCK_PORT"]}}
END
agent=()
[ -z "$probe" ] || agent=("-javaagent:$probe")
service() { # NAME PORT MAIN
  SHOP_PORT=$2 SHOP_LOG=$dir/$1.log WEIR_PROBE_APP=$1 start "$1" \
    java -Xmx256m "${agent[@]}" -Dloader.main=shop.$3 -jar "$shop"
  pids[$1]=$pid
}
declare -A pids
service stock $STOCK_PORT stock.StockApplication
service order $ORDER_PORT order.OrderApplication
service gateway $gateway gateway.Gateway
wait_for 180 stock ${pids[stock]} listens $STOCK_PORT
wait_for 180 order ${pids[order]} listens $ORDER_PORT
wait_for 180 gateway ${pids[gateway]} curl -sf -o "$dir/first" "http://127.0.0.1:$gateway/order"

cat >"$dir/gateway.yaml" <<END
sites: {shop: {hosts: ["*"]}}
routes: {everything: {site: shop, path: /, to: gateway}}
upstreams: {gateway: {members: {gateway: "127.0.0.1:$gateway"}}}
END
start weir "$weir" up --port "$port" --apply "$dir/gateway.yaml"
wait_for 60 weir $pid curl -sf -o "$dir/first" "http://127.0.0.1:$port/order"

armed="without a probe" unarmed=
arm() { # NAME
  local file=$dir/run/${pids[$1]}.json
  field() { sed -n "s/.*\"$1\": *\"\?\([^\",}]*\).*/\1/p" "$file"; }
  [ -e "$file" ] || { echo "run-probe: the probe in $1 has no local API" >&2; return 1; }
  curl -sS --fail-with-body -X POST -H "Authorization: Bearer $(field token)" \
    "http://127.0.0.1:$(field port)/v1/arm" >"$dir/$1.arm" || { cat "$dir/$1.arm" >&2; return 1; }
}
if [ -n "$probe" ]; then
  for name in gateway order stock; do arm $name || unarmed+=" $name"; done
  armed=${unarmed:+but NOT armed in:$unarmed} armed=${armed:-with the probe armed}
fi
# Places an order and says whether all of it is in the stores of its kind, and nothing in the others.
check() { # KIND CUSTOMER OTHER_DATABASE DATABASE OTHER_LOG LOG [CURL_ARGUMENT...]
  local customer=$2 bad=0
  curl -sfG -o "$dir/placed" "${@:7}" -d "customer=$customer" -d item=item-7 "http://127.0.0.1:$port/order" || bad=1
  for table in "orders:customer = '$customer'" "audit:note like '$customer wants%'"; do
    for expected in "0 $3" "1 $4"; do
      found=$(psql -h 127.0.0.1 -p $PG_PORT -U shop -Atc "select count(*) from ${table%%:*} where ${table#*:}" "${expected#* }")
      [ "$found" = "${expected%% *}" ] || { echo "run-probe: $found rows of $customer in ${table%%:*} of ${expected#* }" >&2; bad=1; }
    done
  done
  ! grep -q " $customer:" "$dir/$5" 2>/dev/null || { echo "run-probe: $customer is in $5" >&2; bad=1; }
  grep -q " $customer:" "$dir/$6" || { echo "run-probe: $customer is not in $6" >&2; bad=1; }
  [ $bad = 0 ] && echo "run-probe: the $1 order is in the $1 database and log alone" || failed=1
}
if [ "${2:-}" = check ]; then
  failed=0
  [ "$armed" = "with the probe armed" ] || { echo "run-probe: $armed" >&2; failed=1; }
  check business buyer shop_shadow shop order.log.shadow order.log
  check shadow test shop shop_shadow order.log order.log.shadow -H 'baggage: weir.shadow=1'
  check shadow pradar shop shop_shadow order.log order.log.shadow -H 'p-pradar-cluster-test: true'
  # One that fails: Dubbo and Spring log it.
  curl -so "$dir/placed" -H 'baggage: weir.shadow=1' "http://127.0.0.1:$port/order?customer=test&item=shadow-item" || failed=1
  grep -q shadow-item "$dir/stock.log.shadow" || { echo "run-probe: the failed shadow order is not in stock.log.shadow" >&2; failed=1; }
  for log in stock order gateway; do
    ! grep -q shadow-item "$dir/$log.log" || { echo "run-probe: the failed shadow order is in $log.log" >&2; failed=1; }
  done
  exit $failed
fi
count="-c 'select count(*) from orders'"
cat <<END
run-probe: the shop is ready behind Weir, $armed

  Business:  curl 'http://127.0.0.1:$port/order?customer=anna&item=item-7'
  Shadow:    curl -H 'baggage: weir.shadow=1' 'http://127.0.0.1:$port/order?customer=test&item=item-7'

  Orders:    psql -h 127.0.0.1 -p $PG_PORT -U shop shop $count
             psql -h 127.0.0.1 -p $PG_PORT -U shop shop_shadow $count
  Logs:      tail $dir/order.log
             tail $dir/order.log.shadow
  Redis:     redis-cli -p $REDIS_PORT --scan
  Probes:    export WEIR_PROBE_DIR=$dir/run
             $weir probes
             $weir cost --probe

Every client may mark its requests here; docs/probe.md has a policy with which the gateway decides.
Dubbo listens on all interfaces, whatever it is told; all else on 127.0.0.1.
Ctrl-C stops everything.
END
wait -n "${children[@]}" || true
for i in "${!children[@]}"; do
  kill -0 "${children[i]}" 2>/dev/null || echo "run-probe: ${names[i]} stopped; see $dir/${names[i]}.out" >&2
done
exit 1
