// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/emu/copy.h"

#include <cstring>
#include <functional>
#include <utility>

#include "device/emu/address.h"
#include "device/emu/api_call.h"
#include "device/emu/device.h"

namespace rondo::emu {
namespace {

enum class Side { kHost, kDevice, kAny };

Side destinationSide(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDeviceToHost:
      return Side::kHost;
    case cudaMemcpyHostToDevice:
    case cudaMemcpyDeviceToDevice:
      return Side::kDevice;
    case cudaMemcpyDefault:
      return Side::kAny;
  }
  return Side::kAny;
}

Side sourceSide(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyHostToDevice:
      return Side::kHost;
    case cudaMemcpyDeviceToHost:
    case cudaMemcpyDeviceToDevice:
      return Side::kDevice;
    case cudaMemcpyDefault:
      return Side::kAny;
  }
  return Side::kAny;
}

// Managed and pinned memory lie on both sides.
cudaError_t checkSide(const char* role, const void* address, size_t bytes, Side side, const AddressInfo& info) {
  if (address == nullptr) return failCall(cudaErrorInvalidValue, "%s is null", role);
  if (info.place == Place::kDead) {
    return failCall(cudaErrorInvalidValue, "%s %p lies in device %d's memory but in no allocation", role, address,
                    info.device);
  }
  if (info.onDevice() && !info.covers(address, bytes)) {
    return failCall(cudaErrorInvalidValue, "%s %p: %zu bytes go beyond its allocation of %zu bytes at %p", role,
                    address, bytes, info.bytes, static_cast<void*>(info.base));
  }
  if (side == Side::kDevice && info.place == Place::kUnknown) {
    return failCall(cudaErrorInvalidValue, "%s %p is not device memory", role, address);
  }
  if (side == Side::kHost && (info.place == Place::kDevice || info.place == Place::kImported)) {
    return failCall(cudaErrorInvalidValue, "%s %p is device memory, the copy's kind says host", role, address);
  }
  return cudaSuccess;
}

struct CheckedCopy {
  AddressInfo destination;
  AddressInfo source;
};

cudaError_t checkCopy(const CopyRequest& request, CheckedCopy& checked) {
  if (static_cast<unsigned>(request.kind) > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  checked.destination = describeAddress(request.destination);
  checked.source = describeAddress(request.source);
  const cudaError_t code =
      checkSide("destination", request.destination, request.bytes, destinationSide(request.kind), checked.destination);
  if (code != cudaSuccess) return code;
  return checkSide("source", request.source, request.bytes, sourceSide(request.kind), checked.source);
}

cudaError_t checkFill(const FillRequest& request, AddressInfo& info) {
  info = describeAddress(request.destination);
  return checkSide("destination", request.destination, request.bytes, Side::kDevice, info);
}

// memmove: ranges that overlap give a defined result.
void perform(const CopyRequest& request) {
  std::memmove(request.destination, request.source, request.bytes);
}
void perform(const FillRequest& request) {
  std::memset(request.destination, request.value, request.bytes);
}

// Runs a request on this thread once all work before it in the null stream's order is done. mayReturnEarly: leaves it
// to the null stream if it would have to wait.
template <class Request>
cudaError_t performNow(const Request& request, bool mayReturnEarly) {
  Device& home = device(currentDevice());
  const std::shared_ptr<Stream> legacy = home.legacyStream();
  const std::vector<StreamPoint> pending = home.pendingBefore(legacy);
  if (!pending.empty() && mayReturnEarly) {
    home.submit(
        legacy, [request] { perform(request); }, TaskKind::kWork);
    return cudaSuccess;
  }
  for (const StreamPoint& point : pending) point.wait();
  if (home.failure() != cudaSuccess) return home.failure();
  perform(request);
  return cudaSuccess;
}

}  // namespace

cudaError_t copyNow(const CopyRequest& request) {
  if (request.bytes == 0) return cudaSuccess;
  CheckedCopy checked;
  const cudaError_t code = checkCopy(request, checked);
  if (code != cudaSuccess) return code;
  return performNow(request, checked.destination.onDevice() && checked.source.onDevice());
}

cudaError_t copyOnStream(const CopyRequest& request, const std::shared_ptr<Stream>& stream) {
  Device& home = stream->device();
  if (home.failure() != cudaSuccess) return home.failure();
  if (request.bytes == 0) return cudaSuccess;
  CheckedCopy checked;
  const cudaError_t code = checkCopy(request, checked);
  if (code != cudaSuccess) return code;
  if (checked.source.place != Place::kUnknown) {
    home.submit(
        stream, [request] { perform(request); }, TaskKind::kWork);
    return cudaSuccess;
  }
  const std::shared_ptr<char[]> staged(new char[request.bytes]);
  std::memcpy(staged.get(), request.source, request.bytes);
  home.submit(
      stream,
      [request, staged] {
        perform(CopyRequest{request.destination, staged.get(), request.bytes, request.kind});
      },
      TaskKind::kWork);
  return cudaSuccess;
}

cudaError_t fillNow(const FillRequest& request) {
  if (request.bytes == 0) return cudaSuccess;
  AddressInfo info;
  const cudaError_t code = checkFill(request, info);
  if (code != cudaSuccess) return code;
  return performNow(request, info.onDevice());
}

cudaError_t fillOnStream(const FillRequest& request, const std::shared_ptr<Stream>& stream) {
  Device& home = stream->device();
  if (home.failure() != cudaSuccess) return home.failure();
  if (request.bytes == 0) return cudaSuccess;
  AddressInfo info;
  const cudaError_t code = checkFill(request, info);
  if (code != cudaSuccess) return code;
  home.submit(
      stream, [request] { perform(request); }, TaskKind::kWork);
  return cudaSuccess;
}

}  // namespace rondo::emu
