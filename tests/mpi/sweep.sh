#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Both perf programs as processes, results checked: every number of ranks, and depth, wave size and progress model.
# Usage: tests/mpi/sweep.sh BUILD MPIRUN [MAXBYTES [LINKS...]]     e.g. tests/mpi/sweep.sh build/emu mpirun 64M peer tcp
#   MAXBYTES  the largest message of the runs that vary depth, wave and model; default 4M
#   LINKS     how ranks reach each other; default peer:
#     peer            mapped memory
#     tcp net shm     everything on the network, by that provider
#     nodes2 nodes3   the host passes for 2 or 3: mapped memory inside, network (tcp) between
#     mpi             mapped memory, bootstrap by MPI
# One line per run; exit status 1 if any fails.
set -uo pipefail
build=$1 launcher=$2 most=${3:-4M}
shift $(($# < 3 ? $# : 3))
links=("${@:-peer}")
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
case "$launcher" in
  *mpich*) oversubscribe=() ;;
  *) oversubscribe=(--oversubscribe) ;;
esac
here=$(dirname "$0")

# check RANKS PROGRAM FLAGS... with the settings in the environment
check() {
  local ranks=$1 program=$2 start=$SECONDS
  shift 2
  if timeout 300 "$launcher" "${oversubscribe[@]}" -n "$ranks" "${wrapper[@]}" "$build/perf/$program" "$@" "${flags[@]}" \
      >"$log" 2>&1 && grep -q 'Out of bounds values : 0 OK' "$log"; then
    passed=$((passed + 1)) result=ok
  else
    failed=$((failed + 1)) result=FAILED
  fi
  echo "$result  $link  ${settings:-defaults}  -n $ranks $program $*  ($((SECONDS - start)) s)"
  [ $result = ok ] || tail -n 20 "$log"
}

for link in "${links[@]}"; do
  wrapper=() flags=() steps=(1 2 4 8 16 32 64) size=64M
  unset NCCL_P2P_DISABLE FI_PROVIDER
  case "$link" in
    peer) ;;
    tcp | net | shm) export NCCL_P2P_DISABLE=1 FI_PROVIDER=$link ;;
    nodes2 | nodes3) export FI_PROVIDER=tcp; wrapper=("$here/fake_nodes.sh" "${link#nodes}") ;;
    mpi) flags=(--bootstrap mpi) ;;
    *) echo "sweep.sh: unknown link $link" >&2; exit 2 ;;
  esac
  [ "$link" = peer ] || [ "$most" = 64M ] || { steps=(1 2 16 64) size=4M; }
  for program in broadcast_perf all_reduce_perf; do
    settings=""
    for ranks in 1 2 3 5 8; do check $ranks $program -b 8 -e $size -f 4 -c 1 -n 2 -w 1; done
    if [ "$link" != mpi ]; then
      check 1 $program -b 8 -e $size -f 4 -c 1 -n 2 -w 1 -g 4
      check 2 $program -b 8 -e 1M -f 8 -c 1 -n 2 -w 1 -t 2 -g 2
    fi
    for depth in "${steps[@]}"; do
      for wave in 32 64; do
        for progress in lockstep independent; do
          # Over other links than mapped memory the short form varies one thing at a time.
          [ "$link" = peer ] || [ "$most" = 64M ] || [ $wave/$progress = 64/lockstep ] || [ $depth = 16 ] || continue
          export NCCL_STEPS=$depth RONDO_EMU_WAVE=$wave RONDO_EMU_PROGRESS=$progress NCCL_MAX_NCHANNELS=$((64 / wave))
          settings="NCCL_STEPS=$depth wave $wave $progress channels $NCCL_MAX_NCHANNELS"
          check 3 $program -b 8 -e "$most" -f 8 -c 1 -n 2 -w 1
        done
      done
    done
    unset NCCL_STEPS RONDO_EMU_WAVE RONDO_EMU_PROGRESS NCCL_MAX_NCHANNELS
  done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
