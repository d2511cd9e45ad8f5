// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The emulated device's runtime, spelled like the HIP runtime API: the same functions as cuda_runtime.h beside this
// folder (see there for what differs from a GPU), under HIP's names and bound to the same rondoEmu_* symbols. HIP's
// codes and values coincide with CUDA's for all that is here; struct fields have HIP 6's names. C11 and C++17.
#ifndef RONDO_EMU_HIP_HIP_RUNTIME_API_H_
#define RONDO_EMU_HIP_HIP_RUNTIME_API_H_

#include "../cuda_runtime.h"

#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 0
#define HIP_VERSION_PATCH 0
#define HIP_VERSION 60000000

/* HIP's name for a function of cuda_runtime.h. */
#define RONDO_EMU_SYMBOL(name) __asm__("rondoEmu_" #name) __attribute__((visibility("default")))

#ifdef __cplusplus
#define RONDO_EMU_OR(value) = value
extern "C" {
#else
#define RONDO_EMU_OR(value)
#endif

/* --- types and values */
typedef enum hipError_t {
  hipSuccess = cudaSuccess,
  hipErrorInvalidValue = cudaErrorInvalidValue,
  hipErrorOutOfMemory = cudaErrorMemoryAllocation,
  hipErrorMemoryAllocation = cudaErrorMemoryAllocation,
  hipErrorNotInitialized = cudaErrorInitializationError,
  hipErrorInitializationError = cudaErrorInitializationError,
  hipErrorDeinitialized = cudaErrorCudartUnloading,
  hipErrorInvalidConfiguration = cudaErrorInvalidConfiguration,
  hipErrorInvalidDevicePointer = cudaErrorInvalidDevicePointer,
  hipErrorInvalidMemcpyDirection = cudaErrorInvalidMemcpyDirection,
  hipErrorInsufficientDriver = cudaErrorInsufficientDriver,
  hipErrorInvalidDeviceFunction = cudaErrorInvalidDeviceFunction,
  hipErrorNoDevice = cudaErrorNoDevice,
  hipErrorInvalidDevice = cudaErrorInvalidDevice,
  hipErrorMapBufferObjectFailed = cudaErrorMapBufferObjectFailed,
  hipErrorAlreadyMapped = cudaErrorAlreadyMapped,
  hipErrorNotMapped = cudaErrorNotMapped,
  hipErrorPeerAccessUnsupported = cudaErrorPeerAccessUnsupported,
  hipErrorOperatingSystem = cudaErrorOperatingSystem,
  hipErrorInvalidResourceHandle = cudaErrorInvalidResourceHandle,
  hipErrorIllegalState = cudaErrorIllegalState,
  hipErrorNotReady = cudaErrorNotReady,
  hipErrorIllegalAddress = cudaErrorIllegalAddress,
  hipErrorLaunchOutOfResources = cudaErrorLaunchOutOfResources,
  hipErrorInvalidContext = cudaErrorDeviceUninitialized,
  hipErrorMapFailed = cudaErrorMapBufferObjectFailed,
  hipErrorInvalidHandle = cudaErrorInvalidResourceHandle,
  hipErrorLaunchTimeOut = cudaErrorLaunchTimeout,
  hipErrorPeerAccessAlreadyEnabled = cudaErrorPeerAccessAlreadyEnabled,
  hipErrorPeerAccessNotEnabled = cudaErrorPeerAccessNotEnabled,
  hipErrorContextIsDestroyed = cudaErrorContextIsDestroyed,
  hipErrorAssert = cudaErrorAssert,
  hipErrorHostMemoryAlreadyRegistered = cudaErrorHostMemoryAlreadyRegistered,
  hipErrorHostMemoryNotRegistered = cudaErrorHostMemoryNotRegistered,
  hipErrorLaunchFailure = cudaErrorLaunchFailure,
  hipErrorCooperativeLaunchTooLarge = cudaErrorCooperativeLaunchTooLarge,
  hipErrorNotSupported = cudaErrorNotSupported,
  hipErrorStreamCaptureUnsupported = cudaErrorStreamCaptureUnsupported,
  hipErrorStreamCaptureInvalidated = cudaErrorStreamCaptureInvalidated,
  hipErrorStreamCaptureImplicit = cudaErrorStreamCaptureImplicit,
  hipErrorCapturedEvent = cudaErrorCapturedEvent,
  hipErrorUnknown = cudaErrorUnknown
} hipError_t;

typedef cudaStream_t hipStream_t;
typedef cudaEvent_t hipEvent_t;
typedef cudaHostFn_t hipHostFn_t;
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void* userData);
typedef cudaIpcMemHandle_t hipIpcMemHandle_t;
typedef struct cudaDeviceProp hipDeviceProp_t;

