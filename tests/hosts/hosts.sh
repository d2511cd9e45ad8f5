#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Several hosts on one machine: each has its own network, host name, processes, /dev/shm and System V memory, so that
# ranks of different hosts meet over the network only. The machine's own interfaces and routes are not touched.
#
#   hosts.sh run HOSTS PER_HOST PROGRAM ARGS...      PER_HOST ranks on each host, started by hand: RONDO_PERF_RANK,
#                                                    RONDO_PERF_RANKS and RONDO_PERF_LOCAL_RANK are set, NCCL_COMM_ID is
#                                                    on host1. Each line of output begins with "host2 rank 3: ".
#   hosts.sh mpirun HOSTS PER_HOST PROGRAM ARGS...   the same under Open MPI (tagged output), started from one more host
#                                                    that has no ranks, as from a cluster's login node
#
# The hosts are named host1, host2 ..., have the addresses 10.77.0.1, 10.77.0.2 ... on eth0, and an NCCL_HOSTID each.
# All other variables reach the ranks. Settings of this script:
#   HOSTS_DEADLINE=SECONDS     after that long, ranks that still run are killed; default 300
#   HOSTS_CYCLIC=1             rank r sits on host 1 + r mod HOSTS; default: ranks of a host follow each other
#   HOSTS_LINK_DOWN=EVENTS     cables pulled while the ranks run: "HOST after SECONDS [for SECONDS]", several with
#                              commas, such as "2 after 3 for 20,3 after 5"; without "for" for good. The host keeps its
#                              address: what it sends is lost.
#   HOSTS_MPIRUN=PROGRAM       Open MPI's mpirun, if another than the first in PATH
#   HOSTS_MPIRUN_FLAGS=FLAGS   more flags for it
#
# Exit status: 0 if every rank's is; else that of the lowest rank that failed (mpirun's, under mpirun), 124 at the
# deadline; 77 if this machine does not allow it; 2 for wrong arguments. However this script ends, nothing is left: the
# kernel kills what stands for a host together with this script, all processes of a host with that, and namespaces with
# their last process.
set -uo pipefail
self=$(realpath "$0")
port=29500

fail_usage() { echo "hosts.sh: $1" >&2; exit 2; }
cannot() { echo "hosts.sh: $1" >&2; exit 77; }

# --- Inside the namespaces of a new host, this script runs again as its first process. ---

become_host() {
  local name=$1 pid host
  read -r pid _ </proc/self/stat  # /proc is still the outside's: so is the process id
  hostname "$name" && mount --make-rprivate / && mount -t tmpfs tmpfs /dev/shm && ip link set lo up || exit 1
  [ $$ != 1 ] || mount -t proc proc /proc || exit 1
  if [ "$name" = switch ]; then
    ip link add name bridge type bridge && ip link set bridge up || exit 1
  else
    { echo 127.0.0.1 localhost
      for ((host = 1; host <= HOSTS_COUNT; ++host)); do echo "10.77.0.$host host$host"; done
      echo 10.77.0.254 login; } >/dev/shm/hosts
    mount --bind /dev/shm/hosts /etc/hosts && rm /dev/shm/hosts || exit 1
  fi
  echo "$pid"
  exec >/dev/null 2>&1
  [ $$ = 1 ] || exec sleep infinity
  while :; do sleep 1000 & wait; done  # the first process also collects what others leave behind
}

# --- Outside: one keeper per host, a process that the kernel kills with this one. ---

declare -A host_pid
keepers=() started=()

# start_host NAME [--pid --fork --kill-child]
start_host() {
  local name=$1 fd
  shift
  exec {fd}< <(exec setpriv --pdeathsig KILL \
    unshare --net --mount --uts --ipc "$@" "$self" become-host "$name" </dev/null)
  keepers+=($!)
  read -r "host_pid[$name]" <&"$fd" || cannot "this machine does not allow the namespaces of a host"
  exec {fd}<&-
}

