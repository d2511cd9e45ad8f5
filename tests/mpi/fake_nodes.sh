#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# To be started by mpirun for each process: the processes of one host pass for those of several hosts, each of which has
# about as many, one after another. Usage: mpirun -n RANKS fake_nodes.sh NODES PROGRAM ARGS...
set -eu
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:?not started by mpirun}}
size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:?not started by mpirun}}
nodes=$1
shift
export NCCL_HOSTID=node$((rank * nodes / size))
exec "$@"
