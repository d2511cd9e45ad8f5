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
import random
import sys
import tempfile
import time

from stall_kinds import KINDS, can_trace
from traffic_job import Job

TRANSPORTS = ("peer", "tcp", "net", "shm")
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
LIMIT = 90  # seconds that a job may take beside what it was disturbed: the machine may be busy


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
        self.options = draw.choice(([], [], ["allreduces=0"], ["broadcasts=0"]))
        self.lengths = form.lengths(draw, kind, number)
        self.starts_late = kind == "late" and draw.random() < 0.5
        self.settings = {
            "NCCL_STEPS": str(depth), "RONDO_EMU_WAVE": str(wave),
            "RONDO_EMU_PROGRESS": draw.choice(("lockstep", "independent")),
            "RONDO_CALL_TIMEOUT": str(LIMIT - 20),  # a hang shall explain itself
            "NCCL_BUFFSIZE": draw.choice(("64K", "256K", "1M")),  # many steps, the counters far from each other
        }
        if transport != "peer":
            self.settings |= {"NCCL_P2P_DISABLE": "1", "FI_PROVIDER": transport}

    def text(self):
        settings = " ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.name}: {self.ranks} ranks, rank {self.victim}, {' '.join([settings, *self.options])}"


class Short:
    """In CI: pauses of about a second."""
    kinds = {"pause": 1, "slow": 1, "late": 1, "proxy": 1}

    @staticmethod
    def lengths(draw, kind, number):
        return [draw.uniform(0.5, 1.3)]


class Long:
    """Pauses of 1 to 15 s, most of them short, ranks that are 10 s late."""
    kinds = {"pause": 100, "slow": 14, "late": 14, "proxy": 28}

    @staticmethod
    def lengths(draw, kind, number):
        if kind == "late":
            return [10]
        if number % 10 == 9:
            return [draw.uniform(5, 15)]
        return [draw.uniform(1, 2.5) for _ in range(draw.randint(1, 3))]


def start(job, plan):
    late_ms = round(max(plan.lengths) * 1000)
    for rank in range(plan.ranks):
        if rank != plan.victim or not plan.starts_late:
            calls_late = rank == plan.victim and plan.kind == "late"
            job.start(rank, [*plan.options, *([f"late_ms={late_ms}"] if calls_late else [])])
    if plan.starts_late:
        time.sleep(late_ms / 1000)
        job.start(plan.victim, plan.options)


def run(program, plan):
    """Text of a failure, or None; and a line about the run."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Job(program, plan.ranks, plan.settings, folder) as job:
        try:
            start(job, plan)
            job.wait_ready(LIMIT)
            did = KINDS[plan.kind](job.pid(plan.victim), plan.random, plan.lengths)
            time.sleep(0.2)
            # A late rank is still to come.
            ended = job.finish(LIMIT + max(plan.lengths))
            return None, f"ok      {plan.text()}: {did}; {ended} ({time.monotonic() - begin:.0f} s)"
        except (RuntimeError, OSError) as error:
            return str(error), f"FAILED  {plan.text()}: {error}\n{job.last_lines(4)}"


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
