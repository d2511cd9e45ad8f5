#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# A control plane over a link between two network namespaces that fails. Usage: link.sh CASE CONTROL_RANK
#   back      the link is down for 20 s and comes back, with exchanges under way: no error
#   gone      it is down for good: every rank names one on the other side after about 60 s
#   stopped   nothing is wrong with the link, a rank is stopped for 15 s: no error
#   all       these at the same time: they mostly sleep
# Exit status 77: this machine does not allow the namespaces.
set -uo pipefail
case_=$1 program=$2
if [ $case_ = all ]; then
  pids=() failed=0
  for each in back gone stopped; do
    "$0" $each "$program" | sed "s/^/$each: /" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || { status=$?; [ $failed = 1 ] || failed=$status; }; done
  exit $failed
fi
if [ "${3:-}" != inside ]; then
  unshare -rnm true 2>/dev/null && command -v ip nsenter >/dev/null || { echo "no namespaces here"; exit 77; }
  exec timeout 110 unshare -rnm --kill-child -f -p --mount-proc "$0" "$case_" "$program" inside
fi

log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
unshare -n sleep 200 &
far=$!
until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link add near type veth peer name far || { echo "no veth here"; exit 77; }
ip link set far netns $far
ip link set lo up
ip addr add 10.77.0.1/24 dev near
ip link set near up
nsenter -t $far -n sh -c 'ip link set lo up; ip addr add 10.77.0.2/24 dev far; ip link set far up'

# Ranks 0 and 1 on this side, 2 and 3 on the other: the links of the tree are 0-1 here, 0-2 and 1-3 across.
export NCCL_COMM_ID=10.77.0.1:29600
seconds=20
[ $case_ != gone ] || seconds=100
pids=()
for rank in 0 1 2 3; do
  [ $rank -lt 2 ] && where=() || where=(nsenter -t $far -n)
  "${where[@]}" "$program" $rank 4 $seconds >"$log/$rank" 2>&1 &
  pids+=($!)
done
until [ "$(grep -l ready "$log"/* 2>/dev/null | wc -l)" = 4 ]; do sleep 0.1; done
sleep 2.5
start=$SECONDS
case $case_ in
  back) ip link set near down; sleep 20; ip link set near up ;;
  gone) ip link set near down ;;
  stopped) kill -STOP ${pids[3]}; sleep 15; kill -CONT ${pids[3]} ;;
esac
failed=0
for rank in 0 1 2 3; do
  wait ${pids[$rank]}
  status=$?
  took=$((SECONDS - start))
  echo "rank $rank after $took s, status $status: $(tail -n 1 "$log/$rank")"
  if [ $case_ = gone ]; then
    other=$([ $rank -lt 2 ] && echo '[23]' || echo '[01]')
    grep -qE "rank $other \(.*is out of reach: .*ETIMEDOUT" "$log/$rank" && [ $status = 1 ] &&
      [ $took -ge 45 ] && [ $took -le 75 ] || failed=1
  else
    grep -q 'all right' "$log/$rank" && [ $status = 0 ] || failed=1
  fi
done
exit $failed
