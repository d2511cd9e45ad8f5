#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Builds Rondo for the emulated device and runs a ring broadcast and a ring allreduce of four ranks, checked and timed.
# Installs what is missing from Debian packages. Can be repeated.
set -euo pipefail
cd "$(dirname "$0")/.."
source cmake/packages.sh
packages "${build_packages[@]}"
cmake --preset emu >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
rm -f build-configure.log
cmake --build --preset emu --target broadcast_perf all_reduce_perf
for program in broadcast_perf all_reduce_perf; do
  echo
  echo "\$ mpirun -n 4 build/emu/perf/$program -b 8 -e 16M -f 8"
  mpirun --oversubscribe -n 4 build/emu/perf/$program -b 8 -e 16M -f 8
done
