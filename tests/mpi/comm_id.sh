#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Ranks started by hand, without MPI: they meet at NCCL_COMM_ID. Usage: comm_id.sh PROGRAM RANKS PORT
set -uo pipefail
program=$1 ranks=$2 port=$3
export NCCL_COMM_ID=127.0.0.1:$port RONDO_PERF_RANKS=$ranks RONDO_INIT_TIMEOUT=60
status=0 pids=()
for ((rank = 0; rank < ranks; ++rank)); do
  RONDO_PERF_RANK=$rank "$program" -b 8 -e 1M -f 8 -c 1 -n 2 &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
exit $status
