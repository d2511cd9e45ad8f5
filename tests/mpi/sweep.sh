#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Both perf programs as processes: every number of ranks, depth, wave size and progress model, results checked.
# Usage: tests/mpi/sweep.sh BUILD MPIRUN     e.g. tests/mpi/sweep.sh build/emu mpirun
# One line per run; exit status 1 if any fails.
set -uo pipefail
build=$1 launcher=$2
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
case "$launcher" in
  *mpich*) oversubscribe=() ;;
  *) oversubscribe=(--oversubscribe) ;;
esac

# check RANKS PROGRAM FLAGS... with the settings in the environment
check() {
  local ranks=$1 program=$2 start=$SECONDS
  shift 2
  if timeout 300 "$launcher" "${oversubscribe[@]}" -n "$ranks" "$build/perf/$program" "$@" >"$log" 2>&1 &&
    grep -q 'Out of bounds values : 0 OK' "$log"; then
    passed=$((passed + 1)) result=ok
  else
    failed=$((failed + 1)) result=FAILED
  fi
  echo "$result  ${settings:-defaults}  -n $ranks $program $*  ($((SECONDS - start)) s)"
  [ $result = ok ] || tail -n 20 "$log"
}

for program in broadcast_perf all_reduce_perf; do
  settings=""
  for ranks in 1 2 3 5 8; do check $ranks $program -b 8 -e 64M -f 4 -c 1 -n 2 -w 1; done
  check 1 $program -b 8 -e 64M -f 4 -c 1 -n 2 -w 1 -g 4
  check 2 $program -b 8 -e 1M -f 8 -c 1 -n 2 -w 1 -t 2 -g 2
  for steps in 1 2 4 8 16 32 64; do
    for wave in 32 64; do
      for progress in lockstep independent; do
        export NCCL_STEPS=$steps RONDO_EMU_WAVE=$wave RONDO_EMU_PROGRESS=$progress
        settings="NCCL_STEPS=$steps wave $wave $progress"
        check 3 $program -b 8 -e 4M -f 8 -c 1 -n 2 -w 1
      done
    done
  done
  unset NCCL_STEPS RONDO_EMU_WAVE RONDO_EMU_PROGRESS
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
