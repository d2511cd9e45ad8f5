#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""A hang explains itself: rank 1 of four is alive but does not come, and RONDO_CALL_TIMEOUT is set.

Usage: hang.py TRAFFIC_RANK [CASE...]; default all cases at the same time, as they mostly sleep
  sleep    rank 1 stops calling before call 5 and sleeps: all others name it, the call and the communicator
  stopped  rank 1 is stopped for good: all others name it, also rank 3, whose control connection goes by rank 1
  short    rank 1 is stopped, twice, each time for less than the timeout: no harm
"""
import concurrent.futures
import os
import re
import signal
import sys
import tempfile
import time

from stall_kinds import stop
from traffic_job import Job

RANKS, BEHIND = 4, 1
TIMEOUTS = {"sleep": "2", "stopped": "2", "short": "4"}
PATIENCE = 60  # for what takes a second or two on an idle machine


def start(job, options=()):
    for rank in range(RANKS):
        job.start(rank, ["broadcasts=0", *(options if rank == BEHIND else ())])
    job.wait_ready(PATIENCE)


def check_report(job, rank, sequence, reason):
    """The asynchronous error is on, the last error and the log say why. Rank 1 learns it when it calls again."""
    status, line = job.wait(rank, PATIENCE)
    wanted = (rf"waiting for rank {BEHIND} in AllReduce #{sequence} on comm [0-9a-f]+ since (\d+) s: "
              rf"rank {BEHIND} \(\S+:{job.pid(BEHIND)}\) {reason}")
    found = re.search(("ncclAllReduce" if rank == BEHIND else "the asynchronous error") + " says 6: .*" + wanted, line)
    if status != 1 or not found:
        raise RuntimeError(f"rank {rank}: status {status}, '{line}' has not '{wanted}'")
    if not 2 <= int(found[1]) <= 20:
        raise RuntimeError(f"rank {rank} has waited {found[1]} s: the timeout is 2 s, and 3 s for answers")
    if not re.search(rf"NCCL WARN rank {rank}: " + wanted, job.said(rank)):
        raise RuntimeError(f"rank {rank}: no warning in its log")


def sleep(job):
    start(job, ["stall_at=5", "stall_ms=8000"])
    for rank in (0, 2, 3, BEHIND):
        check_report(job, rank, 5, "has not called it; its last call is #4")


def stopped(job):
    start(job)
    time.sleep(0.3)
    os.kill(job.pid(BEHIND), signal.SIGSTOP)
    for rank in (0, 2, 3):
        check_report(job, rank, r"\d+", "does not answer: its process is stopped")
    os.kill(job.pid(BEHIND), signal.SIGCONT)
    if job.wait(BEHIND, PATIENCE)[0] != 1:
        raise RuntimeError("rank 1 has not learnt it")


def short(job):
    start(job)
    for _ in range(2):
        time.sleep(0.3)
        stop(job.pid(BEHIND), 2)
    job.finish(PATIENCE)


CASES = {"sleep": sleep, "stopped": stopped, "short": short}


def run(program, name):
    """Text of a failure, or None; and what the ranks said."""
    with tempfile.TemporaryDirectory() as folder, Job(program, RANKS, {"RONDO_CALL_TIMEOUT": TIMEOUTS[name]}, folder) as job:
        try:
            CASES[name](job)
            return None, job.last_lines(1)
        except RuntimeError as error:
            return str(error), job.last_lines(4)


def main():
    names = sys.argv[2:] or list(CASES)
    if len(sys.argv) < 2 or not all(name in CASES for name in names):
        sys.exit(__doc__)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda name: run(sys.argv[1], name), names))
    for name, (failure, said) in zip(names, results):
        print(f"{name}: {failure or 'ok'}\n{said}", end="")
    sys.exit(any(failure for failure, _ in results))


if __name__ == "__main__":
    main()
