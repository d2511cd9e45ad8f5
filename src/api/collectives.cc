// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The collectives of the C API: each checks its arguments and hands a Call to its communicator.
#include "src/api/guard.h"
#include "src/comm/comm_handle.h"
#include "src/comm/group.h"

namespace rondo {
namespace {

static_assert(static_cast<int>(DataType::kInt8) == ncclInt8 && static_cast<int>(DataType::kUint8) == ncclUint8);
static_assert(static_cast<int>(DataType::kInt32) == ncclInt32 && static_cast<int>(DataType::kUint32) == ncclUint32);
static_assert(static_cast<int>(DataType::kInt64) == ncclInt64 && static_cast<int>(DataType::kUint64) == ncclUint64);
static_assert(static_cast<int>(DataType::kFloat16) == ncclFloat16 && static_cast<int>(DataType::kFloat32) == ncclFloat32);
static_assert(static_cast<int>(DataType::kFloat64) == ncclFloat64 &&
              static_cast<int>(DataType::kBfloat16) == ncclBfloat16);
static_assert(static_cast<int>(RedOp::kSum) == ncclSum && static_cast<int>(RedOp::kProd) == ncclProd);
static_assert(static_cast<int>(RedOp::kMax) == ncclMax && static_cast<int>(RedOp::kMin) == ncclMin);
static_assert(static_cast<int>(RedOp::kAvg) == ncclAvg);

DataType checkedType(ncclDataType_t type, bool reduces) {
  const int value = static_cast<int>(type);
  if (value < 0 || value >= ncclNumTypes)
    fail(ncclInvalidArgument, "datatype {}: must be from 0 to {}", value, ncclNumTypes - 1);
  if (type == ncclFloat8e4m3 || type == ncclFloat8e5m2) {
    if (reduces) fail(ncclInvalidArgument, "datatype {}: 8-bit floats cannot be reduced in this version", value);
    return DataType::kUint8;  // moved, not read
  }
  return static_cast<DataType>(value);
}

RedOp checkedOp(ncclRedOp_t op) {
  const int value = static_cast<int>(op);
  if (value < 0 || value >= ncclNumOps) fail(ncclInvalidArgument, "op {}: must be from 0 to {}", value, ncclNumOps - 1);
  return static_cast<RedOp>(value);
}

void checkCount(size_t count, DataType type) {
  const size_t most = SIZE_MAX / 2 / elementBytes(type);
  if (count > most) fail(ncclInvalidArgument, "count {}: must be at most {}", count, most);
}

// NCCL_CHECK_POINTERS=1: kernels must be able to reach the buffer.
void checkBuffer(const void* buffer, const char* name, const Communicator& communicator) {
  requirePointer(buffer, name);
  if (!communicator.checksPointers()) return;
  const runtime::PointerInfo info = runtime::pointerInfo(buffer);
  if (info.kind == runtime::MemoryKind::kUnregisteredHost)
    fail(ncclInvalidArgument, "{} {} is not memory that the device can reach", name, buffer);
  if (info.kind == runtime::MemoryKind::kDevice && info.device != communicator.device()) {
    fail(ncclInvalidArgument, "{} {} is memory of device {}, the communicator's device is {}", name, buffer, info.device,
         communicator.device());
  }
}

void checkOverlap(const void* input, const void* output, uint64_t bytes) {
  const auto in = reinterpret_cast<uintptr_t>(input);
  const auto out = reinterpret_cast<uintptr_t>(output);
  const uintptr_t distance = in > out ? in - out : out - in;
  if (distance != 0 && distance < bytes)
    fail(ncclInvalidArgument, "sendbuff and recvbuff overlap by {} bytes: they must be equal or apart", bytes - distance);
}

std::shared_ptr<Communicator> usable(ncclComm_t comm) {
  const auto handle = registry::find(comm, "comm");
  auto communicator = handle->ready();
  if (handle->finalized()) fail(ncclInvalidUsage, "comm {} was finalized: it takes no further calls", static_cast<void*>(comm));
  communicator->throwIfFailed();
  return communicator;
}

// Only the root's send buffer is looked at; off the root it may be NULL.
Call checkBroadcast(const Communicator& communicator, const void* sendbuff, void* recvbuff, size_t count,
                    ncclDataType_t datatype, int root) {
  Call call{CollectiveKind::kBroadcast, sendbuff, recvbuff, count, checkedType(datatype, false), RedOp::kSum, 0};
  if (root < 0 || root >= communicator.size())
    fail(ncclInvalidArgument, "root {}: must be from 0 to {}", root, communicator.size() - 1);
  call.root = static_cast<uint32_t>(root);
  checkCount(count, call.type);
  const bool isRoot = root == communicator.rank();
  if (count > 0) {
    checkBuffer(recvbuff, "recvbuff", communicator);
    if (isRoot) {
      checkBuffer(sendbuff, "sendbuff", communicator);
      checkOverlap(sendbuff, recvbuff, call.bytes());
    }
  }
  if (!isRoot) call.input = recvbuff;
  return call;
}

Call checkAllReduce(const Communicator& communicator, const void* sendbuff, void* recvbuff, size_t count,
                    ncclDataType_t datatype, ncclRedOp_t op) {
  const Call call{CollectiveKind::kAllReduce, sendbuff, recvbuff, count, checkedType(datatype, true), checkedOp(op), 0};
  checkCount(count, call.type);
  if (count > 0) {
    checkBuffer(sendbuff, "sendbuff", communicator);
    checkBuffer(recvbuff, "recvbuff", communicator);
    checkOverlap(sendbuff, recvbuff, call.bytes());
  }
  return call;
}

}  // namespace
}  // namespace rondo

using namespace rondo;

RONDO_API ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                     int root, ncclComm_t comm, runtime::Stream stream) {
  return guarded("ncclBroadcast", [&] {
    const auto communicator = usable(comm);
    communicator->enqueue({checkBroadcast(*communicator, sendbuff, recvbuff, count, datatype, root), stream});
  });
}

RONDO_API ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                                 runtime::Stream stream) {
  return guarded("ncclBcast", [&] {
    const auto communicator = usable(comm);
    communicator->enqueue({checkBroadcast(*communicator, buff, buff, count, datatype, root), stream});
  });
}

RONDO_API ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                                     ncclRedOp_t op, ncclComm_t comm, runtime::Stream stream) {
  return guarded("ncclAllReduce", [&] {
    const auto communicator = usable(comm);
    communicator->enqueue({checkAllReduce(*communicator, sendbuff, recvbuff, count, datatype, op), stream});
  });
}
