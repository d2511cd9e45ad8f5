# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# cmake -DNM=... -DLIBRARY=... -P symbols.cmake: fails if the shared library exports a name of a vendor's runtime, or
# lacks the emulated one's.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " [A-Za-z] _?(cuda|hip|cu[A-Z])[A-Za-z0-9_]*" vendors "${symbols}")
if(vendors)
  message(FATAL_ERROR "${LIBRARY} exports names of a vendor's runtime:${vendors}")
endif()
foreach(name cudaMalloc cudaFree cudaMemcpyAsync cudaStreamCreate cudaEventRecord cudaIpcOpenMemHandle)
  if(NOT symbols MATCHES " T rondoEmu_${name}\n")
    message(FATAL_ERROR "${LIBRARY} does not export rondoEmu_${name}")
  endif()
endforeach()
