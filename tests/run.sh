#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Builds and runs the tests on the emulated device. Installs what is missing from Debian packages. Can be repeated.
#   tests/run.sh           what every change must pass
#   tests/run.sh --long    in addition: the sanitizers, the whole sweep of perf programs under mpirun, MPICH
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  "" | --long) ;;
  *) echo "usage: tests/run.sh [--long]" >&2; exit 2 ;;
esac
source cmake/packages.sh
packages "${build_packages[@]}" "${test_packages[@]}"
cmake --preset emu >/dev/null
cmake --build --preset emu
[ "${1:-}" = --long ] && most=64M || most=4M
[ "${1:-}" = --long ] && export RONDO_TEST_LONG=1  # more rounds
ctest --test-dir build/emu --output-on-failure -j 2
if [ "${1:-}" != --long ]; then
  tests/mpi/sweep.sh build/emu mpirun $most
  exit 0
fi

for provider in net shm; do NCCL_P2P_DISABLE=1 FI_PROVIDER=$provider build/emu/tests/collectives_test --gtest_brief=1; done
tests/faults/stalls.py build/emu/tests/traffic_rank --long
links=(peer tcp net shm nodes2 nodes3 mpi)
tests/mpi/sweep.sh build/emu mpirun $most "${links[@]}"
packages mpich libmpich-dev
cmake --preset emu-mpich >/dev/null
cmake --build --preset emu-mpich --target broadcast_perf all_reduce_perf
tests/mpi/sweep.sh build/emu-mpich mpiexec.mpich $most "${links[@]}"
cmake --preset emu-asan >/dev/null
cmake --build --preset emu-asan
ctest --test-dir build/emu-asan --output-on-failure -j 2 --timeout 1200
