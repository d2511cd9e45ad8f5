# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""A job of traffic_rank processes (traffic_rank.cc), and what they said."""
import itertools
import os
import socket
import subprocess
import time

_ports = itertools.count(20000 + os.getpid() * 37 % 8000)  # below those that the system gives away


def free_port():
    for port in _ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def thread_statuses(pid):
    """/proc's status of each thread of a process, by thread number."""
    statuses = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/status") as file:
                lines = [line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line]
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        statuses[int(thread)] = dict(lines)
    return statuses


class Job:
    """Ends with its 'with' block, whatever is left of it. folder takes the ranks' output."""

    def __init__(self, program, ranks, settings, folder):
        self.program = program
        self.ranks = ranks
        self.folder = folder
        self.environment = os.environ | settings | {"NCCL_COMM_ID": f"127.0.0.1:{free_port()}", "NCCL_DEBUG": "WARN"}
        self.processes = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdin.close()

    def start(self, rank, options=()):
        command = [self.program, str(rank), str(self.ranks), *options]
        with open(f"{self.folder}/{rank}", "w") as output:
            self.processes[rank] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output,
                                                    stderr=subprocess.STDOUT, env=self.environment)

    def pid(self, rank):
        return self.processes[rank].pid

    def said(self, rank):
        with open(f"{self.folder}/{rank}") as file:
            return file.read()

    def last_lines(self, count):
        """Of each rank, for a report of a failure."""
        return "".join(f"  rank {rank}: {line}\n" for rank in sorted(self.processes)
                       for line in self.said(rank).splitlines()[-count:])

    def wait_ready(self, seconds):
        end = time.monotonic() + seconds
        while not all("ready\n" in self.said(rank) for rank in self.processes):
            for rank, process in self.processes.items():
                if process.poll() is not None:
                    raise RuntimeError(f"rank {rank} has ended early: status {process.returncode}")
            if time.monotonic() > end:
                raise RuntimeError("the ranks have not met")
            time.sleep(0.02)

    def wait(self, rank, seconds):
        """The rank's exit status and last line."""
        try:
            status = self.processes[rank].wait(max(0.1, seconds))
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"rank {rank} has not ended: hung") from None
        return status, self.said(rank).rstrip().rpartition("\n")[2]

    def finish(self, seconds):
        """Rank 0 learns that it is enough. All must end well, after as many calls as each other; says how many."""
        end = time.monotonic() + seconds
        self.processes[0].stdin.close()
        ends = {}
        for rank in self.processes:
            status, line = self.wait(rank, end - time.monotonic())
            if status != 0 or not line.startswith("all right: "):
                raise RuntimeError(f"rank {rank}: status {status}: {line}")
            ends[line.rpartition(",")[0]] = rank
        if len(ends) != 1:
            raise RuntimeError(f"ranks ended differently: {ends}")
        return next(iter(ends))
