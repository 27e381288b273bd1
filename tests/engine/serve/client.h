// An HTTP client of a few lines, which can also misbehave: it sends any bytes, and may read late.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace tandem::testing {

struct Answered {
  int status = 0;  // 0: there was no answer
  std::string head, body;
};

class Client {
 public:
  explicit Client(uint16_t port, int receive_buffer = 0) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval limit{20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { leave(); }
  Client(Client&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), is_open_(other.is_open_), read_(std::move(other.read_)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_open() const { return is_open_; }
  void leave() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // False: the server has closed the connection, or says nothing.
  bool read_some() {
    char bytes[65536];
    const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
    if (got > 0) read_.append(bytes, static_cast<size_t>(got));
    return got > 0;
  }
  bool read_until(std::string_view text) {
    while (read_.find(text) == std::string::npos)
      if (!read_some()) return false;
    return true;
  }
  const std::string& read() const { return read_; }
  std::string read_all() {
    while (read_some()) {
    }
    return read_;
  }

  // Reads one answer, whose length is known, or that comes in chunks, which are joined.
  Answered answer() {
    if (!read_until("\r\n\r\n")) return {};
    Answered result;
    const size_t end = read_.find("\r\n\r\n") + 4;
    result.head = read_.substr(0, end);
    read_.erase(0, end);
    result.status = std::atoi(result.head.c_str() + std::string_view("HTTP/1.1 ").size());
    const size_t length = result.head.find("Content-Length: ");
    if (length != std::string::npos) {
      const size_t bytes = std::strtoull(result.head.c_str() + length + 16, nullptr, 10);
      while (read_.size() < bytes && read_some()) {
      }
      result.body = read_.substr(0, bytes);
      read_.erase(0, bytes);
    } else if (result.head.find("chunked") != std::string::npos) {
      result.body = chunks();
    }
    return result;
  }

 private:
  std::string chunks() {
    std::string body;
    for (;;) {
      if (!read_until("\r\n")) return body;
      const size_t size = std::strtoull(read_.c_str(), nullptr, 16), start = read_.find("\r\n") + 2;
      while (read_.size() < start + size + 2)
        if (!read_some()) return body;
      body += read_.substr(start, size);
      read_.erase(0, start + size + 2);
      if (size == 0) return body;
    }
  }
  int socket_;
  bool is_open_ = false;
  std::string read_;
};

inline std::string get(const std::string& path, const std::string& more = "") {
  std::string request = "GET " + path;
  request.append(" HTTP/1.1\r\nHost: localhost\r\n").append(more).append("\r\n");
  return request;
}

inline std::string post(const std::string& path, const std::string& body, const std::string& more = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
}

inline Answered ask(uint16_t port, const std::string& request) {
  Client client(port);
  client.send(request);
  return client.answer();
}

}  // namespace tandem::testing
