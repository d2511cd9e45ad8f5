// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "crowd.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace rondo::test {
namespace {

constexpr int kKinds = 9;
constexpr char kHttp[] = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: stranger\r\n\r\n";
constexpr char kTls[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
// How greetings of ranks begin; the secret that follows is not known here.
constexpr const char* kGreetings[] = {"RONDORT1", "RONDOCT1"};

void sendBytes(int fd, const void* data, size_t bytes) {
  // Whoever listens may have closed already.
  [[maybe_unused]] const ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// A whole greeting, right but for the secret, then a frame that says to be as long as can be.
std::vector<char> forgedGreeting(const char* magic) {
  std::vector<char> bytes(128 + 16, '\x01');
  std::memcpy(bytes.data(), magic, 8);
  std::fill(bytes.end() - 8, bytes.end(), '\xff');
  return bytes;
}

std::vector<char> garbage() {
  std::vector<char> bytes(static_cast<size_t>(1 + std::rand() % 2000));
  for (char& byte : bytes) byte = static_cast<char>(std::rand());
  return bytes;
}

}  // namespace

Crowd::~Crowd() {
  for (const int fd : kept_) close(fd);
}

void Crowd::call() {
  const int number = called_++;
  const int fd = connect(ports_[static_cast<size_t>(number) % ports_.size()]);
  if (fd < 0) return;
  // The kinds go round more slowly than the ports, so that each port sees each kind.
  if (speak(fd, number / static_cast<int>(ports_.size()) % kKinds))
    kept_.push_back(fd);
  else
    close(fd);
}

int Crowd::connect(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  while (fd < 0 && !kept_.empty()) {  // out of descriptors: the longest there goes
    close(kept_.front());
    kept_.pop_front();
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
  ++refused_;
  close(fd);
  return -1;
}

// True: the connection stays open.
bool Crowd::speak(int fd, int kind) {
  const char* magic = kGreetings[static_cast<size_t>(std::rand() % 2)];
  const linger reset{1, 0};
  switch (kind) {
    case 0:  // silent
      return true;
    case 1:  // comes and goes
      return false;
    case 2:
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
      return false;
    case 3:
      sendBytes(fd, kHttp, sizeof(kHttp) - 1);
      return true;
    case 4: {
      const auto bytes = garbage();
      sendBytes(fd, bytes.data(), bytes.size());
      return std::rand() % 2 == 0;
    }
    case 5:  // a right beginning, and no more
      sendBytes(fd, magic, static_cast<size_t>(1 + std::rand() % 8));
      return true;
    case 6: {
      const auto bytes = forgedGreeting(magic);
      sendBytes(fd, bytes.data(), bytes.size());
      return true;
    }
    case 7:
      sendBytes(fd, kTls, sizeof(kTls) - 1);
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
      return false;
    default:  // says nothing and hears no answer, but listens
      shutdown(fd, SHUT_WR);
      return true;
  }
}

std::vector<uint16_t> listeningPorts(int pid) {
  std::set<std::string> sockets;  // "socket:[INODE]"
  const std::string folder = "/proc/" + std::to_string(pid);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/fd", error))
    sockets.insert(std::filesystem::read_symlink(entry.path(), error).string());
  std::vector<uint16_t> ports;
  std::ifstream table(folder + "/net/tcp");
  std::string line;
  std::getline(table, line);  // the heading
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string number, local, remote, state, skipped, inode;
    fields >> number >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) fields >> skipped;
    fields >> inode;
    constexpr const char* kListen = "0A";
    if (state == kListen && sockets.contains("socket:[" + inode + "]"))
      ports.push_back(static_cast<uint16_t>(std::stoul(local.substr(local.find(':') + 1), nullptr, 16)));
  }
  return ports;
}

}  // namespace rondo::test