#define hipStreamLegacy cudaStreamLegacy
#define hipStreamPerThread cudaStreamPerThread
#define hipStreamDefault cudaStreamDefault
#define hipStreamNonBlocking cudaStreamNonBlocking
#define hipEventDefault cudaEventDefault
#define hipEventBlockingSync cudaEventBlockingSync
#define hipEventDisableTiming cudaEventDisableTiming
#define hipEventInterprocess cudaEventInterprocess
#define hipHostRegisterDefault cudaHostRegisterDefault
#define hipHostRegisterPortable cudaHostRegisterPortable
#define hipHostRegisterMapped cudaHostRegisterMapped
#define hipHostRegisterIoMemory cudaHostRegisterIoMemory
#define hipMemAttachGlobal cudaMemAttachGlobal
#define hipMemAttachHost cudaMemAttachHost
#define hipMemAttachSingle cudaMemAttachSingle
#define hipIpcMemLazyEnablePeerAccess cudaIpcMemLazyEnablePeerAccess
#define hipDeviceScheduleAuto cudaDeviceScheduleAuto
#define hipDeviceScheduleSpin cudaDeviceScheduleSpin
#define hipDeviceScheduleYield cudaDeviceScheduleYield
#define hipDeviceScheduleBlockingSync cudaDeviceScheduleBlockingSync
#define hipDeviceMapHost cudaDeviceMapHost
#define hipHostMallocDefault cudaHostAllocDefault
#define hipHostMallocPortable cudaHostAllocPortable
#define hipHostMallocMapped cudaHostAllocMapped
#define hipHostMallocWriteCombined cudaHostAllocWriteCombined
#define hipDeviceMallocDefault 0x00
#define hipDeviceMallocFinegrained 0x01
#define HIP_IPC_HANDLE_SIZE CUDA_IPC_HANDLE_SIZE

typedef enum hipMemcpyKind {
  hipMemcpyHostToHost = cudaMemcpyHostToHost,
  hipMemcpyHostToDevice = cudaMemcpyHostToDevice,
  hipMemcpyDeviceToHost = cudaMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice = cudaMemcpyDeviceToDevice,
  hipMemcpyDefault = cudaMemcpyDefault
} hipMemcpyKind;

typedef enum hipMemoryType {
  hipMemoryTypeUnregistered = cudaMemoryTypeUnregistered,
  hipMemoryTypeHost = cudaMemoryTypeHost,
  hipMemoryTypeDevice = cudaMemoryTypeDevice,
  hipMemoryTypeManaged = cudaMemoryTypeManaged
} hipMemoryType;

/* The layout of cudaPointerAttributes. */
typedef struct hipPointerAttribute_t {
  hipMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
} hipPointerAttribute_t;

typedef enum hipStreamCaptureStatus {
  hipStreamCaptureStatusNone = cudaStreamCaptureStatusNone,
  hipStreamCaptureStatusActive = cudaStreamCaptureStatusActive,
  hipStreamCaptureStatusInvalidated = cudaStreamCaptureStatusInvalidated
} hipStreamCaptureStatus;

typedef enum hipStreamCaptureMode {
  hipStreamCaptureModeGlobal = cudaStreamCaptureModeGlobal,
  hipStreamCaptureModeThreadLocal = cudaStreamCaptureModeThreadLocal,
  hipStreamCaptureModeRelaxed = cudaStreamCaptureModeRelaxed
} hipStreamCaptureMode;

