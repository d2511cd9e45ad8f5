#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""Signals during init and traffic do no harm, over each transport.

Every rank has handlers without SA_RESTART and a timer that interrupts it each millisecond; SIGUSR1 comes from outside as
well. Results must be right, no call may fail, and the library's threads must leave signals to the program's.

Usage: signals.py TRAFFIC_RANK [TRANSPORT...]
"""
import concurrent.futures
import os
import random
import re
import signal
import sys
import tempfile
import time

from traffic_job import Job, thread_statuses

TRANSPORTS = {"peer": {}} | {name: {"NCCL_P2P_DISABLE": "1", "FI_PROVIDER": name} for name in ("tcp", "net", "shm")}
RANKS = 3
PATIENCE = 90
MASK = 1 << (signal.SIGALRM - 1) | 1 << (signal.SIGUSR1 - 1)


def open_threads(pid):
    """Threads but the program's own, its first, that would take the signals; and how many there are."""
    others = [status for thread, status in thread_statuses(pid).items() if thread != pid]
    return [status["Name"] for status in others if int(status["SigBlk"], 16) & MASK != MASK], len(others)


def send_signals(job, done):
    """SIGUSR1 to each rank that has its handlers; returns how many each was sent."""
    sent = 0
    while not done():
        for rank in range(RANKS):
            if "armed\n" in job.said(rank):
                os.kill(job.pid(rank), signal.SIGUSR1)
        sent += 1
        time.sleep(random.uniform(0.0005, 0.005))
    return sent


def all_ready(job):
    for rank in range(RANKS):
        if job.processes[rank].poll() is not None:
            raise RuntimeError(f"rank {rank} has ended early: status {job.processes[rank].returncode}")
    return all("ready\n" in job.said(rank) for rank in range(RANKS))


def disturb(job, transport):
    for rank in range(RANKS):
        job.start(rank, ["alarm_us=1000"])
    limit = time.monotonic() + PATIENCE
    sent = send_signals(job, lambda: all_ready(job) or time.monotonic() > limit)
    end = time.monotonic() + 1.5
    sent += send_signals(job, lambda: time.monotonic() > end)
    for rank in range(RANKS):
        found, count = open_threads(job.pid(rank))
        if found or count < (2 if transport == "peer" else 3):  # service, stream; proxy
            raise RuntimeError(f"rank {rank}: of {count} threads besides the program's these take the program's signals: {found}")
    ended = job.finish(PATIENCE)
    signals = [int(re.search(r"(\d+) signals", job.said(rank))[1]) for rank in range(RANKS)]
    if min(signals) < 500 or sent < 100:
        raise RuntimeError(f"too few signals: {signals} handled, {sent} sent to each rank from outside")
    return f"{ended}; {signals} signals"


def run(program, transport):
    with tempfile.TemporaryDirectory() as folder, Job(program, RANKS, TRANSPORTS[transport], folder) as job:
        try:
            return True, f"{transport}: {disturb(job, transport)}"
        except RuntimeError as error:
            return False, f"{transport}: {error}\n{job.last_lines(4)}"


def main():
    names = sys.argv[2:] or list(TRANSPORTS)
    if len(sys.argv) < 2 or not all(name in TRANSPORTS for name in names):
        sys.exit(__doc__)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda name: run(sys.argv[1], name), names))
    print("\n".join(text for _, text in results))
    sys.exit(not all(passed for passed, _ in results))


if __name__ == "__main__":
    main()
