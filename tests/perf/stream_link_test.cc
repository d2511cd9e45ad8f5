// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "error.h"
#include "fabric_stream_contents.h"
#include "fabric_stream_link.h"

namespace perf {
namespace {

struct Ends {
  std::optional<StreamLink> mine, theirs;

  Ends() {
    const auto [first, second] = makeSocketPair();
    mine.emplace(first, "the partner", 5);
    theirs.emplace(second, "the other partner", 5);
  }
  std::string receive() {
    return mine->receive([] {});
  }
  std::string failureOfReceive() {
    try {
      receive();
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  }
};

TEST(StreamLink, CarriesTexts) {
  Ends ends;
  ends.theirs->send("one");
  ends.theirs->send("");
  ends.theirs->send(std::string("\0two", 4));
  EXPECT_EQ(ends.receive(), "one");
  EXPECT_EQ(ends.receive(), "");
  EXPECT_EQ(ends.receive(), std::string("\0two", 4));
}

TEST(StreamLink, CarriesMoreThanASocketHolds) {
  Ends ends;
  const std::string text(8 << 20, 'x');
  std::thread sender([&] { ends.theirs->send(text); });
  EXPECT_EQ(ends.receive(), text);
  sender.join();
}

TEST(StreamLink, SaysWhyThePartnerFailed) {
  Ends ends;
  EXPECT_NO_THROW(ends.mine->checkPartner());
  ends.theirs->sendFailure("no such thing");
  EXPECT_EQ(ends.mine->explainFailure(), "the partner: no such thing");
  Ends others;
  others.theirs->sendFailure("no such thing");
  EXPECT_EQ(others.failureOfReceive(), "the partner: no such thing");
}

TEST(StreamLink, NoticesThatThePartnerHasEnded) {
  Ends ends;
  ends.theirs.reset();
  EXPECT_THROW(ends.mine->checkPartner(), Failure);
  EXPECT_EQ(ends.failureOfReceive(), "the partner has ended");
  EXPECT_THROW(ends.mine->send("anybody?"), Failure);
  EXPECT_NO_THROW(ends.mine->sendFailure("anybody?"));
}

TEST(StreamLink, KeepsWhatWasSentBeforeTheEnd) {
  Ends ends;
  ends.theirs->send("last words");
  ends.theirs.reset();
  EXPECT_NO_THROW(ends.mine->checkPartner());
  EXPECT_EQ(ends.receive(), "last words");
  EXPECT_THROW(ends.mine->checkPartner(), Failure);
}

TEST(StreamLink, RefusesStrangers) {
  const auto [mine, stranger] = makeSocketPair();
  StreamLink link(mine, "the partner", 5);
  const std::string request = "GET / HTTP/1.0\r\n\r\n";
  ASSERT_EQ(send(stranger, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  EXPECT_THROW(link.receive([] {}), Failure);
  close(stranger);
}

TEST(StreamContents, EveryWrongWordCounts) {
  for (const uint64_t bytes : {1u, 7u, 8u, 9u, 4099u}) {
    std::vector<char> buffer(bytes);
    fillStream(buffer.data(), bytes);
    EXPECT_EQ(countWrongWords(buffer.data(), bytes), 0u);
    buffer[bytes - 1] ^= 1;
    EXPECT_EQ(countWrongWords(buffer.data(), bytes), 1u);
  }
  std::vector<char> buffer(4096);
  fillStream(buffer.data(), buffer.size());
  EXPECT_EQ(countWrongWords(buffer.data() + 8, 2048), 256u) << "words at the wrong place";
}

}  // namespace
}  // namespace perf
