// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "transport/bootstrap/unique_id.h"

#include <algorithm>
#include <cstring>

#include "src/base/error.h"

namespace rondo {

namespace {

constexpr char kMagic[8] = {'R', 'O', 'N', 'D', 'O', 'I', 'D', '\0'};
constexpr uint32_t kIdVersion = 2;
constexpr uint32_t kFixedAddress = 1;

struct IdBytes {
  char magic[8];
  uint32_t version;
  uint32_t flags;
  uint64_t secret;
  char address[104];  // and behind its end the maker
};
static_assert(sizeof(IdBytes) == sizeof(ncclUniqueId));

}  // namespace

ncclUniqueId encodeId(const IdContent& content) {
  IdBytes bytes{};
  std::memcpy(bytes.magic, kMagic, sizeof(kMagic));
  bytes.version = kIdVersion;
  bytes.flags = content.fixedAddress ? kFixedAddress : 0;
  bytes.secret = content.secret;
  if (content.address.size() >= sizeof(bytes.address))
    fail(ncclInvalidArgument, "the address \"{}\" is too long for a unique id: at most {} characters", content.address,
         sizeof(bytes.address) - 1);
  char* rest = std::copy(content.address.begin(), content.address.end(), bytes.address) + 1;
  const char* end = bytes.address + sizeof(bytes.address);
  if (rest < end) content.maker.copy(rest, static_cast<size_t>(end - rest));
  ncclUniqueId id;
  std::memcpy(&id, &bytes, sizeof(id));
  return id;
}

IdContent decodeId(const ncclUniqueId& id) {
  IdBytes bytes;
  std::memcpy(&bytes, &id, sizeof(bytes));
  if (std::memcmp(bytes.magic, kMagic, sizeof(kMagic)) != 0)
    fail(ncclInvalidArgument, "the unique id was not made by ncclGetUniqueId of this library");
  if (bytes.version != kIdVersion)
    fail(ncclInvalidArgument, "the unique id has version {}, this library reads version {}", bytes.version, kIdVersion);
  const size_t length = strnlen(bytes.address, sizeof(bytes.address));
  if (length == 0 || length == sizeof(bytes.address) || bytes.flags > kFixedAddress)
    fail(ncclInvalidArgument, "the unique id is damaged");
  const size_t room = sizeof(bytes.address) - length - 1;
  const char* maker = bytes.address + length + 1;
  return {bytes.flags == kFixedAddress, bytes.secret, std::string(bytes.address, length),
          std::string(maker, strnlen(maker, room))};
}

uint64_t secretOf(const std::string& address) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : address) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace rondo
