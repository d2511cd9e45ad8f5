#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# One of several ranks is killed (SIGKILL): rank 0, one in the middle, the last. Within 10 s all others must have ended
# with an error that names its rank or process, and nothing may stay: no process, no socket, no file in /dev/shm.
# Usage: killed.sh MOMENT LAUNCH PROGRAM [RUNS [FLAGS...]]
#   MOMENT   init        0 to 40 ms after the victim has begun its init
#            met         0 to 20 ms after it knows the addresses of all ranks (before that, --bootstrap mpi is in MPI)
#            collective  0.2 to 1.2 s after its init, while collectives run
#   LAUNCH   by_hand (they meet at NCCL_COMM_ID), mpirun (Open MPI's) or mpiexec.mpich, as PROGRAM was built
#   PROGRAM  one of the perf programs; RUNS: of each victim (default 2); FLAGS: more of its flags
# RANKS (default 4) and the settings in the environment (NCCL_P2P_DISABLE, FI_PROVIDER ...) apply to the ranks.
set -uo pipefail
moment=$1 launch=$2 program=$3 runs=${4:-2}
flags=(-b 64K -e 64K -n 100000000 -c 0 "${@:5}")
ranks=${RANKS:-4}

# In namespaces of their own the ranks see no others' processes, ports and files. Without, leftovers are not checked.
if [ -z "${KILLED_ISOLATED:-}" ]; then
  if unshare -rmnpf --mount-proc true 2>/dev/null && command -v ip >/dev/null; then
    KILLED_ISOLATED=1 exec unshare -rmnpf --mount-proc --kill-child "$0" "$@"
  fi
  export KILLED_ISOLATED=0
fi
if [ $KILLED_ISOLATED = 1 ]; then
  mount -t tmpfs tmpfs /dev/shm
  ip link set lo up
fi

case $moment in
  init) trigger='Init START' least=0 spread=40 ;;
  met) trigger='knows the addresses' least=0 spread=20 ;;
  collective) trigger='Init COMPLETE' least=200 spread=1000 ;;
  *) echo "unknown moment $moment" >&2; exit 2 ;;
esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export dir RONDO_INIT_TIMEOUT=6 NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP NCCL_DEBUG_FILE=$dir/log.%p
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# What a launcher starts: notes its process number by its rank, and keeps its output apart. MPICH's launcher ends all
# processes when one that it has started dies of a signal, whatever it was told, and else tells the others by SIGUSR1:
# there a shell stays in between.
note='rank=${RONDO_PERF_RANK:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
if [ -n "${PMI_RANK:-}" ]; then
  trap : USR1
  "$@" >$dir/out.$rank 2>&1 &
  echo $! >$dir/pid.$rank
  while kill -0 $! 2>/dev/null; do wait $!; status=$?; done
  exit $status
fi
echo $$ >$dir/pid.$rank
exec "$@" >$dir/out.$rank 2>&1'

start() {
  started=()
  case $launch in
    by_hand)
      export NCCL_COMM_ID=127.0.0.1:$((29700 + RANDOM % 100)) RONDO_PERF_RANKS=$ranks
      for ((rank = 0; rank < ranks; ++rank)); do
        RONDO_PERF_RANK=$rank bash -c "$note" note "$program" "${flags[@]}" &
        started+=($!)
      done ;;
    mpirun) mpirun --enable-recovery -n $ranks bash -c "$note" note "$program" "${flags[@]}" >"$dir/launcher" 2>&1 &
      started=($!) ;;
    mpiexec.mpich) mpiexec.mpich -disable-auto-cleanup -n $ranks bash -c "$note" note "$program" "${flags[@]}" \
        >"$dir/launcher" 2>&1 &
      started=($!) ;;
    *) echo "unknown launch $launch" >&2; exit 2 ;;
  esac
}

now() { date +%s%3N; }
alive() { local stat; stat=$(cat /proc/"$1"/stat 2>/dev/null) && [[ ${stat##*) } != Z* ]]; }
# Waits until COMMAND succeeds; false after that many milliseconds.
await() {
  local end=$(($(now) + $1))
  shift
  until "$@"; do
    [ "$(now)" -lt $end ] || return 1
    sleep 0.002
  done
}
triggered() { local pid; pid=$(cat "$dir/pid.$victim" 2>/dev/null) && grep -q "$trigger" "$dir/log.$pid" 2>/dev/null; }
allEnded() { local pid; for pid in $(cat "$dir"/pid.* "$dir/started"); do ! alive "$pid" || return 1; done; }

leftovers() {
  [ $KILLED_ISOLATED = 1 ] || return 0
  ps -e -o pid=,args= | grep -F "$(basename "$program")" | grep -vE 'grep|killed\.sh'
  ss -Htan state listening state established
  ls -A /dev/shm | grep -vE '^(vader_segment|ompi|osc_|mpich|MPICH|psm)'  # an MPI's own
}

check() {
  local rank status pid
  pid=$(cat "$dir/pid.$victim")
  for ((rank = 0; rank < ranks; ++rank)); do
    [ $rank != $victim ] || continue
    grep -E "_perf: (process $rank: )?.*(rank $victim\b|:$pid\b)" "$dir/out.$rank" >"$dir/said" ||
      { echo "rank $rank does not name rank $victim ($pid):"; tail -n 3 "$dir/out.$rank"; return 1; }
    [ $rank = $(((victim + 1) % ranks)) ] && head -n 1 "$dir/said" | cut -c 1-220
  done
  for pid in "${started[@]}"; do
    wait "$pid"
    status=$?
    # Open MPI's launcher says 0 for a job that was to survive.
    [ $launch = mpirun ] || [ $status != 0 ] || { echo "exit status 0"; return 1; }
  done
  await 2000 eval '[ -z "$(leftovers)" ]' || { echo "left behind:"; leftovers; return 1; }
}

failed=0
for victim in 0 $((ranks / 2)) $((ranks - 1)); do
  for ((run = 0; run < runs; ++run)); do
    rm -f "$dir"/*
    start
    echo "${started[*]}" >"$dir/started"
    delay=$((least + RANDOM % spread))
    result=ok took=0
    if await 20000 triggered; then
      sleep "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))"
      kill -KILL "$(cat "$dir/pid.$victim")"
      killed=$(now)
      await 10000 allEnded || result=hung
      took=$(($(now) - killed))
    else
      result="never began"
    fi
    echo "rank $victim killed $delay ms after '$trigger': $result, $took ms"
    [ "$result" = ok ] && check && continue
    failed=1
    [ "$result" = ok ] || tail -n 3 "$dir"/out.* "$dir"/launcher 2>/dev/null
    kill -KILL $(cat "$dir"/pid.* "$dir/started") 2>/dev/null
    wait
  done
done
exit $failed
