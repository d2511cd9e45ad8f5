#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# fabric_stream as real processes: right contents over each provider that is here, and one line for what goes wrong.
# Usage: fabric_stream.sh PROGRAM PORT
program=$1 port=$2
failed=0
complain() { echo "FAILED: $*"; failed=1; }

# expect STATUS PATTERN COMMAND...: exit status, one line on stderr.
expect() {
  local status=$1 pattern=$2
  shift 2
  local errors
  errors=$(timeout 60 "$@" 2>&1 >/dev/null)
  local got=$?
  [ $got = "$status" ] || complain "exit status $got instead of $status: $*"
  [[ "$errors" =~ $pattern ]] || complain "'$errors' does not match '$pattern': $*"
  [ "$(wc -l <<<"$errors")" = 1 ] || complain "not one line: $errors"
}

tried=0
for provider in tcp net shm sockets; do
  grep -q "$provider" <<<"$("$program" --provider none 2>&1 | sed 's/.*there are//')" || continue
  tried=$((tried + 1))
  output=$(timeout 100 "$program" --provider $provider --total 1,1000001,3M --message 4095,64K,5M --in-flight 1,3,40 \
    --operation tagged,write --iterations 2 --warmup 0)
  [ $? = 0 ] || complain "$provider failed"
  [ "$(grep -c '^ .* 0$' <<<"$output")" = 54 ] || complain "$provider: not 54 right lines: $output"
done
[ $tried -gt 0 ] || complain "no provider tried"

expect 2 "none.*there are: " "$program" --provider none
expect 2 "--total 0" "$program" --total 0
expect 2 "--total .*needs 2.00 PiB" "$program" --total 1024T --message 1G
expect 2 "cannot be written" "$program" --json /nowhere/file
expect 1 "nobody connected within 1 s" "$program" --listen 127.0.0.1:$port --timeout 1
expect 1 "Connection refused" "$program" --connect 127.0.0.1:$port --timeout 1

# Two processes started by hand; with different flags both say so.
timeout 60 "$program" --listen 127.0.0.1:$port >/dev/null &
timeout 60 "$program" --connect 127.0.0.1:$port || complain "the sender started by hand"
wait $! || complain "the receiver started by hand"
timeout 60 "$program" --listen 127.0.0.1:$port --message 1M >/dev/null 2>&1 &
expect 2 "other flags" "$program" --connect 127.0.0.1:$port
wait $!
[ $? = 2 ] || complain "the receiver took a sender with other flags"

# signal NAME PATTERN: what happens to the sender, and what the receiver says.
signal() {
  local errors
  errors=$(mktemp)
  timeout 60 "$program" --total 64M --iterations 1000000 --timeout 5 >/dev/null 2>"$errors" &
  local timer=$!
  sleep 1
  local receiver sender
  read -r receiver </proc/$timer/task/$timer/children
  read -r sender </proc/$receiver/task/$receiver/children
  kill -"$1" "$sender" || complain "no sender to signal"
  wait $timer
  [ $? = 1 ] || complain "exit status after $1 of the sender"
  grep -q "$2" "$errors" || complain "after $1: $(cat "$errors")"
  kill -0 "$sender" 2>/dev/null && complain "the sender still runs after $1"
  rm -f "$errors"
}
signal KILL "the sender (process .*) has ended"
signal STOP "nothing has come from the sender"
exit $failed
