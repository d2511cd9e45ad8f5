// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The emulated device's runtime, spelled like the CUDA runtime API: the subset that programs around collectives use,
// with CUDA 13's names and values. Link names are rondoEmu_*, so that an object built for the real runtime and one
// built for the emulated device do not link together by accident. C11 and C++17. Every function may be called by any
// thread; the current device is the calling thread's. Kernels are launched through the library only: there is no <<<>>>
// here.
//
// Where the emulated device differs from a GPU:
//   * device and managed memory can be read and written by the host at its address;
//   * cudaFree, cudaFreeHost and cudaIpcCloseMemHandle return at once, and the memory goes when the work that was
//     pending at the call has finished;
//   * cudaMemGetInfo speaks of the machine's memory, which all devices share;
//   * a device is limited to RONDO_EMU_BLOCKS resident blocks, its waves have RONDO_EMU_WAVE lanes, and
//     RONDO_EMU_DEVICES devices are reported.
#ifndef RONDO_EMU_CUDA_RUNTIME_H_
#define RONDO_EMU_CUDA_RUNTIME_H_

#include <stddef.h>

#define CUDART_VERSION 13000
#define CUDART_CB
#define CUDARTAPI
#define __host__
#define __device__

#define RONDO_EMU_SYMBOL(name) __asm__("rondoEmu_" #name) __attribute__((visibility("default")))

#ifdef __cplusplus
#define RONDO_EMU_OR(value) = value
extern "C" {
#else
#define RONDO_EMU_OR(value)
#endif

/* --- types and values */

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorCudartUnloading = 4,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidHostPointer = 16,
  cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInsufficientDriver = 35,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorDeviceUninitialized = 201,
  cudaErrorMapBufferObjectFailed = 205,
  cudaErrorAlreadyMapped = 208,
  cudaErrorNotMapped = 211,
  cudaErrorPeerAccessUnsupported = 217,
  cudaErrorOperatingSystem = 304,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalState = 401,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorPeerAccessNotEnabled = 705,
  cudaErrorContextIsDestroyed = 709,
  cudaErrorAssert = 710,
  cudaErrorHostMemoryAlreadyRegistered = 712,
  cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotPermitted = 800,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureImplicit = 906,
  cudaErrorCapturedEvent = 907,
  cudaErrorTimeout = 909,
  cudaErrorUnknown = 999
} cudaError_t;

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef void (*cudaHostFn_t)(void* userData);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* userData);

#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess 0x04
#define cudaEventRecordDefault 0x00
#define cudaEventRecordExternal 0x01
#define cudaEventWaitDefault 0x00
#define cudaEventWaitExternal 0x01
#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaHostRegisterIoMemory 0x04
#define cudaHostRegisterReadOnly 0x08
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02
#define cudaMemAttachSingle 0x04
#define cudaIpcMemLazyEnablePeerAccess 0x01
#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceScheduleSpin 0x01
#define cudaDeviceScheduleYield 0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceMapHost 0x08

#define CUDA_IPC_HANDLE_SIZE 64
typedef struct cudaIpcMemHandle_st {
  char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcMemHandle_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4 /* the direction follows from the addresses */
};

enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3
};

struct cudaPointerAttributes {
  enum cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int managed;              /* not CUDA's: 1 for managed memory */
  unsigned allocationFlags; /* not CUDA's: the flags given at allocation or registration */
};

enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2
};

enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2
};

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrPciBusId = 33,
  cudaDevAttrPciDeviceId = 34,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrPciDomainId = 50,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrManagedMemory = 83,
  cudaDevAttrHostNativeAtomicSupported = 86,
  cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrCanUseHostPointerForRegisteredMem = 91,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrCanFlushRemoteWrites = 98,
  cudaDevAttrHostRegisterSupported = 99,
  cudaDevAttrDirectManagedMemAccessFromHost = 101,
  cudaDevAttrMaxBlocksPerMultiprocessor = 106,
  cudaDevAttrMemoryPoolsSupported = 115,
  cudaDevAttrGPUDirectRDMASupported = 116,
  cudaDevAttrIpcEventSupport = 125
};

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  size_t totalConstMem;
  int major;
  int minor;
  int multiProcessorCount;
  int integrated;
  int canMapHostMemory;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int asyncEngineCount;
  int unifiedAddressing;
  int memoryBusWidth;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  size_t sharedMemPerMultiprocessor;
  int managedMemory;
  int isMultiGpuBoard;
  int hostNativeAtomicSupported;
  int concurrentManagedAccess;
  int canUseHostPointerForRegisteredMem;
  int cooperativeLaunch;
  int directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor;
  int hostRegisterSupported;
  int memoryPoolsSupported;
  int gpuDirectRDMASupported;
  char gcnArchName[256]; /* HIP's */
};
typedef struct cudaDeviceProp cudaDeviceProp_t;

