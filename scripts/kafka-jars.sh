#!/usr/bin/env bash
# Fetches a Kafka broker (64 MB of jars), for the shop and the probe's tests, unless it is there; prints its directory.
set -euo pipefail
cd "$(dirname "$0")/.."
jars=$PWD/probe/shop/target/kafka
[ -d "$jars" ] || mvn -q -B -f probe/shop/kafka.xml dependency:copy-dependencies -DoutputDirectory="$jars" >&2
echo "$jars"
