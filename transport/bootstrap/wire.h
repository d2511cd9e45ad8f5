// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What bootstrap and control connections send: a Hello of fixed length, which proves that the caller knows the secret,
// then frames: a FrameHeader and its payload. Numbers are little-endian, as on every host with a GPU. The length of
// Hello and the kError frame stay the same in all versions, so that a version mismatch can be told. Pure; any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "rondo/rondo.h"

namespace rondo::wire {

constexpr uint32_t kVersion = 4;
constexpr char kRootMagic[8] = {'R', 'O', 'N', 'D', 'O', 'R', 'T', '1'};
constexpr char kControlMagic[8] = {'R', 'O', 'N', 'D', 'O', 'C', 'T', '1'};

struct Hello {
  char magic[8];
  uint64_t secret;
  uint32_t version;
  int32_t rank;
  int32_t ranks;
  int32_t pid;
  char host[64];
  char reserved[32];
};
static_assert(sizeof(Hello) == 128 && std::is_trivially_copyable_v<Hello>);
constexpr size_t kProofBytes = 16;  // magic and secret: nothing else is believed before these are right

// This process's Hello.
Hello makeHello(const char (&magic)[8], uint64_t secret, int rank, int ranks);

// "rank 3 (host:pid)".
std::string describe(const Hello& hello);

enum class FrameType : uint32_t {
  kError = 1,     // ErrorHead and the text; bootstrap and control
  kWelcome = 2,   // root to rank: all ranks have come; control, parent to child: the link is there
  kGather = 3,    // rank to root: its entry; control, child to parent: its subtree's (tree_gather.h)
  kGathered = 4,  // root to rank: all entries; control, parent to child likewise
  kGoodbye = 5,   // rank to root: needs nothing more
  kLeft = 6,      // control: ranks (int32 each) that have left; passed on through the tree
  kLost = 7,      // control: ranks that are out of reach since a connection has ended; passed on likewise
  kNote = 8,      // control: a rank (int32) and what it tells all others; passed on likewise
};

struct FrameHeader {
  uint32_t type;
  uint32_t reserved;
  uint64_t bytes;
};
static_assert(sizeof(FrameHeader) == 16);

struct ErrorHead {
  int32_t code;
  int32_t peer;
};

struct ErrorReport {
  ncclResult_t code = ncclSuccess;
  int peer = -1;
  std::string text;
};
std::vector<char> packError(const ErrorReport& report);
ErrorReport unpackError(const std::vector<char>& payload);

std::vector<char> packRanks(const std::vector<int>& ranks);
// Empty when a rank is not from 0 to count - 1 or the payload is cut short.
std::vector<int> unpackRanks(const std::vector<char>& payload, int count);

// "rank 2" or "ranks 0, 3-5": a part of a message; ascending ranks, the middle of a long list is cut.
std::string rankText(const std::vector<int>& ranks);

}  // namespace rondo::wire
