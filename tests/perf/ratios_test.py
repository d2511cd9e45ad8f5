#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""perf/ratios without measuring anything: statistics, choice, and what it refuses to report.

Usage: ratios_test.py SOURCE_ROOT
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PERF = pathlib.Path(sys.argv.pop(1)) / "perf"
sys.path.insert(0, str(PERF))
import ratio_list  # noqa: E402
from ratio_programs import Programs, RunError, bandwidth_of, check_report  # noqa: E402
from ratio_statistics import Pair, summarize  # noqa: E402

loader = importlib.machinery.SourceFileLoader("ratios", str(PERF / "ratios"))
ratios = importlib.util.module_from_spec(importlib.util.spec_from_loader("ratios", loader))
loader.exec_module(ratios)


class Statistics(unittest.TestCase):
    def test_median_and_quartiles(self):
        s = summarize([Pair(v, 1.0) for v in (7, 1, 6, 2, 5, 3, 4)])
        self.assertEqual((s.pairs, s.lower, s.median, s.upper), (7, 2.5, 4, 5.5))

    def test_even_number_is_interpolated(self):
        s = summarize([Pair(v, 1.0) for v in (4, 1, 3, 2)])
        self.assertEqual((s.lower, s.median, s.upper), (1.75, 2.5, 3.25))

    def test_ratio_of_each_pair_not_of_the_medians(self):
        s = summarize([Pair(1, 2), Pair(10, 10), Pair(30, 20)])
        self.assertEqual((s.mine, s.reference, s.median), (10, 10, 1.0))
        s = summarize([Pair(1, 4), Pair(8, 16), Pair(2, 2)])
        self.assertEqual((s.mine, s.reference, s.median), (2, 4, 0.5))

    def test_refuses_what_is_no_measurement(self):
        for pairs in ([], [Pair(1, 1)], [Pair(1, 1), Pair(0, 1)], [Pair(1, 1), Pair(1, 0)]):
            with self.assertRaises(ValueError):
                summarize(pairs)


class Reports(unittest.TestCase):
    GOOD = {"errors": [], "out_of_bounds": {"count": 0, "okay": True}, "results": [{"alg_bw": 1.0, "nwrong": 0}]}

    def test_accepts_a_good_one(self):
        check_report(self.GOOD)
        self.assertEqual(bandwidth_of(self.GOOD["results"][0], None), 1.0)
        self.assertEqual(bandwidth_of({"in_place": {"alg_bw": 2.0, "nwrong": 0}}, "in_place"), 2.0)

    def test_refuses_the_others(self):
        for change in ({"errors": ["x"]}, {"out_of_bounds": {"count": 1, "okay": False}}, {"out_of_bounds": {}},
                       {"results": []}):
            with self.assertRaises(RunError):
                check_report({**self.GOOD, **change})
        for half in ({"alg_bw": 1.0, "nwrong": None}, {"alg_bw": 1.0}, {"alg_bw": 1.0, "nwrong": 1}, {"nwrong": 0},
                     {"alg_bw": 0, "nwrong": 0}):
            with self.assertRaises(RunError):
                bandwidth_of(half, None)


class Choice(unittest.TestCase):
    def test_names_are_unique_and_fit(self):
        everything = ratio_list.all_ratios()
        self.assertEqual(len({r.name for r in everything}), len(everything))
        self.assertEqual(ratios.choose(everything, None), everything)
        for ratio in everything:
            self.assertEqual(ratios.choose(everything, [ratio.name]), [ratio])
        self.assertEqual(len(ratios.choose(everything, ["fabric.*", "mpi.broadcast.peer.2.1K"])), 5)
        with self.assertRaises(ValueError):
            ratios.choose(everything, ["fabric.*", "nothing"])

    def test_the_quickest_combination_by_all_reports(self):
        def line(operation, times):
            return {"operation": operation, "message": 1, "in_flight": 1, "alg_bw": 1, "nwrong": 0, "times": times}
        reports = [{"results": [line("tagged", [1, 9, 9]), line("write", [5, 5, 5])]},
                   {"results": [line("tagged", [9, 9, 9]), line("write", [5, 5, 50])]}]
        self.assertEqual(ratios.best_combination(reports)[0], "write")


