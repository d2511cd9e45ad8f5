#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""README's walk of one broadcast: each function is defined where the README says, and its body calls the next.

Usage: walk.py SOURCE_ROOT
"""
import pathlib
import re
import sys


def bodies(text, name):
    """The bodies of the functions called 'name' that text defines."""
    last = name.split("::")[-1]
    qualified = re.escape(name) if "::" in name else r"(?<![\w:>.&])" + re.escape(last)
    patterns = [qualified, r"(?<![\w:>.&])" + re.escape(last)]  # a member function may be defined inside its class
    found = []
    for pattern in patterns:
        for match in re.finditer(pattern + r"\s*\(", text):
            depth, at = 1, match.end()
            while depth and at < len(text):  # the parameters
                depth += {"(": 1, ")": -1}.get(text[at], 0)
                at += 1
            opening = re.match(r"\s*(const|noexcept|\s)*\{", text[at:])
            if not opening:
                continue
            begin = at = at + opening.end()
            depth = 1
            while depth and at < len(text):
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
            found.append(text[begin:at])
        if found:
            return found
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    section = (root / "README.md").read_text().split("## The walk of one broadcast")[1].split("\n## ")[0]
    hops = re.findall(r"^\d+\. `([\w:]+)` in (\S+?):? ", section, re.M)
    faults = [] if len(hops) == 8 else [f"the walk has {len(hops)} hops, expected 8: {hops}"]
    for (name, file), following in zip(hops, hops[1:] + [None]):
        path = root / file
        found = bodies(re.sub(r"//.*", "", path.read_text()), name) if path.exists() else []
        if not found:
            faults.append(f"{name} is not defined in {file}")
        elif following and not any(re.search(r"\b" + following[0].split("::")[-1] + r"\b", body) for body in found):
            # The FIFO's address is taken by a one-line helper of the class.
            helpers = [h for h in re.findall(r"\b(\w+Slot)\(\)", "".join(found))]
            text = path.read_text()
            if not any(following[0] in body for helper in helpers for body in bodies(text, helper)):
                faults.append(f"{name} does not call {following[0]}")
    print("\n".join(faults) if faults else " -> ".join(name for name, _ in hops))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
