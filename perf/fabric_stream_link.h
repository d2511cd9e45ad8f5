// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The socket between fabric_stream's two processes: addresses and times go over it, never the measured bytes, and a
// closed one says that the partner is gone. Owned by its process's main thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "fabric_stream_options.h"

namespace perf {

class StreamLink {
 public:
  // Owns the socket; `partner` is its name in messages.
  StreamLink(int socket, std::string partner, int timeout_s);
  ~StreamLink();
  StreamLink(StreamLink&& other) noexcept;
  StreamLink(const StreamLink&) = delete;
  StreamLink& operator=(const StreamLink&) = delete;

  const std::string& partner() const { return partner_; }
  // This side's address as a number, empty where it has none.
  std::string localHost() const;

  void send(const std::string& text) { sendFrame(Kind::Text, text); }
  // The partner's next text; calls `meanwhile` again and again until it is there, which may throw.
  std::string receive(const std::function<void()>& meanwhile);
  // What the partner is told to report. Says nothing when the partner is gone.
  void sendFailure(const std::string& text) noexcept;

  // Throws Failure when the partner has failed or ended. Does not wait.
  void checkPartner();
  // The same as a text, which is waited for a moment: a broken connection of the provider is seen before the reason.
  std::optional<std::string> explainFailure();

 private:
  enum class Kind : char { Text = 't', Failure = 'f' };

  void sendFrame(Kind kind, const std::string& text);
  void fetch();
  std::optional<std::pair<Kind, std::string>> takeFrame();

  int socket_;
  std::string partner_;
  bool ended_ = false;
  std::string arrived_;  // not yet taken
};

// The two ends of a link inside one host.
std::pair<int, int> makeSocketPair();
// Waits up to timeout_s for a partner. Throws UsageError for an address that cannot be used.
int listenForPartner(const HostPort& at, int timeout_s);
int connectToPartner(const HostPort& to, int timeout_s);

}  // namespace perf
