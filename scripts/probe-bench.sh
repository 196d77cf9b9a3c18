#!/usr/bin/env bash
# Builds what `make bench SCENARIO=probe` starts: the probe, its shop, and the agents that it is measured beside.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh probe
[ ! -e probe/pom.xml ] || mvn -q -B -f probe/pom.xml -DskipTests package
mvn -q -B -f probe/shop package
mvn -q -B -f probe/peers -DskipTests package
mvn -q -B -f probe/peers/tracers.xml package
# Not every mirror of Maven Central has its plugins.
mvn -q -B -f probe/peers/tracers.xml -Pskywalking package >/dev/null ||
  echo "probe-bench: SkyWalking's agent is not available in full and will not be measured" >&2
