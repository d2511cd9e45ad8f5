#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""The stall lab: jobs of real processes whose ranks are paused, slowed, late, or lose their proxy thread for a while.

Each run is a job of 2 to 8 ranks that broadcast and allreduce, every result checked, over one transport, at some depth and
wave size; one rank is disturbed as its kind says (stall_kinds.py). It must end with nothing wrong, in time. What a run does
follows from the seed, transport, kind and number alone: --only repeats one.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

from stall_kinds import KINDS, can_trace

TRANSPORTS = ("peer", "tcp", "net", "shm")
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
LIMIT = 90  # seconds that a job may take beside what it was disturbed: the machine may be busy
ports = itertools.count(20000 + os.getpid() * 37 % 8000)  # below those that the system gives away


def free_port():
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Plan:
    """What one run is: drawn from its name, so that it can be repeated."""

    def __init__(self, seed, transport, kind, number, form):
        self.name = f"{transport}/{kind}/{number}"
        self.kind = kind
        self.random = random.Random(f"{seed}/{self.name}")
        draw = self.random
        # Every depth with every wave size in turn, from a place of the seed's; the rest at random.
        place = number + random.Random(f"{seed}/{transport}/{kind}").randrange(2 * len(DEPTHS))
        depth = DEPTHS[place % len(DEPTHS)]
        wave = (64, 32)[place // len(DEPTHS) % 2]
        self.ranks = draw.randint(2, 8)
        self.victim = draw.randrange(self.ranks)
        self.options = draw.choice(("", "", "allreduces=0", "broadcasts=0"))
        self.lengths = form.lengths(draw, number)
        self.starts_late = kind == "late" and draw.random() < 0.5
        self.settings = {
            "NCCL_STEPS": str(depth), "RONDO_EMU_WAVE": str(wave),
            "RONDO_EMU_PROGRESS": draw.choice(("lockstep", "independent")),
            "NCCL_BUFFSIZE": draw.choice(("64K", "256K", "1M")),  # many steps, the counters far from each other
        }
        if transport != "peer":
            self.settings |= {"NCCL_P2P_DISABLE": "1", "FI_PROVIDER": transport}

    def text(self):
        settings = " ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.name}: {self.ranks} ranks, rank {self.victim}, {settings} {self.options}"


class Short:
    """In CI: pauses of about a second."""
    kinds = {"pause": 1, "slow": 1, "late": 1, "proxy": 1}

    @staticmethod
    def lengths(draw, number):
        return [draw.uniform(0.5, 1.3)]


class Long:
    kinds = {"pause": 100, "slow": 14, "late": 14, "proxy": 28}

    @staticmethod
    def lengths(draw, number):
        if number % 10 == 9:
            return [draw.uniform(5, 15)]
        return [draw.uniform(1, 2.5) for _ in range(draw.randint(1, 3))]


class Job:
    """The processes of a run, and what they said."""

    def __init__(self, program, plan, folder):
        self.plan = plan
        self.folder = folder
        self.environment = os.environ | plan.settings | {
            "NCCL_COMM_ID": f"127.0.0.1:{free_port()}", "NCCL_DEBUG": "WARN",
        }
        self.program = program
        self.processes = {}

    def start(self):
        late_ms = round(max(self.plan.lengths) * 1000)
        for rank in range(self.plan.ranks):
            if rank != self.plan.victim or not self.plan.starts_late:
                calls_late = rank == self.plan.victim and self.plan.kind == "late"
                self.start_rank(rank, [f"late_ms={late_ms}"] if calls_late else [])
        if self.plan.starts_late:
            time.sleep(late_ms / 1000)
            self.start_rank(self.plan.victim, [])

    def start_rank(self, rank, options):
        command = [self.program, str(rank), str(self.plan.ranks), *self.plan.options.split(), *options]
        with open(f"{self.folder}/{rank}", "w") as output:
            self.processes[rank] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output,
                                                    stderr=subprocess.STDOUT, env=self.environment)

    def victim(self):
        return self.processes[self.plan.victim].pid

    def said(self, rank):
        with open(f"{self.folder}/{rank}") as file:
            return file.read()

    def wait_ready(self, deadline):
        while not all("ready\n" in self.said(rank) for rank in self.processes):
            self.check_alive()
            if time.monotonic() > deadline:
                raise RuntimeError("the ranks have not met")
            time.sleep(0.02)

    def check_alive(self):
        for rank, process in self.processes.items():
            if process.poll() is not None:
                raise RuntimeError(f"rank {rank} has ended early: status {process.returncode}")

    def finish(self, deadline):
        """Rank 0 learns that it is enough; all must end, with as many calls as each other."""
        self.processes[0].stdin.close()
        ends = set()
        for rank, process in self.processes.items():
            try:
                status = process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise RuntimeError(f"rank {rank} has not ended: hung") from None
            line = self.said(rank).rstrip().rpartition("\n")[2]
            if status != 0 or not line.startswith("all right: "):
                raise RuntimeError(f"rank {rank}: status {status}: {line}")
            ends.add(line.rpartition(",")[0])
        if len(ends) != 1:
            raise RuntimeError(f"ranks ended differently: {ends}")
        return ends.pop()

    def kill(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdin.close()


def run(program, plan):
    """Text of a failure, or None; and a line about the run."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        job = Job(program, plan, folder)
        try:
            job.start()
            job.wait_ready(time.monotonic() + LIMIT)
            did = KINDS[plan.kind](job, plan.random, plan.lengths)
            time.sleep(0.2)
            # A late rank is still to come.
            ended = job.finish(time.monotonic() + LIMIT + max(plan.lengths))
            return None, f"ok      {plan.text()}: {did}; {ended} ({time.monotonic() - start:.0f} s)"
        except (RuntimeError, OSError) as error:
            said = "".join(f"  rank {rank}: {line}\n" for rank in job.processes for line in job.said(rank).splitlines()[-4:])
            return str(error), f"FAILED  {plan.text()}: {error}\n{said}"
        finally:
            job.kill()


def table(plans, failures):
    counts = collections.Counter(plan.name.rpartition("/")[0] for plan in plans)
    failed = collections.Counter(name.rpartition("/")[0] for name in failures)
    print(f"{'transport':<10}" + "".join(f"{kind:>18}" for kind in KINDS) + "   (runs, failed)")
    for transport in TRANSPORTS:
        cells = [f"{counts[f'{transport}/{kind}']}, {failed[f'{transport}/{kind}']}" for kind in KINDS]
        if any(plan.name.startswith(f"{transport}/") for plan in plans):
            print(f"{transport:<10}" + "".join(f"{cell:>18}" for cell in cells))


def make_plans(options, form):
    plans = []
    for transport, kind in itertools.product(options.transports, options.kinds):
        if transport == "peer" and kind == "proxy":
            continue  # mapped memory needs none
        first, last = options.range or (0, form.kinds[kind])
        plans += [Plan(options.seed, transport, kind, number, form) for number in range(first, min(last, form.kinds[kind]))]
    return [plan for plan in plans if options.only in (None, plan.name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/emu/tests/traffic_rank")
    parser.add_argument("--long", action="store_true", help="100 paused runs per transport, pauses up to 15 s")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--transports", nargs="+", choices=TRANSPORTS, default=TRANSPORTS)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--range", nargs=2, type=int, metavar=("FIRST", "END"), help="a part of the runs of each kind")
    parser.add_argument("--only", metavar="NAME", help="one run, as tcp/pause/17, of the same seed and form")
    parser.add_argument("--jobs", type=int, default=8, help="at a time: they mostly sleep")
    options = parser.parse_args()
    form = Long if options.long else Short
    if "proxy" in options.kinds and not can_trace():
        print("this machine does not allow ptrace: runs with a stopped proxy thread are left out")
        options.kinds = [kind for kind in options.kinds if kind != "proxy"]
    plans = make_plans(options, form)
    if not plans:
        parser.error("no such run")
    print(f"stall lab: seed {options.seed}, {len(plans)} runs", flush=True)
    failures = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for plan, (failure, line) in zip(plans, pool.map(lambda plan: run(options.program, plan), plans)):
            print(line, flush=True)
            if failure:
                failures.append(plan.name)
    table(plans, failures)
    again = " --long" if options.long else ""
    for name in failures:
        print(f"to repeat: {sys.argv[0]} {options.program}{again} --seed {options.seed} --only {name}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
