// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "src/base/interfaces.h"

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "tests/unit/child_process.h"

namespace rondo {
namespace {

Interface make(const std::string& name, const std::string& host, bool running = true) {
  return {name, SocketAddress::resolve(host + ":1", AF_UNSPEC).front(), running};
}

std::vector<Interface> typicalHost() {
  return {make("lo", "127.0.0.1"),         make("lo", "[::1]"),           make("docker0", "172.17.0.1"),
          make("eth0", "[fe80::1%lo]"),    make("eth0", "[2001:db8::1]"), make("eth0", "10.0.0.1"),
          make("eth1", "10.0.1.1", false), make("eth10", "10.0.2.1"),     make("ib0", "10.1.0.1"),
          make("vethab", "10.3.0.1")};
}

std::string ranked(const std::vector<Interface>& all, const InterfaceRules& rules) {
  std::string text;
  for (const Interface& entry : rankInterfaces(all, rules))
    text += (text.empty() ? "" : " ") + entry.name + "=" + entry.address.hostText();
  return text;
}

TEST(InterfacesTest, DefaultOrder) {
  EXPECT_EQ(ranked(typicalHost(), {}),
            "ib0=10.1.0.1 eth0=10.0.0.1 eth10=10.0.2.1 eth0=2001:db8::1 eth0=fe80::1%lo docker0=172.17.0.1 "
            "vethab=10.3.0.1 lo=127.0.0.1 lo=::1 eth1=10.0.1.1");
}

TEST(InterfacesTest, LoopbackWhenThereIsNothingElse) {
  EXPECT_EQ(ranked({make("lo", "127.0.0.1")}, {}), "lo=127.0.0.1");
}

TEST(InterfacesTest, PrefixListAndExactNames) {
  EXPECT_EQ(ranked(typicalHost(), {"eth1,docker", ""}), "docker0=172.17.0.1 eth10=10.0.2.1 eth1=10.0.1.1");
  EXPECT_EQ(ranked(typicalHost(), {"=eth1", ""}), "eth1=10.0.1.1");
  EXPECT_EQ(ranked(typicalHost(), {"=eth", ""}), "");
  EXPECT_EQ(ranked(typicalHost(), {"lo", ""}), "lo=127.0.0.1 lo=::1");
}

TEST(InterfacesTest, ExcludingKeepsTheDefaultOrder) {
  EXPECT_EQ(ranked(typicalHost(), {"^eth,ib", ""}), "docker0=172.17.0.1 vethab=10.3.0.1 lo=127.0.0.1 lo=::1");
  EXPECT_EQ(ranked(typicalHost(), {"^=eth1,ib0,eth0", "AF_INET"}),
            "eth10=10.0.2.1 docker0=172.17.0.1 vethab=10.3.0.1 lo=127.0.0.1");
}

TEST(InterfacesTest, Family) {
  EXPECT_EQ(ranked(typicalHost(), {"", "AF_INET6"}), "eth0=2001:db8::1 eth0=fe80::1%lo lo=::1");
  EXPECT_THROW(ranked(typicalHost(), {"", "IPv6"}), Error);
}

TEST(InterfacesTest, UnknownNameListsWhatThereIs) {
  setenv("NCCL_SOCKET_IFNAME", "nosuch", 1);
  try {
    listenOnInterface();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ncclInvalidArgument);
    EXPECT_NE(error.text().find("NCCL_SOCKET_IFNAME=nosuch"), std::string::npos) << error.text();
    EXPECT_NE(error.text().find("lo 127.0.0.1"), std::string::npos) << error.text();
  }
  unsetenv("NCCL_SOCKET_IFNAME");
}

TEST(InterfacesTest, ChoiceIsLoggedOnce) {
  const auto result = test::runInChild([] {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_SOCKET_IFNAME", "=lo", 1);
    setenv("NCCL_SOCKET_FAMILY", "AF_INET", 1);
    listenOnInterface();
    EXPECT_EQ(SocketAddress::ofSocket(listenOnInterface().get()).hostText(), "127.0.0.1");
  });
  const auto lines = test::splitLines(result.output);
  ASSERT_EQ(lines.size(), 1u) << result.output;
  EXPECT_TRUE(lines[0].ends_with("NCCL INFO Bootstrap: using lo:127.0.0.1")) << lines[0];
}

TEST(SocketAddressTest, FormsOfAddresses) {
  EXPECT_EQ(SocketAddress::resolve("1.2.3.4:56", AF_UNSPEC).front().text(), "1.2.3.4:56");
  EXPECT_EQ(SocketAddress::resolve("[::1]:65535", AF_UNSPEC).front().text(), "[::1]:65535");
  EXPECT_EQ(SocketAddress::resolve("[fe80::2%lo]:7", AF_UNSPEC).front().text(), "[fe80::2%lo]:7");
  EXPECT_TRUE(isNumericAddress("[fe80::2%lo]:7"));
  EXPECT_FALSE(isNumericAddress("localhost:7"));
  for (const char* bad :
       {"", ":", "host", "host:", ":5", "1.2.3.4:0", "1.2.3.4:65536", "1.2.3.4:5x", "::1:5", "[::1]", "[]:5"})
    EXPECT_THROW(SocketAddress::resolve(bad, AF_UNSPEC), Error) << bad;
}

}  // namespace
}  // namespace rondo
