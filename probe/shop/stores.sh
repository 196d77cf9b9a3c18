#!/usr/bin/env bash
# Runs what the shop keeps its data in, until it is stopped: PostgreSQL with the databases `shop` and `shop_shadow`, each
# with schema.sql, and Redis. DIRECTORY/stores.env tells their ports as soon as both are ready.
#
#   probe/shop/stores.sh DIRECTORY
set -euo pipefail
here=$(dirname "$(realpath "$0")") dir=$(realpath -m "$1")
. "$here/../../scripts/port.sh"
programs=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
mkdir -p "$dir"
rm -rf "$dir/postgresql" "$dir/stores.env"
pg=$(free_port)
redis=$(free_port)

# initdb refuses root.
user=(setpriv --pdeathsig INT)
[ "$(id -u)" -ne 0 ] || user+=(--reuid postgres --regid postgres --clear-groups)
install -d -m 700 "$dir/postgresql"
[ "$(id -u)" -ne 0 ] || chown postgres:postgres "$dir/postgresql"
cd "$dir/postgresql" # a directory that the user may enter
"${user[@]}" test -w . || { echo "stores: the user postgres cannot reach $dir" >&2; exit 1; }
"${user[@]}" "$programs/initdb" -D . -U shop -A trust -E UTF8 --locale C.UTF-8 --no-sync --no-instructions >../initdb.log

# Data of a demonstration: what a power cut would lose is not worth a disk's time.
"${user[@]}" "$programs/postgres" -D . -h 127.0.0.1 -p "$pg" -k '' -c max_connections=1000 -c fsync=off \
  -c synchronous_commit=off -c full_page_writes=off >../postgresql.log 2>&1 &
postgres=$!
setpriv --pdeathsig TERM redis-server --bind 127.0.0.1 --port "$redis" --save '' --dir "$dir" >../redis.log 2>&1 &
redis_server=$!
trap 'kill -INT $postgres 2>/dev/null; kill $redis_server 2>/dev/null; wait' EXIT
trap 'exit 0' INT TERM

sql=("$programs/psql" -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$pg" -U shop)
until "$programs/pg_isready" -q -h 127.0.0.1 -p "$pg" && redis-cli -p "$redis" ping >/dev/null 2>&1; do
  kill -0 $postgres $redis_server || { tail -n 5 ../postgresql.log ../redis.log >&2; exit 1; }
  sleep 0.1
done
for database in shop shop_shadow; do
  "${sql[@]}" -d postgres -c "create database $database"
  "${sql[@]}" -d $database -f "$here/schema.sql"
done
printf 'PG_PORT=%s\nREDIS_PORT=%s\n' "$pg" "$redis" >"$dir/stores.env.new"
mv "$dir/stores.env.new" "$dir/stores.env"
wait -n $postgres $redis_server
echo "stores: PostgreSQL or Redis stopped; $dir/postgresql.log and redis.log say why" >&2
exit 1
