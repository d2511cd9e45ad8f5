#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Three of four ranks meet at NCCL_COMM_ID, rank 0 is killed while they wait for the fourth: the others say so within 10 s.
# Usage: killed_in_init.sh PROGRAM PORT
set -uo pipefail
program=$1
export NCCL_COMM_ID=127.0.0.1:$2 RONDO_PERF_RANKS=4
log=$(mktemp)
trap 'rm -f "$log"' EXIT
RONDO_PERF_RANK=0 "$program" -b 8 -e 8 >/dev/null 2>&1 &
victim=$!
waiting=()
for rank in 1 2; do
  RONDO_PERF_RANK=$rank timeout 12 "$program" -b 8 -e 8 >>"$log" 2>&1 &
  waiting+=($!)
done
sleep 1
kill -9 $victim
for pid in "${waiting[@]}"; do
  wait "$pid"
  status=$?
  [ $status != 124 ] || { echo "hung"; exit 1; }
  [ $status != 0 ] || { echo "a rank ended without an error"; exit 1; }
done
cat "$log"
[ "$(grep -c 'lost rank 0' "$log")" = 2 ]
