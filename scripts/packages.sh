# Installs Debian packages; other scripts source it.
#
#   install_packages WHO PACKAGE...
#
# Only missing packages are installed, so a second run is quick. The installation starts no service and does not touch a
# running one. WHO begins the messages.

missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || echo "$package"
  done
}

install_packages() {
  local who=$1 missing root=() policy=/usr/sbin/policy-rc.d
  shift
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "$who: root is required to install: ${missing[*]}" >&2; return 1; }
    root=(sudo)
  fi
  echo "$who: installing ${missing[*]}" >&2
  (
    # policy-rc.d keeps dpkg from starting services; an existing one is kept.
    if [ ! -e $policy ]; then
      printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee $policy >/dev/null
      "${root[@]}" chmod 755 $policy
      trap '"${root[@]}" rm -f $policy' EXIT
    fi
    apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120)
    "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2 || {
      "${apt[@]}" update >&2
      "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2
    }
  )
}
