#!/usr/bin/env bash
# Copies the release build of the module and the programs to a folder, each with its line tables in a file beside it
# (NAME.debug), where debuggers and `weir profile` look for them.
#
#   scripts/dist.sh RELEASE_FOLDER FOLDER
set -euo pipefail
from=$1 to=$2
mkdir -p "$to"
for name in libngx_http_weir_module.so weir weir-tools; do
  objcopy --only-keep-debug "$from/$name" "$to/$name.debug"
  objcopy --strip-debug --add-gnu-debuglink="$to/$name.debug" "$from/$name" "$to/$name"
done
du -h --apparent-size "$to"/*
