# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""Median and quartiles of the ratios of pairs. Pure functions."""
import collections
import statistics

# Fewer say nothing about the spread.
PAIRS_TO_QUOTE = 7

Pair = collections.namedtuple("Pair", "mine reference")  # both in GB/s
Summary = collections.namedtuple("Summary", "pairs mine reference lower median upper")


def ratio_of(pair):
    if pair.mine <= 0 or pair.reference <= 0:
        raise ValueError(f"no speed: {pair.mine} and {pair.reference} GB/s")
    return pair.mine / pair.reference


def summarize(pairs):
    """The medians of both sides, and the quartiles of the pairs' ratios, between which lie half of them; a quartile
    between two ratios is interpolated."""
    if len(pairs) < 2:
        raise ValueError(f"{len(pairs)} pairs: at least 2 are needed")
    lower, median, upper = statistics.quantiles(map(ratio_of, pairs), n=4, method="inclusive")
    return Summary(len(pairs), statistics.median(p.mine for p in pairs), statistics.median(p.reference for p in pairs),
                   lower, median, upper)
