#!/usr/bin/env bash
# Runs a build and says what is built, how long a first one takes, and how long it took. Cargo shows how far it is.
#
#   scripts/build.sh RESULT WHAT CARGO ARGUMENT...
#
# RESULT is a file or folder that exists after a first build, MINUTES how long that takes.
set -euo pipefail
result=$1 what=$2
shift 2
[ -e "$result" ] ||
  echo "build: compiling $what for the first time: some three hundred crates, ${MINUTES:-2 to 6} minutes on two cores" >&2
set -x
"$@"
{ set +x; } 2>/dev/null
[ $SECONDS -lt 5 ] || echo "build: $what, $((SECONDS / 60)) min $((SECONDS % 60)) s" >&2
