#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Machines with something missing, in namespaces of their own. Usage: limits.sh CASE PROGRAM COMM_ID_SCRIPT
#   shm_full        /dev/shm has no room: nothing of Rondo's needs it
#   only_loopback   the only interface up is lo: ranks of one host meet there
#   no_interface    none is up: one line says so, no hang
# Exit status 77: this machine does not allow the namespace.
set -uo pipefail
case_=$1 program=$2 script=$3
case "$case_" in
  shm_full) wanted='Out of bounds values : 0 OK' namespace=(unshare -rm)
    prepare='mount -t tmpfs -o size=4k tmpfs /dev/shm && { head -c 100000 /dev/zero >/dev/shm/full 2>/dev/null; true; }' ;;
  only_loopback) wanted='Out of bounds values : 0 OK' namespace=(unshare -rn) prepare='ip link set lo up' ;;
  no_interface) wanted='no usable network interface' namespace=(unshare -rn) prepare=true ;;
  *) echo "unknown case $case_" >&2; exit 2 ;;
esac
"${namespace[@]}" true 2>/dev/null || { echo "no namespaces here: unshare is not allowed"; exit 77; }
if [ "$case_" = no_interface ]; then
  # By hand, so that what is seen is Rondo's error and not the launcher's.
  output=$(RONDO_PERF_RANK=0 RONDO_PERF_RANKS=1 timeout 60 "${namespace[@]}" "$program" -b 8 -e 8 -g 2 -n 1 2>&1)
else
  output=$(timeout 60 "${namespace[@]}" bash -c "$prepare && exec '$script' '$program' 3 29543" 2>&1)
fi
status=$?
echo "$output"
[ $status != 124 ] || { echo "hung"; exit 1; }
[ $status -lt 128 ] || { echo "killed by a signal"; exit 1; }
grep -q "$wanted" <<<"$output" || { echo "expected '$wanted'"; exit 1; }