class Fake:
    """A build folder whose programs write a given report or end with a given status."""

    def __init__(self, folder, version="mpiexec (OpenRTE) 4.1.4"):
        self.root = pathlib.Path(folder)
        (self.root / "perf").mkdir()
        self.script("mpiexec", f'[ "$1" = --version ] && {{ echo "{version}"; exit; }}\n'
                    'while [ "${1##*_perf}" = "$1" ]; do shift; done\nexec "$@"')
        (self.root / "CMakeCache.txt").write_text(f"MPIEXEC_EXECUTABLE:FILEPATH={self.root}/mpiexec\n")

    def script(self, name, text):
        path = self.root / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def program(self, name, gbps, wrong=0, end=""):
        half = {"alg_bw": gbps, "nwrong": wrong}
        report = {"errors": [], "out_of_bounds": {"count": wrong, "okay": wrong == 0},
                  "results": [{"in_place": half, "out_of_place": half}]}
        self.script(f"perf/{name}", f"for last; do :; done\ncat >\"$last\" <<'END'\n{json.dumps(report)}\nEND\n{end}\n")


class Command(unittest.TestCase):
    NAME = "mpi.broadcast.peer.2.1K"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.fake = Fake(folder.name)
        self.raw = self.fake.root / "raw.txt"

    def run_ratios(self, *flags):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = ratios.main([str(self.fake.root), "--pairs", "3", "--output", str(self.raw), *flags])
        return status, out.getvalue(), err.getvalue()

    def test_reports_and_writes_pairs(self):
        self.fake.program("broadcast_perf", 3.0)
        self.fake.program("mpi_broadcast_perf", 2.0)
        status, out, err = self.run_ratios("--only", self.NAME)
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, rf"{self.NAME} +3.000 +2.000 +1.500 +1.500 +1.500 +3")
        pairs = [line for line in self.raw.read_text().splitlines() if not line.startswith("#")]
        self.assertEqual(pairs, [f"{self.NAME} {i} 3.0000 2.0000 1.5000" for i in (1, 2, 3)])
        self.assertIn("--mca btl '^tcp'", self.raw.read_text())

    def expect_refusal(self, reason, name=NAME):
        status, out, err = self.run_ratios("--only", name)
        self.assertEqual(status, 1)
        self.assertIn(reason, err.splitlines()[0])
        self.assertNotIn(name, out)

    def test_refuses_wrong_results(self):
        self.fake.program("broadcast_perf", 3.0, wrong=2)
        self.fake.program("mpi_broadcast_perf", 2.0)
        self.expect_refusal("2 wrong values")

    def test_refuses_a_failed_reference(self):
        self.fake.program("broadcast_perf", 3.0)
        self.fake.program("mpi_broadcast_perf", 2.0, end="echo mpi_broadcast_perf: because >&2; exit 1")
        self.expect_refusal("exit status 1: mpi_broadcast_perf: because")

    def test_refuses_a_missing_program(self):
        self.expect_refusal("is not built")

    def test_refuses_a_library_without_fabric(self):
        self.fake.program("broadcast_perf", 3.0,
                          end="echo NCCL WARN NCCL_P2P_DISABLE is set but Rondo does not use it: ignored")
        self.fake.program("mpi_broadcast_perf", 2.0)
        self.expect_refusal("ignores NCCL_P2P_DISABLE", "mpi.broadcast.tcp.2.1K")

    def test_mpi_over_tcp_needs_open_mpi(self):
        self.assertTrue(Programs(self.fake.root).open_mpi)
        with tempfile.TemporaryDirectory() as folder:
            self.fake = Fake(folder, "HYDRA build details: Version: 4.0.2")
            self.raw = self.fake.root / "raw.txt"
            self.fake.program("broadcast_perf", 3.0)
            self.expect_refusal("is not Open MPI", "mpi.broadcast.tcp.2.1K")


if __name__ == "__main__":
    unittest.main()