# plug NAME ADDRESS: a cable from the host's eth0 to the switch.
plug() {
  ip_of switch link add "$1" type veth peer name eth0 netns "${host_pid[$1]}" &&
    ip_of switch link set "$1" master bridge up &&
    ip_of "$1" address add "$2/24" dev eth0 && ip_of "$1" link set eth0 up || cannot "no network for $1"
}

ip_of() { nsenter --target "${host_pid[$1]}" --net ip "${@:2}"; }

# exec_inside NAME COMMAND...: becomes a process of the host, which ends with it.
exec_inside() {
  exec nsenter --target "${host_pid[$1]}" --net --mount --uts --ipc --pid --wdns="$PWD" "${@:2}"
}

# Kills the hosts, and so whatever still writes, and waits until all that was written is out.
tear_down() {
  trap '' INT TERM
  exec 2>/dev/null  # bash would tell which processes it sees killed
  [ ${#keepers[@]} = 0 ] || kill -KILL "${keepers[@]}" 2>/dev/null
  [ ${#started[@]} = 0 ] || kill -KILL "${started[@]}" 2>/dev/null
  wait
}

set_up() {
  local host
  trap tear_down EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  export HOSTS_COUNT=$hosts
  start_host switch --pid --fork --kill-child
  for ((host = 1; host <= hosts; ++host)); do
    start_host host$host --pid --fork --kill-child
    plug host$host 10.77.0.$host
  done
}

link_event='^([0-9]+) after ([0-9.]+)( for ([0-9.]+))?$'

check_link_events() {
  local event
  for event in "${events[@]}"; do
    [[ $event =~ $link_event ]] && ((BASH_REMATCH[1] >= 1 && BASH_REMATCH[1] <= hosts)) ||
      fail_usage "HOSTS_LINK_DOWN=$HOSTS_LINK_DOWN: must be 'HOST after SECONDS [for SECONDS]', HOST from 1 to $hosts"
  done
}

start_link_events() {
  local event
  for event in "${events[@]}"; do
    [[ $event =~ $link_event ]]
    exec_inside switch bash -c 'sleep "$2"; ip link set "$1" down; echo "hosts.sh: the cable of $1 is pulled" >&2
      [ -n "$3" ] || exit; sleep "$3"; ip link set "$1" up; echo "hosts.sh: the cable of $1 is back" >&2' \
      bash "host${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[4]}" &
  done
}

# report WHO STATUS: says on standard error what went wrong; returns the status, 124 for what ran up to the deadline.
report() {
  [ "$2" != 0 ] || return 0
  # 137: killed, by 'timeout' if it did not end when asked to.
  if [ "$2" = 124 ] || { [ "$2" = 137 ] && ((SECONDS >= deadline)); }; then
    echo "hosts.sh: $1 still ran after $deadline s" >&2
    return 124
  fi
  echo "hosts.sh: $1 ended with status $2" >&2
  return "$2"
}

# start_rank HOST RANK LOCAL_RANK PROGRAM ARGS...
start_rank() {
  local host=$1 rank=$2 local_rank=$3 out
  shift 3
  exec {out}> >(exec sed -u "s/^/host$host rank $rank: /")
  exec_inside host$host env NCCL_HOSTID="rondo-$$-host$host" NCCL_COMM_ID=10.77.0.1:$port \
    RONDO_PERF_RANKS=$((hosts * per_host)) RONDO_PERF_RANK=$rank RONDO_PERF_LOCAL_RANK=$local_rank \
    timeout -k 5 "$deadline" "$@" </dev/null >&$out 2>&1 {out}>&- &
  started+=($!)
  exec {out}>&-
}

run_by_hand() {
  local ranks=$((hosts * per_host)) rank host local_rank status result=0
  for ((rank = 0; rank < ranks; ++rank)); do
    host=$((rank / per_host + 1)) local_rank=$((rank % per_host))
    [ "$cyclic" = 0 ] || { host=$((rank % hosts + 1)) local_rank=$((rank / hosts)); }
    start_rank $host $rank $local_rank "$@"
  done
  for ((rank = 0; rank < ranks; ++rank)); do
    wait "${started[$rank]}" 2>/dev/null  # bash would tell of a signal, too
    status=$?
    report "rank $rank" $status
    status=$?
    [ $result != 0 ] || result=$status
  done
  return $result
}

# mpirun starts its daemons through 'hosts.sh enter HOST COMMAND...', in the place of ssh.
run_under_mpirun() {
  local host list="" flags=() more=() status mpirun=${HOSTS_MPIRUN:-mpirun}
  [[ $("$mpirun" --version 2>&1) =~ "Open MPI"|OpenRTE ]] ||
    cannot "$mpirun is not Open MPI's (Debian package openmpi-bin)"
  start_host login
  plug login 10.77.0.254
  for ((host = 1; host <= hosts; ++host)); do
    list+=${list:+,}host$host:$per_host
    export HOSTS_PID_host$host="${host_pid[host$host]}" HOSTS_ID_host$host="rondo-$$-host$host"
  done
  [ "$cyclic" = 0 ] || flags=(--map-by node)
  read -ra more <<<"${HOSTS_MPIRUN_FLAGS:-}"
  export PATH="$(dirname "$self"):$PATH" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # The daemons' files go where each host has its own.
  setpriv --pdeathsig KILL timeout -k 5 "$deadline" setpriv --pdeathsig KILL \
    nsenter --target "${host_pid[login]}" --net --mount --uts --ipc --wdns="$PWD" \
    "$mpirun" --host "$list" -n $((hosts * per_host)) --tag-output --oversubscribe --bind-to none "${flags[@]}" \
    --mca plm rsh --mca plm_rsh_agent "hosts.sh enter" --mca plm_rsh_no_tree_spawn 1 --mca orte_tmpdir_base /dev/shm \
    --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 --mca pml ob1 --mca btl tcp,self \
    "${more[@]}" "$@" </dev/null &
  started+=($!)
  wait $! 2>/dev/null
  status=$?
  report mpirun $status
}

enter() {
  local pid=HOSTS_PID_$1 id=HOSTS_ID_$1
  shift
  export NCCL_HOSTID=${!id}
  exec nsenter --target "${!pid}" --net --mount --uts --ipc --pid --wdns="$PWD" sh -c "$*"
}

main() {
  mode=${1:-} hosts=${2:-} per_host=${3:-}
  [[ $mode =~ ^(run|mpirun)$ && $# -ge 4 ]] || fail_usage "usage: hosts.sh run|mpirun HOSTS PER_HOST PROGRAM ARGS..."
  [[ $hosts =~ ^[0-9]+$ ]] && ((hosts >= 1 && hosts <= 200)) || fail_usage "HOSTS=$hosts: must be from 1 to 200"
  [[ $per_host =~ ^[0-9]+$ ]] && ((per_host >= 1 && per_host <= 200)) ||
    fail_usage "PER_HOST=$per_host: must be from 1 to 200"
  deadline=${HOSTS_DEADLINE:-300} cyclic=${HOSTS_CYCLIC:-0}
  [[ $deadline =~ ^[1-9][0-9]*$ ]] || fail_usage "HOSTS_DEADLINE=$deadline: must be whole seconds, 1 or more"
  IFS=, read -ra events <<<"${HOSTS_LINK_DOWN:-}"
  check_link_events
  command -v ip >/dev/null || cannot "needs the program ip (Debian package iproute2)"
  if [ "$(id -u)" != 0 ]; then
    unshare --user --map-root-user true 2>/dev/null || cannot "needs root, or user namespaces for everyone"
    exec unshare --user --map-root-user "$self" "$@"
  fi
  shift 3
  set_up
  start_link_events
  case $mode in
    run) run_by_hand "$@" ;;
    mpirun) run_under_mpirun "$@" ;;
  esac
}

case ${1:-} in
  become-host) become_host "$2" ;;
  enter) shift; enter "$@" ;;
  *) main "$@" ;;
esac
