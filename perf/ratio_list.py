# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""The ratios that README quotes: what is run against what."""
import dataclasses

TCP = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "FI_PROVIDER": "tcp"}
SHM = {"NCCL_P2P_DISABLE": "1"}

# A broadcast in place moves what fabric_stream and MPI_Bcast move; out of place its root makes one more copy.
SIDE = {"broadcast": "in_place", "all_reduce": "out_of_place"}


def iterations(size):
    """So many that a run lasts long enough to be timed, and a pair short enough to see the same machine."""
    return {"1K": 200, "1M": 50, "16M": 20, "64M": 5, "1G": 3}[size]


@dataclasses.dataclass(frozen=True)
class Run:
    program: str
    arguments: tuple
    environment: dict = dataclasses.field(default_factory=dict)
    ranks: int = 0  # 0: started without MPI
    mpi: str = ""  # transport of MPI, where MPI is measured
    side: str = None


@dataclasses.dataclass(frozen=True)
class Ratio:
    name: str
    text: str
    mine: Run
    reference: Run
    # fabric_stream's combinations, of which the quickest becomes the reference
    choices: tuple = ()


def collective_run(collective, ranks, size, environment, mpi=""):
    program = ("mpi_" if mpi else "") + collective + "_perf"
    arguments = ("-b", size, "-e", size, "-n", str(iterations(size)), "-w", "2", "-c", "1")
    return Run(program, arguments, environment, ranks, mpi, SIDE[collective])


def stream_run(provider, size, combination, count):
    operation, message, in_flight = combination
    return Run("fabric_stream", ("--provider", provider, "--total", size, "--operation", operation, "--message",
                                 str(message), "--in-flight", str(in_flight), "--iterations", str(count)))


def fabric_ratio(transport, environment, size):
    all_combinations = ("tagged,write", "64K,256K,1M,4M", "4,16")
    return Ratio(
        f"fabric.{transport}.{size}", f"broadcast of {size}, 2 ranks over {transport}, against fabric_stream",
        collective_run("broadcast", 2, size, environment),
        stream_run(transport, size, all_combinations, iterations(size)),
        choices=(stream_run(transport, size, all_combinations, max(iterations(size) // 2, 2)),))


def mpi_ratio(collective, transport, ranks, size):
    environment, mpi = {"peer": ({}, "shared memory"), "tcp": (TCP, "tcp")}[transport]
    return Ratio(f"mpi.{collective}.{transport}.{ranks}.{size}",
                 f"{collective} of {size}, {ranks} ranks, {transport} transport, against MPI over {mpi}",
                 collective_run(collective, ranks, size, environment), collective_run(collective, ranks, size, {}, mpi))


def all_ratios():
    ratios = [fabric_ratio(transport, environment, size)
              for transport, environment in (("tcp", TCP), ("shm", SHM)) for size in ("16M", "1G")]
    ratios += [mpi_ratio(collective, transport, ranks, size) for collective in ("broadcast", "all_reduce")
               for transport in ("peer", "tcp") for ranks in (2, 4) for size in ("1K", "1M", "16M", "64M")]
    return ratios
