#!/usr/bin/env bash
# Fetches the sources of the installed nginx, as the distribution packages them, into
# .build/nginx-package, because nginx-dev has only headers. `make bench SCENARIO=no-keepalive` builds
# them without optimisation.
#
#   NGINX_SOURCE_DIR  existing sources; if set, nothing is fetched
#
# The apt configuration of the system is read but not changed: the same archives are asked for
# sources, with lists and state in a temporary directory.
set -euo pipefail
cd "$(dirname "$0")/.."

target=.build/nginx-package
if [ -n "${NGINX_SOURCE_DIR:-}" ] || [ -f "$target/src/core/nginx.c" ]; then exit 0; fi

command -v dpkg-source >/dev/null || { echo "nginx-package: dpkg-source is missing; install dpkg-dev (scripts/setup.sh bench)" >&2; exit 1; }
version=$(dpkg-query -W -f '${Version}' nginx)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/parts" "$work/lists/partial" "$work/fetched"
cp /etc/apt/sources.list.d/*.sources "$work/parts/" 2>/dev/null || true
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [ -f "$list" ] && cp "$list" "$work/parts/$(basename "$list" .list).list"
done
sed -i 's/^Types: .*/Types: deb-src/' "$work"/parts/*.sources 2>/dev/null || true
sed -i -n 's/^deb\( .*\)/deb-src\1/p; /^deb-src /p' "$work"/parts/*.list 2>/dev/null || true
apt=(apt-get -q -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$work/parts"
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache::srcpkgcache=" -o "Dir::Cache::pkgcache=" -o "APT::Sandbox::User=root")
echo "nginx-package: fetching the sources of nginx $version" >&2
"${apt[@]}" update >&2
# An archive may have removed the packaging of a replaced version; the upstream tarball remains.
(cd "$work/fetched" && "${apt[@]}" source --download-only "nginx=$version" >&2) \
  || (cd "$work/fetched" && "${apt[@]}" source --download-only nginx >&2) || true
if compgen -G "$work/fetched/nginx_*.dsc" >/dev/null; then
  dpkg-source --no-check -x "$work"/fetched/nginx_*.dsc "$work/nginx" >&2
elif compgen -G "$work/fetched/nginx_*.orig.tar.*" >/dev/null; then
  echo "nginx-package: only the upstream tarball is available; the distribution's patches are omitted" >&2
  mkdir "$work/nginx"
  tar -xf "$work"/fetched/nginx_*.orig.tar.* -C "$work/nginx" --strip-components=1
else
  echo "nginx-package: the archive has no sources of nginx; set NGINX_SOURCE_DIR" >&2
  exit 1
fi
[ -f "$work/nginx/src/core/nginx.c" ] || { echo "nginx-package: the fetched sources have no src/core/nginx.c" >&2; exit 1; }
mkdir -p .build
rm -rf "$target"
mv "$work/nginx" "$target"
