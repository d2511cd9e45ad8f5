#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# What is missing for the network, or set wrongly, is one clear line at init. Usage: no_network.sh PROGRAM
set -uo pipefail
program=$1
empty=$(mktemp -d) broken=$(mktemp -d)
trap 'rm -rf "$empty" "$broken"' EXIT
echo "no shared object" >"$broken/librondo_fabric.so"
failures=0

# refused TEXT VARIABLE=VALUE...: two ranks of one process end with an error that holds TEXT
refused() {
  local text=$1 output status
  shift
  output=$(env NCCL_P2P_DISABLE=1 "$@" timeout 20 "$program" -g 2 -b 8 -e 8 2>&1)
  status=$?
  if [ $status = 0 ] || [ $status = 124 ] || ! grep -qF -- "$text" <<<"$output"; then
    failures=$((failures + 1))
    echo "FAILED ($status): $* should be refused with: $text"
    echo "$output"
  fi
}

refused "need the network module librondo_fabric.so, which is not in $empty" RONDO_MODULE_DIR="$empty"
refused "cannot load the network module: $broken/librondo_fabric.so" RONDO_MODULE_DIR="$broken"
refused "for FI_PROVIDER=nosuch" FI_PROVIDER=nosuch
refused "NCCL_SHM_DISABLE=1 excludes shm" FI_PROVIDER=shm NCCL_SHM_DISABLE=1
refused "NCCL_P2P_DISABLE=2: must be a whole number from 0 to 1" NCCL_P2P_DISABLE=2
refused "RONDO_FABRIC_OPERATION=read: must be tagged or write" RONDO_FABRIC_OPERATION=read
refused "RONDO_FABRIC_ENDPOINTS=9: must be a whole number from 1 to 4" RONDO_FABRIC_ENDPOINTS=9
refused "the receive queue has 1 entries: must be at least 4" RONDO_FABRIC_OPERATION=tagged RONDO_FABRIC_RX_SIZE=1 \
  NCCL_MIN_NCHANNELS=4 FI_PROVIDER=tcp
[ $failures = 0 ]
