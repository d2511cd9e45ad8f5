#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Starts the ranks of init_rank as processes, and waits for them. Usage: start_ranks.sh INIT_RANK RANKS [ROUNDS [COUNT]]
# The exit status is the last failing rank's; 128 and more: it died of a signal.
set -uo pipefail
program=$1 ranks=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
pids=() status=0
for ((rank = 0; rank < ranks; ++rank)); do
  "$program" $rank "$ranks" "$dir/id" "${@:3}" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
exit $status
