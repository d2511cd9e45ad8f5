# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""The ways in which stalls.py disturbs one rank of a job. Each takes the random numbers of its run, and says what it did."""
import ctypes
import os
import signal
import subprocess
import time

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000  # waitpid: threads too


def stop(pid, seconds):
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)


def pause(job, random, lengths):
    """SIGSTOP at random moments, again and again."""
    for seconds in lengths:
        time.sleep(random.uniform(0.02, 0.4))
        stop(job.victim(), seconds)
    return f"stopped {len(lengths)} times, at most {max(lengths):.1f} s"


def slow(job, random, lengths):
    """For some seconds the rank has only a small part of the time, in short pieces."""
    on, off = random.uniform(0.002, 0.02), random.uniform(0.02, 0.2)
    end = time.monotonic() + sum(lengths)
    turns = 0
    while time.monotonic() < end:
        stop(job.victim(), off)
        time.sleep(on)
        turns += 1
    return f"{turns} turns of {off * 1000:.0f} ms stopped, {on * 1000:.0f} ms running"


def late(job, random, lengths):
    """The rank makes its first call late (traffic_rank's late_ms, or its process starts late: see stalls.py)."""
    time.sleep(0.3)
    return f"entered {max(lengths):.1f} s late"


def ptrace(request, thread):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, thread, None, None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"ptrace request {request:#x} on thread {thread}: {os.strerror(error)}")


def stop_thread(thread, seconds):
    """A thread cannot be sent SIGSTOP without its process: it is held by a tracer."""
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    with open(f"/proc/{thread}/stat") as file:
        state = file.read().rpartition(")")[2].split()[0]
    if state != "t":
        raise RuntimeError(f"thread {thread} is in state {state}, not stopped")
    time.sleep(seconds)
    ptrace(PTRACE_DETACH, thread)


def can_trace():
    """False where the machine forbids it, as some containers do."""
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            stop_thread(child.pid, 0)
            return True
        except PermissionError:
            return False
        finally:
            child.kill()


def threads_named(pid, name):
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm") as file:
            if file.read().strip() == name:
                found.append(int(thread))
    return found


def proxy(job, random, lengths):
    """The thread that drives the network stops alone, the rest of its rank goes on."""
    found = threads_named(job.victim(), "rondo-proxy")
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} threads named rondo-proxy in process {job.victim()}")
    for seconds in lengths:
        time.sleep(random.uniform(0.02, 0.4))
        stop_thread(found[0], seconds)
    return f"proxy stopped {len(lengths)} times, at most {max(lengths):.1f} s"


KINDS = {"pause": pause, "slow": slow, "late": late, "proxy": proxy}
