# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""Starts the perf programs and reads their JSON reports. A run that failed or found wrong results is an error."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

RUN_LIMIT_S = 600
# What chooses the transport: set by each run alone.
TRANSPORT_VARIABLES = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "FI_PROVIDER")
# The launcher's name for itself differs between versions.
OPEN_MPI = re.compile(r"Open ?MPI|OpenRTE|PRRTE")
IGNORED_VARIABLE = re.compile(r"(NCCL_P2P_DISABLE|NCCL_SHM_DISABLE) is set but Rondo does not use it")


class RunError(Exception):
    """One line: what failed and why."""


def check_report(report):
    """Raises RunError unless the report says that everything was checked and right."""
    if report.get("errors"):
        raise RunError(report["errors"][0])
    bounds = report.get("out_of_bounds", {})
    if bounds.get("count") != 0 or bounds.get("okay") is not True:
        raise RunError(f"{bounds.get('count', 'no count of')} wrong values")
    if not report.get("results"):
        raise RunError("no results")


def bandwidth_of(result, side):
    """GB/s of one line of a report; side is out_of_place or in_place, or None for fabric_stream's."""
    half = result if side is None else result[side]
    if half.get("nwrong") != 0:
        raise RunError(f"{half.get('nwrong')} wrong values")
    if not half.get("alg_bw", 0) > 0:
        raise RunError("nothing was timed")
    return half["alg_bw"]


class Programs:
    """The programs of one build folder, and the mpiexec it was configured with."""

    def __init__(self, build):
        self.folder = pathlib.Path(build) / "perf"
        self.mpiexec = self._find_mpiexec(pathlib.Path(build) / "CMakeCache.txt")
        self.open_mpi = bool(OPEN_MPI.search(self._version()))

    @staticmethod
    def _find_mpiexec(cache):
        try:
            found = re.search(r"^MPIEXEC_EXECUTABLE:\w+=(.+)$", cache.read_text(), re.M)
        except OSError as error:
            raise RunError(f"{cache}: {error.strerror}; build first, or name the build folder") from error
        if not found or found.group(1).endswith("NOTFOUND"):
            raise RunError(f"{cache}: this build has no MPI")
        return found.group(1)

    def _version(self):
        try:
            return subprocess.run([self.mpiexec, "--version"], capture_output=True, text=True, timeout=60).stdout
        except OSError as error:
            raise RunError(f"{self.mpiexec}: {error.strerror}") from error

    def command(self, run, json_path):
        """The command line of a Run, and the variables that it sets."""
        program = [str(self.folder / run.program), *run.arguments]
        if run.ranks:
            launch = [self.mpiexec, "-n", str(run.ranks)]
            if run.mpi:
                launch += self._mpi_transport(run.mpi)
            program = launch + program + ["-J", json_path]
        else:
            program += ["--json", json_path]
        return program

    def _mpi_transport(self, transport):
        # "Everything but tcp" is its shared memory under any name.
        if self.open_mpi:
            return ["--mca", "pml", "ob1", "--mca", "btl", {"shared memory": "^tcp", "tcp": "tcp,self"}[transport]]
        if transport == "tcp":
            raise RunError(f"{self.mpiexec} is not Open MPI: how it is told to use tcp is not known")
        return []

    def describe(self, run):
        """The command line as a user would type it."""
        variables = [f"{name}={value}" for name, value in run.environment.items()]
        return " ".join(variables + [shlex.quote(word) for word in self.command(run, "FILE")])

    def execute(self, run):
        """The run's JSON report, checked."""
        if not (self.folder / run.program).exists():
            raise RunError(f"{self.folder / run.program} is not built")
        environment = {k: v for k, v in os.environ.items() if k not in TRANSPORT_VARIABLES}
        environment.update(run.environment)
        environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        if os.geteuid() == 0:
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        if "NCCL_P2P_DISABLE" in run.environment:
            environment["NCCL_DEBUG"] = "WARN"  # names variables that the library ignores
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.json"
            try:
                done = subprocess.run(self.command(run, str(path)), env=environment, capture_output=True, text=True,
                                      timeout=RUN_LIMIT_S)
            except subprocess.TimeoutExpired:
                raise RunError(f"{self.describe(run)}: not done after {RUN_LIMIT_S} s") from None
            try:
                self._check_output(run, done)
                report = json.loads(path.read_text())
                check_report(report)
            except (OSError, ValueError) as error:
                raise RunError(f"{self.describe(run)}: no report: {error}") from error
            except RunError as error:
                raise RunError(f"{self.describe(run)}: {error}") from None
        return report

    @staticmethod
    def _check_output(run, done):
        text = done.stdout + done.stderr
        ignored = IGNORED_VARIABLE.search(text)
        if ignored:
            raise RunError(f"the library ignores {ignored.group(1)}: it has no fabric transport")
        if done.returncode != 0:
            lines = [line for line in text.splitlines() if line.strip(" -")]
            said = [line for line in lines if line.startswith(run.program + ":")] or lines[-1:] or ["no reason given"]
            raise RunError(f"exit status {done.returncode}: {said[0]}")