typedef enum hipDeviceAttribute_t {
  hipDeviceAttributeMaxThreadsPerBlock = cudaDevAttrMaxThreadsPerBlock,
  hipDeviceAttributeMaxSharedMemoryPerBlock = cudaDevAttrMaxSharedMemoryPerBlock,
  hipDeviceAttributeWarpSize = cudaDevAttrWarpSize,
  hipDeviceAttributeMultiprocessorCount = cudaDevAttrMultiProcessorCount,
  hipDeviceAttributeIntegrated = cudaDevAttrIntegrated,
  hipDeviceAttributeCanMapHostMemory = cudaDevAttrCanMapHostMemory,
  hipDeviceAttributeConcurrentKernels = cudaDevAttrConcurrentKernels,
  hipDeviceAttributePciBusId = cudaDevAttrPciBusId,
  hipDeviceAttributePciDeviceId = cudaDevAttrPciDeviceId,
  hipDeviceAttributePciDomainID = cudaDevAttrPciDomainId,
  hipDeviceAttributeMaxThreadsPerMultiProcessor = cudaDevAttrMaxThreadsPerMultiProcessor,
  hipDeviceAttributeUnifiedAddressing = cudaDevAttrUnifiedAddressing,
  hipDeviceAttributeComputeCapabilityMajor = cudaDevAttrComputeCapabilityMajor,
  hipDeviceAttributeComputeCapabilityMinor = cudaDevAttrComputeCapabilityMinor,
  hipDeviceAttributeManagedMemory = cudaDevAttrManagedMemory,
  hipDeviceAttributeConcurrentManagedAccess = cudaDevAttrConcurrentManagedAccess,
  hipDeviceAttributeCooperativeLaunch = cudaDevAttrCooperativeLaunch,
  hipDeviceAttributeMemoryPoolsSupported = cudaDevAttrMemoryPoolsSupported
} hipDeviceAttribute_t;

/* --- errors and versions */
const char* hipGetErrorString(hipError_t error) RONDO_EMU_SYMBOL(cudaGetErrorString);
const char* hipGetErrorName(hipError_t error) RONDO_EMU_SYMBOL(cudaGetErrorName);
hipError_t hipGetLastError(void) RONDO_EMU_SYMBOL(cudaGetLastError);
hipError_t hipPeekAtLastError(void) RONDO_EMU_SYMBOL(cudaPeekAtLastError);
hipError_t hipRuntimeGetVersion(int* version) RONDO_EMU_SYMBOL(cudaRuntimeGetVersion);
hipError_t hipDriverGetVersion(int* version) RONDO_EMU_SYMBOL(cudaDriverGetVersion);

/* --- devices */
hipError_t hipGetDeviceCount(int* count) RONDO_EMU_SYMBOL(cudaGetDeviceCount);
hipError_t hipGetDevice(int* device) RONDO_EMU_SYMBOL(cudaGetDevice);
hipError_t hipSetDevice(int device) RONDO_EMU_SYMBOL(cudaSetDevice);
hipError_t hipSetDeviceFlags(unsigned int flags) RONDO_EMU_SYMBOL(cudaSetDeviceFlags);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* prop, int device) RONDO_EMU_SYMBOL(cudaGetDeviceProperties);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attr, int device)
    RONDO_EMU_SYMBOL(cudaDeviceGetAttribute);
hipError_t hipDeviceGetPCIBusId(char* pciBusId, int len, int device) RONDO_EMU_SYMBOL(cudaDeviceGetPCIBusId);
hipError_t hipDeviceGetByPCIBusId(int* device, const char* pciBusId) RONDO_EMU_SYMBOL(cudaDeviceGetByPCIBusId);
hipError_t hipDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority)
    RONDO_EMU_SYMBOL(cudaDeviceGetStreamPriorityRange);
