# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# To be sourced by scripts: installs Debian packages that are missing, and makes Open MPI usable as root.

# packages NAME...
packages() {
  local missing=()
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} = 0 ] && return 0
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "missing Debian packages: ${missing[*]} (install them as root)" >&2; return 1; }
    sudo=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build_packages=(g++ cmake ninja-build pkg-config libboost-context-dev libfmt-dev libhwloc-dev libfabric-dev libcli11-dev
  nlohmann-json3-dev libgtest-dev openmpi-bin libopenmpi-dev python3)
test_packages=(iproute2 procps)

# More ranks than cores; Open MPI refuses to run as root unless told twice.
export OMPI_MCA_rmaps_base_oversubscribe=1
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
