// Closes a file descriptor.
#pragma once

#include <unistd.h>

namespace tandem {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }  // -1: none

 private:
  int fd_;
};

}  // namespace tandem