hipError_t hipDeviceSynchronize(void) RONDO_EMU_SYMBOL(cudaDeviceSynchronize);
hipError_t hipDeviceReset(void) RONDO_EMU_SYMBOL(cudaDeviceReset);
hipError_t hipDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice)
    RONDO_EMU_SYMBOL(cudaDeviceCanAccessPeer);
hipError_t hipDeviceEnablePeerAccess(int peerDevice, unsigned int flags) RONDO_EMU_SYMBOL(cudaDeviceEnablePeerAccess);
hipError_t hipDeviceDisablePeerAccess(int peerDevice) RONDO_EMU_SYMBOL(cudaDeviceDisablePeerAccess);

/* --- memory */
hipError_t hipMalloc(void** devPtr, size_t size) RONDO_EMU_SYMBOL(cudaMalloc);
hipError_t hipFree(void* devPtr) RONDO_EMU_SYMBOL(cudaFree);
hipError_t hipMallocManaged(void** devPtr, size_t size, unsigned int flags RONDO_EMU_OR(hipMemAttachGlobal))
    RONDO_EMU_SYMBOL(cudaMallocManaged);
hipError_t hipMallocAsync(void** devPtr, size_t size, hipStream_t stream) RONDO_EMU_SYMBOL(cudaMallocAsync);
hipError_t hipFreeAsync(void* devPtr, hipStream_t stream) RONDO_EMU_SYMBOL(cudaFreeAsync);
hipError_t hipMallocHost(void** ptr, size_t size) RONDO_EMU_SYMBOL(cudaMallocHost);
hipError_t hipHostMalloc(void** ptr, size_t size, unsigned int flags RONDO_EMU_OR(hipHostMallocDefault))
    RONDO_EMU_SYMBOL(cudaHostAlloc);
hipError_t hipHostFree(void* ptr) RONDO_EMU_SYMBOL(cudaFreeHost);
hipError_t hipHostRegister(void* ptr, size_t size, unsigned int flags) RONDO_EMU_SYMBOL(cudaHostRegister);
hipError_t hipHostUnregister(void* ptr) RONDO_EMU_SYMBOL(cudaHostUnregister);
hipError_t hipHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags)
    RONDO_EMU_SYMBOL(cudaHostGetDevicePointer);
hipError_t hipHostGetFlags(unsigned int* pFlags, void* pHost) RONDO_EMU_SYMBOL(cudaHostGetFlags);
hipError_t hipMemGetInfo(size_t* free, size_t* total) RONDO_EMU_SYMBOL(cudaMemGetInfo);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* ptr)
    RONDO_EMU_SYMBOL(cudaPointerGetAttributes);

hipError_t hipMemcpy(void* dst, const void* src, size_t count, hipMemcpyKind kind) RONDO_EMU_SYMBOL(cudaMemcpy);
hipError_t hipMemcpyAsync(void* dst, const void* src, size_t count, hipMemcpyKind kind,
                          hipStream_t stream RONDO_EMU_OR(0)) RONDO_EMU_SYMBOL(cudaMemcpyAsync);
hipError_t hipMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count)
    RONDO_EMU_SYMBOL(cudaMemcpyPeer);
hipError_t hipMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t count,
                              hipStream_t stream RONDO_EMU_OR(0)) RONDO_EMU_SYMBOL(cudaMemcpyPeerAsync);
hipError_t hipMemset(void* devPtr, int value, size_t count) RONDO_EMU_SYMBOL(cudaMemset);
hipError_t hipMemsetAsync(void* devPtr, int value, size_t count, hipStream_t stream RONDO_EMU_OR(0))
    RONDO_EMU_SYMBOL(cudaMemsetAsync);

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* devPtr) RONDO_EMU_SYMBOL(cudaIpcGetMemHandle);
hipError_t hipIpcOpenMemHandle(void** devPtr, hipIpcMemHandle_t handle, unsigned int flags)
    RONDO_EMU_SYMBOL(cudaIpcOpenMemHandle);
hipError_t hipIpcCloseMemHandle(void* devPtr) RONDO_EMU_SYMBOL(cudaIpcCloseMemHandle);

