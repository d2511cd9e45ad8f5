#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
"""The include directions between folders, who may name a vendor, and what device code may not use.

Usage: includes.py SOURCE_ROOT. Prints each offence; exit status 1 if there is one. With --self-test it checks that
offences are found.
"""
import pathlib
import re
import sys

BASE, SHARED, ARCH = "src/base", "device/shared", "device/arch"
RUNTIME, EMU = "device/runtime", "device/emu"
PRIMITIVES, COLLECTIVES, KERNELS = "device/primitives", "device/collectives", "device/kernels"
BOOTSTRAP, PEER, FABRIC = "transport/bootstrap", "transport/peer", "transport/fabric"
TOPOLOGY, PLAN, COMM, API = "src/topology", "src/plan", "src/comm", "src/api"

DEVICE_CODE = {SHARED, ARCH, PRIMITIVES, COLLECTIVES}
# folder -> folders of the repository that it may include, besides itself and include/
ALLOWED = {
    BASE: set(),
    SHARED: set(),
    ARCH: {SHARED, EMU},  # arch_emu.h is the emulated device's side of the seam
    PRIMITIVES: {SHARED, ARCH},
    COLLECTIVES: {SHARED, ARCH, PRIMITIVES},
    KERNELS: {SHARED, ARCH, PRIMITIVES, COLLECTIVES, RUNTIME},
    RUNTIME: {BASE},
    EMU: {BASE},
    BOOTSTRAP: {BASE, SHARED, RUNTIME},
    PEER: {BASE, SHARED, RUNTIME},
    FABRIC: {BASE, SHARED, RUNTIME},
    TOPOLOGY: {BASE, SHARED},
    PLAN: {BASE, SHARED, TOPOLOGY},
    COMM: {BASE, SHARED, RUNTIME, KERNELS, BOOTSTRAP, PEER, FABRIC, TOPOLOGY, PLAN},
    API: {BASE, SHARED, RUNTIME, BOOTSTRAP, PEER, FABRIC, TOPOLOGY, PLAN, COMM},
}
VENDOR_FOLDERS = {ARCH, RUNTIME, EMU}
VENDOR_HEADER = re.compile(r"<(cuda|hip/|sm_|cooperative_groups)")
# Libraries that one place uses; mpi.h is for the users' own compiler (include/rondo/mpi.h).
SOLE_USERS = ((r"mpi\.h", None), ("rdma/", "transport/fabric/libfabric/"), (r"hwloc", "src/topology/placement.cc"))
# Past the seam: what device code outside device/arch must not touch by itself.
PAST_THE_SEAM = re.compile(
    r"\b(threadIdx|blockIdx|blockDim|gridDim|__syncthreads|__syncwarp|__shfl\w*|__ballot\w*|__atomic_\w+|__threadfence\w*"
    r"|asm|volatile|__shared__|__builtin_amdgcn\w*)\b|std::atomic")
TARGET_SWITCH = re.compile(r"^\s*#\s*if.*(__CUDA|__HIP|__AMDGCN|NVCC|HIPCC|RONDO_TARGET)", re.M)


def folder_of(path):
    for folder in sorted(ALLOWED, key=len, reverse=True):
        if path == folder or path.startswith(folder + "/"):
            return folder
    return None


def offences(name, text):
    folder = folder_of(name)
    if folder is None:
        return [f"{name}: lies in no known folder"]
    found = []
    code = re.sub(r"//.*", "", text)
    for include in re.findall(r'#include "([^"]+)"', text):
        target = folder_of(include)
        if target is None:
            if not include.startswith("rondo/"):
                found.append(f'{name}: includes "{include}", which is in no known folder')
        elif target != folder and target not in ALLOWED[folder]:
            found.append(f"{name}: {folder} must not include {target} ({include})")
    if folder not in VENDOR_FOLDERS:
        for include in re.findall(r"#include (<[^>]+>)", text):
            if VENDOR_HEADER.match(include):
                found.append(f"{name}: only device/arch, runtime and emu name a vendor ({include})")
    for library, home in SOLE_USERS:
        if re.search(rf"#include <{library}", text) and not name.startswith(home or "/"):
            found.append(f"{name}: includes <{library}...>, which belongs to {home or 'nobody here'}")
    if folder in (PRIMITIVES, COLLECTIVES, KERNELS):
        for match in PAST_THE_SEAM.finditer(code):
            found.append(f"{name}: '{match.group(0)}' goes past the seam")
    if folder not in VENDOR_FOLDERS and name != "device/shared/types.h":  # types.h: the host-device qualifier
        for match in TARGET_SWITCH.finditer(code):
            found.append(f"{name}: target switch outside device/arch, runtime and emu: {match.group(0).strip()}")
    return found


def check_tree(root):
    found = []
    files = 0
    for top in ("src", "device", "transport"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            files += 1
            found += offences(str(path.relative_to(root)), path.read_text())
    if files < 50:
        found.append(f"only {files} files found under {root}: wrong folder?")
    for path in sorted((root / "perf").glob("*")):
        if path.suffix in (".h", ".cc"):
            for include in re.findall(r'#include "([^"]+)"', path.read_text()):
                if "/" in include:
                    found.append(f"perf/{path.name}: perf includes include/ only ({include})")
    return found


def self_test():
    bad = {
        "src/plan/x.cc": '#include "src/comm/communicator.h"\n',
        "device/primitives/x.h": "int i = threadIdx.x;\n",
        "device/collectives/x.h": "#if defined(__CUDACC__)\n#endif\n",
        "src/comm/x.cc": "#include <cuda_runtime.h>\n",
        "device/shared/x.h": '#include "src/base/log.h"\n',
        "transport/peer/x.cc": '#include "src/plan/plan.h"\n',
        "src/api/x.cc": "#include <mpi.h>\n",
        "transport/fabric/x.cc": "#include <rdma/fabric.h>\n",
        "src/topology/x.cc": "#include <hwloc.h>\n",
        "src/new/x.cc": "\n",
    }
    missed = [name for name, text in bad.items() if not offences(name, text)]
    good = offences("device/primitives/x.h", '#include "device/arch/arch.h"\n// asm is a word\n')
    return [f"self-test: the offence in {name} was not found" for name in missed] + [f"self-test: {x}" for x in good]


def main():
    found = self_test() if sys.argv[1:] == ["--self-test"] else check_tree(pathlib.Path(sys.argv[1]))
    print("\n".join(found) if found else "no offence")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
