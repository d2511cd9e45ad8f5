# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# Targets that say which device is built for:
#   rondo_headers   include/ and what the public headers need; for the library's users
#   rondo_device    the source root, RONDO_TARGET_*; for the library's own sources
#   rondo_warnings  warnings for our own sources
# and rondo_device_sources(TARGET FILES...): adds sources that hold device code.

add_library(rondo_headers INTERFACE)
target_include_directories(rondo_headers INTERFACE ${PROJECT_SOURCE_DIR}/include)
add_library(rondo_device INTERFACE)
target_include_directories(rondo_device INTERFACE ${PROJECT_SOURCE_DIR})
target_link_libraries(rondo_device INTERFACE rondo_headers)
# A product that is summed is rounded before (device/arch/compute.h); nvcc gets that from intrinsics.
target_compile_options(rondo_device INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
add_library(rondo_warnings INTERFACE)
target_compile_options(rondo_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror=switch -Werror=return-type>)

if(RONDO_DEVICE STREQUAL emu)
  find_package(Boost REQUIRED COMPONENTS context)
  # The emulated device's cuda_runtime.h is found only through this target.
  target_include_directories(rondo_headers BEFORE INTERFACE ${PROJECT_SOURCE_DIR}/include/rondo/emu)
  target_compile_definitions(rondo_device INTERFACE RONDO_TARGET_EMU)
  target_link_libraries(rondo_device INTERFACE Boost::context)
elseif(RONDO_DEVICE STREQUAL cuda)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # machine code for both, and PTX of the newest for later GPUs
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  find_package(CUDAToolkit REQUIRED)
  # CMake 3.25.1 does not know that nvcc takes C++20, which CUDA sources get from CMAKE_CXX_STANDARD.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  target_link_libraries(rondo_headers INTERFACE CUDA::cudart_static)
  target_compile_definitions(rondo_device INTERFACE RONDO_TARGET_CUDA)
elseif(RONDO_DEVICE STREQUAL hip)
  # hipcc is the C++ compiler (see CMakePresets.json): CMake's own HIP language does not configure with Debian's packages.
  set(RONDO_HIP_ARCHITECTURES gfx90a gfx1030 CACHE STRING "AMD targets to build for")
  list(TRANSFORM RONDO_HIP_ARCHITECTURES PREPEND --offload-arch= OUTPUT_VARIABLE rondo_hip_flags)
  target_compile_definitions(rondo_headers INTERFACE __HIP_PLATFORM_AMD__)
  target_compile_definitions(rondo_device INTERFACE RONDO_TARGET_HIP)
  # hipcc takes every .cc file for device code unless told otherwise; rondo_device_sources says -x hip after this.
  target_compile_options(rondo_device INTERFACE "SHELL:-x c++")
else()
  message(FATAL_ERROR "RONDO_DEVICE=${RONDO_DEVICE}: must be emu, cuda or hip")
endif()

function(rondo_device_sources target)
  target_sources(${target} PRIVATE ${ARGN})
  if(RONDO_DEVICE STREQUAL cuda)
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CUDA)
  elseif(RONDO_DEVICE STREQUAL hip)
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "-x;hip;${rondo_hip_flags}")
  endif()
endfunction()