/* --- streams */
hipError_t hipStreamCreate(hipStream_t* stream) RONDO_EMU_SYMBOL(cudaStreamCreate);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags)
    RONDO_EMU_SYMBOL(cudaStreamCreateWithFlags);
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags, int priority)
    RONDO_EMU_SYMBOL(cudaStreamCreateWithPriority);
hipError_t hipStreamDestroy(hipStream_t stream) RONDO_EMU_SYMBOL(cudaStreamDestroy);
hipError_t hipStreamSynchronize(hipStream_t stream) RONDO_EMU_SYMBOL(cudaStreamSynchronize);
hipError_t hipStreamQuery(hipStream_t stream) RONDO_EMU_SYMBOL(cudaStreamQuery);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags RONDO_EMU_OR(0))
    RONDO_EMU_SYMBOL(cudaStreamWaitEvent);
hipError_t hipStreamGetDevice(hipStream_t stream, int* device) RONDO_EMU_SYMBOL(cudaStreamGetDevice);
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int* flags) RONDO_EMU_SYMBOL(cudaStreamGetFlags);
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) RONDO_EMU_SYMBOL(cudaStreamGetPriority);
hipError_t hipStreamGetId(hipStream_t stream, unsigned long long* streamId) RONDO_EMU_SYMBOL(cudaStreamGetId);
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status)
    RONDO_EMU_SYMBOL(cudaStreamIsCapturing);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode)
    RONDO_EMU_SYMBOL(cudaThreadExchangeStreamCaptureMode);
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t fn, void* userData) RONDO_EMU_SYMBOL(cudaLaunchHostFunc);
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* userData, unsigned int flags)
    RONDO_EMU_SYMBOL(cudaStreamAddCallback);

/* --- events */
hipError_t hipEventCreate(hipEvent_t* event) RONDO_EMU_SYMBOL(cudaEventCreate);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int flags) RONDO_EMU_SYMBOL(cudaEventCreateWithFlags);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream RONDO_EMU_OR(0)) RONDO_EMU_SYMBOL(cudaEventRecord);
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream RONDO_EMU_OR(0),
                                   unsigned int flags RONDO_EMU_OR(0)) RONDO_EMU_SYMBOL(cudaEventRecordWithFlags);
hipError_t hipEventQuery(hipEvent_t event) RONDO_EMU_SYMBOL(cudaEventQuery);
hipError_t hipEventSynchronize(hipEvent_t event) RONDO_EMU_SYMBOL(cudaEventSynchronize);
hipError_t hipEventDestroy(hipEvent_t event) RONDO_EMU_SYMBOL(cudaEventDestroy);
hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t end) RONDO_EMU_SYMBOL(cudaEventElapsedTime);

/* All device memory of the emulated device is fine-grained. */
static inline hipError_t hipExtMallocWithFlags(void** ptr, size_t size, unsigned int flags) {
  return flags <= hipDeviceMallocFinegrained ? hipMalloc(ptr, size) : hipErrorInvalidValue;
}

#ifdef __cplusplus
}  // extern "C"

// Typed forms, as the real header has them.
template <class T>
inline hipError_t hipMalloc(T** ptr, size_t size) {
  return hipMalloc(reinterpret_cast<void**>(ptr), size);
}
template <class T>
inline hipError_t hipMallocManaged(T** ptr, size_t size, unsigned int flags = hipMemAttachGlobal) {
  return hipMallocManaged(reinterpret_cast<void**>(ptr), size, flags);
}
template <class T>
inline hipError_t hipMallocAsync(T** ptr, size_t size, hipStream_t stream) {
  return hipMallocAsync(reinterpret_cast<void**>(ptr), size, stream);
}
template <class T>
inline hipError_t hipHostMalloc(T** ptr, size_t size, unsigned int flags = hipHostMallocDefault) {
  return hipHostMalloc(reinterpret_cast<void**>(ptr), size, flags);
}
#endif

#undef RONDO_EMU_SYMBOL
#undef RONDO_EMU_OR

#endif