/* --- errors and versions */
const char* cudaGetErrorString(cudaError_t error) RONDO_EMU_SYMBOL(cudaGetErrorString);
const char* cudaGetErrorName(cudaError_t error) RONDO_EMU_SYMBOL(cudaGetErrorName);
/* Not CUDA's: what exactly was wrong with this thread's latest call, "" if there is no more to say. */
const char* rondoEmuErrorDetail(void) RONDO_EMU_SYMBOL(errorDetail);

/* What a real device has no need of: kernels run on threads of the host, and one that waits may lend its thread to the
   host code it waits for. From now on waiting kernels of any device call help(argument) over and over, from several
   threads at a time; it must not block, makes no call of this API, and returns whether it moved anything. After
   rondoEmuStopHelp(argument) has returned it is not called any more. At most 256 helpers: cudaErrorInvalidValue. */
cudaError_t rondoEmuStartHelp(int (*help)(void* argument), void* argument) RONDO_EMU_SYMBOL(startHelp);
cudaError_t rondoEmuStopHelp(void* argument) RONDO_EMU_SYMBOL(stopHelp);
cudaError_t cudaGetLastError(void) RONDO_EMU_SYMBOL(cudaGetLastError);
cudaError_t cudaPeekAtLastError(void) RONDO_EMU_SYMBOL(cudaPeekAtLastError);
cudaError_t cudaRuntimeGetVersion(int* version) RONDO_EMU_SYMBOL(cudaRuntimeGetVersion);
cudaError_t cudaDriverGetVersion(int* version) RONDO_EMU_SYMBOL(cudaDriverGetVersion);

/* --- devices */
cudaError_t cudaGetDeviceCount(int* count) RONDO_EMU_SYMBOL(cudaGetDeviceCount);
cudaError_t cudaGetDevice(int* device) RONDO_EMU_SYMBOL(cudaGetDevice);
cudaError_t cudaSetDevice(int device) RONDO_EMU_SYMBOL(cudaSetDevice);
cudaError_t cudaSetDeviceFlags(unsigned int flags) RONDO_EMU_SYMBOL(cudaSetDeviceFlags);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device) RONDO_EMU_SYMBOL(cudaGetDeviceProperties);
cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attr, int device)
    RONDO_EMU_SYMBOL(cudaDeviceGetAttribute);
cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) RONDO_EMU_SYMBOL(cudaDeviceGetPCIBusId);
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pciBusId) RONDO_EMU_SYMBOL(cudaDeviceGetByPCIBusId);
cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority)
    RONDO_EMU_SYMBOL(cudaDeviceGetStreamPriorityRange);
cudaError_t cudaDeviceSynchronize(void) RONDO_EMU_SYMBOL(cudaDeviceSynchronize);
cudaError_t cudaDeviceReset(void) RONDO_EMU_SYMBOL(cudaDeviceReset);
cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice)
    RONDO_EMU_SYMBOL(cudaDeviceCanAccessPeer);
cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) RONDO_EMU_SYMBOL(cudaDeviceEnablePeerAccess);
cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) RONDO_EMU_SYMBOL(cudaDeviceDisablePeerAccess);

/* --- memory */
cudaError_t cudaMalloc(void** devPtr, size_t size) RONDO_EMU_SYMBOL(cudaMalloc);
cudaError_t cudaFree(void* devPtr) RONDO_EMU_SYMBOL(cudaFree);
cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags RONDO_EMU_OR(cudaMemAttachGlobal))
    RONDO_EMU_SYMBOL(cudaMallocManaged);
cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t stream) RONDO_EMU_SYMBOL(cudaMallocAsync);
cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t stream) RONDO_EMU_SYMBOL(cudaFreeAsync);
cudaError_t cudaMallocHost(void** ptr, size_t size) RONDO_EMU_SYMBOL(cudaMallocHost);
cudaError_t cudaHostAlloc(void** ptr, size_t size, unsigned int flags) RONDO_EMU_SYMBOL(cudaHostAlloc);
cudaError_t cudaFreeHost(void* ptr) RONDO_EMU_SYMBOL(cudaFreeHost);
cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags) RONDO_EMU_SYMBOL(cudaHostRegister);
cudaError_t cudaHostUnregister(void* ptr) RONDO_EMU_SYMBOL(cudaHostUnregister);
cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags)
    RONDO_EMU_SYMBOL(cudaHostGetDevicePointer);
cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost) RONDO_EMU_SYMBOL(cudaHostGetFlags);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) RONDO_EMU_SYMBOL(cudaMemGetInfo);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* ptr)
    RONDO_EMU_SYMBOL(cudaPointerGetAttributes);

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind) RONDO_EMU_SYMBOL(cudaMemcpy);
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream RONDO_EMU_OR(0)) RONDO_EMU_SYMBOL(cudaMemcpyAsync);
cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count)
    RONDO_EMU_SYMBOL(cudaMemcpyPeer);
cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t count,
                                cudaStream_t stream RONDO_EMU_OR(0)) RONDO_EMU_SYMBOL(cudaMemcpyPeerAsync);
cudaError_t cudaMemset(void* devPtr, int value, size_t count) RONDO_EMU_SYMBOL(cudaMemset);
cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream RONDO_EMU_OR(0))
    RONDO_EMU_SYMBOL(cudaMemsetAsync);

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr) RONDO_EMU_SYMBOL(cudaIpcGetMemHandle);
cudaError_t cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
    RONDO_EMU_SYMBOL(cudaIpcOpenMemHandle);
cudaError_t cudaIpcCloseMemHandle(void* devPtr) RONDO_EMU_SYMBOL(cudaIpcCloseMemHandle);

/* --- streams */
cudaError_t cudaStreamCreate(cudaStream_t* stream) RONDO_EMU_SYMBOL(cudaStreamCreate);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags)
    RONDO_EMU_SYMBOL(cudaStreamCreateWithFlags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority)
    RONDO_EMU_SYMBOL(cudaStreamCreateWithPriority);
cudaError_t cudaStreamDestroy(cudaStream_t stream) RONDO_EMU_SYMBOL(cudaStreamDestroy);
cudaError_t cudaStreamSynchronize(cudaStream_t stream) RONDO_EMU_SYMBOL(cudaStreamSynchronize);
cudaError_t cudaStreamQuery(cudaStream_t stream) RONDO_EMU_SYMBOL(cudaStreamQuery);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags RONDO_EMU_OR(0))
    RONDO_EMU_SYMBOL(cudaStreamWaitEvent);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) RONDO_EMU_SYMBOL(cudaStreamGetDevice);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) RONDO_EMU_SYMBOL(cudaStreamGetFlags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) RONDO_EMU_SYMBOL(cudaStreamGetPriority);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* streamId) RONDO_EMU_SYMBOL(cudaStreamGetId);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status)
    RONDO_EMU_SYMBOL(cudaStreamIsCapturing);
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode)
    RONDO_EMU_SYMBOL(cudaThreadExchangeStreamCaptureMode);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData)
    RONDO_EMU_SYMBOL(cudaLaunchHostFunc);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* userData,
                                  unsigned int flags) RONDO_EMU_SYMBOL(cudaStreamAddCallback);

/* --- events */
cudaError_t cudaEventCreate(cudaEvent_t* event) RONDO_EMU_SYMBOL(cudaEventCreate);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) RONDO_EMU_SYMBOL(cudaEventCreateWithFlags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream RONDO_EMU_OR(0)) RONDO_EMU_SYMBOL(cudaEventRecord);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream RONDO_EMU_OR(0),
                                     unsigned int flags RONDO_EMU_OR(0)) RONDO_EMU_SYMBOL(cudaEventRecordWithFlags);
cudaError_t cudaEventQuery(cudaEvent_t event) RONDO_EMU_SYMBOL(cudaEventQuery);
cudaError_t cudaEventSynchronize(cudaEvent_t event) RONDO_EMU_SYMBOL(cudaEventSynchronize);
cudaError_t cudaEventDestroy(cudaEvent_t event) RONDO_EMU_SYMBOL(cudaEventDestroy);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) RONDO_EMU_SYMBOL(cudaEventElapsedTime);

#ifdef __cplusplus
}  // extern "C"

// Typed forms, as the real header has them.
template <class T>
inline cudaError_t cudaMalloc(T** devPtr, size_t size) {
  return cudaMalloc(reinterpret_cast<void**>(devPtr), size);
}
template <class T>
inline cudaError_t cudaMallocManaged(T** devPtr, size_t size, unsigned int flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(devPtr), size, flags);
}
template <class T>
inline cudaError_t cudaMallocAsync(T** devPtr, size_t size, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(devPtr), size, stream);
}
template <class T>
inline cudaError_t cudaHostAlloc(T** ptr, size_t size, unsigned int flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}
template <class T>
inline cudaError_t cudaMallocHost(T** ptr, size_t size, unsigned int flags = 0) {
  return cudaHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}
template <class T>
inline cudaError_t cudaHostGetDevicePointer(T** pDevice, void* pHost, unsigned int flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(pDevice), pHost, flags);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return cudaEventCreateWithFlags(event, flags);
}
#endif

#undef RONDO_EMU_SYMBOL
#undef RONDO_EMU_OR

#endif
