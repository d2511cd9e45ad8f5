#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Tests of hosts.sh itself: hosts are apart and reach each other, failures and deadlines show, cables can be pulled,
# nothing is left behind. Exit status 77: this machine does not allow it.
set -uo pipefail
here=$(dirname "$(realpath "$0")")
export HOSTS_DEADLINE=60
failed=0 output="" status=0

hosts() { output=$("$here/hosts.sh" "$@" 2>&1); status=$?; }

# expect WHAT COMMAND...
expect() {
  local what=$1
  shift
  "$@" && return
  echo "FAILED: $what; the last run ended with $status and said:"
  echo "$output"
  failed=1
}
says() { grep -qxF -- "$1" <<<"$output"; }
ended_with() { [ "$status" = "$1" ]; }

hosts run 1 1 true
[ $status != 77 ] || { echo "$output"; exit 77; }
expect "one rank" ended_with 0

# Host name, address, first process, and what each finds in /dev/shm after all have been there.
look='touch /dev/shm/$(hostname); address=$(ip -br -4 addr show eth0 | grep -o "10[^ /]*")
  echo $(hostname) $address local $RONDO_PERF_LOCAL_RANK of $RONDO_PERF_RANKS: $(ls /dev/shm)'
hosts run 3 2 bash -c "$look"
for line in "host1 rank 0: host1 10.77.0.1 local 0 of 6: host1" "host1 rank 1: host1 10.77.0.1 local 1 of 6: host1" \
  "host2 rank 2: host2 10.77.0.2 local 0 of 6: host2" "host3 rank 5: host3 10.77.0.3 local 1 of 6: host3"; do
  expect "'$line'" says "$line"
done
HOSTS_CYCLIC=1 hosts run 3 2 bash -c "$look"
expect "rank 3 on host1" says "host1 rank 3: host1 10.77.0.1 local 1 of 6: host1"
hosts run 3 2 bash -c 'echo $NCCL_HOSTID'
expect "an NCCL_HOSTID per host" test "$(sed 's/.*: //' <<<"$output" | sort -u | wc -l)" = 3

hosts run 3 2 bash -c 'echo before; exit $((RONDO_PERF_RANK == 4 ? 7 : 0))'
expect "a rank's status" ended_with 7
expect "which rank it was" says "hosts.sh: rank 4 ended with status 7"
expect "output of a rank that fails" says "host3 rank 4: before"
hosts run 2 1 bash -c 'kill -SEGV $$'
expect "a rank that dies of a signal" ended_with 139
HOSTS_DEADLINE=1 hosts run 2 1 bash -c 'trap "" TERM; sleep 1000 & while :; do wait; done'
expect "the deadline, for one that does not want to end" ended_with 124
expect "who met it" says "hosts.sh: rank 1 still ran after 1 s"

# Host 2 hears host 1 until its cable is pulled, and again when it is back.
listener='import socket
s = socket.create_server(("10.77.0.1", 5000))
while s.accept()[0].recv(3) != b"end": pass'
heard='hear() { timeout 1 bash -c "exec 3<>/dev/tcp/host1/5000" 2>/dev/null; }
  until hear; do sleep 0.1; done; echo heard
  while hear; do sleep 0.1; done; echo lost
  until hear; do sleep 0.1; done; echo heard again; echo end >/dev/tcp/host1/5000'
HOSTS_LINK_DOWN="2 after 3 for 4" HOSTS_DEADLINE=30 hosts run 2 1 bash -c \
  "if [ \$RONDO_PERF_RANK = 0 ]; then exec python3 -c '$listener'; fi; $heard"
expect "a cable pulled and back" ended_with 0
for word in heard lost "heard again"; do expect "$word" says "host2 rank 1: $word"; done
HOSTS_LINK_DOWN="3 after 1" hosts run 2 1 true
expect "a cable that is not there" ended_with 2

if command -v "${HOSTS_MPIRUN:-mpirun}" >/dev/null; then
  hosts mpirun 3 2 bash -c \
    'touch /dev/shm/$(hostname); echo $OMPI_COMM_WORLD_RANK on $(cd /dev/shm; echo host*) $NCCL_HOSTID'
  if [ $status != 77 ]; then
    for rank in 0 1 2 3 4 5; do
      line="^\[1,$rank\]<stdout>:$rank on host$((rank / 2 + 1)) rondo-"
      expect "rank $rank under mpirun" grep -qE "$line" <<<"$output"
    done
    hosts mpirun 2 1 bash -c 'exit $((OMPI_COMM_WORLD_RANK * 5))'
    expect "a rank's status under mpirun" ended_with 5
  fi
fi

# However it is killed, no process stays: these ranks would sleep for long.
for signal in INT TERM KILL; do
  nap=$((100000 + $$)).$RANDOM
  # Past what bash does to what it starts in the background: that ignores SIGINT.
  python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$here/hosts.sh" run 2 2 sleep $nap 2>/dev/null &
  until [ "$(pgrep -fxc "sleep $nap")" = 4 ]; do sleep 0.1; done
  kill -$signal $!
  wait $! 2>/dev/null
  for ((i = 0; i < 100; ++i)); do pgrep -fx "sleep $nap" >/dev/null || break; sleep 0.1; done
  expect "nothing left after SIG$signal" test $i -lt 100
done
[ $failed = 0 ] && echo "all as expected"
exit $failed
