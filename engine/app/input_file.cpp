#include "engine/app/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/app/interrupt.h"
#include "sync/error.h"

namespace tandem::app {

InputFile::InputFile(const std::string& path)
    : is_own_(path != "-"), name_(is_own_ ? path : "standard input"), wait_(name_) {
  std::error_code ignored;
  if (is_own_ && std::filesystem::is_directory(path, ignored))
    throw Error("cannot read the file", path, "It is a folder; name a file");
  // Opening a FIFO without O_NONBLOCK waits for its writer and cannot be interrupted.
  descriptor_ = is_own_ ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : STDIN_FILENO;
  if (descriptor_ < 0) fail();
  wait_.pause();
}

InputFile::~InputFile() {
  if (is_own_) ::close(descriptor_);
}

void InputFile::fail() const { throw Error("cannot read the file", name_, std::strerror(errno)); }

// poll() reports bytes, the end of the file and errors alike. read() does not wait in any of these cases.
bool InputFile::has_something() {
  pollfd ready{descriptor_, POLLIN, 0};
  return ::poll(&ready, 1, 0) != 0;
}

// Waits in short steps, so that an interrupt is noticed and a long wait is reported.
void InputFile::await() {
  wait_.begin();
  pollfd ready{descriptor_, POLLIN, 0};
  for (;;) {
    const int found = ::poll(&ready, 1, static_cast<int>(kLookEvery.count()));
    if (found > 0) break;
    if (found < 0 && errno != EINTR) fail();
    if (found < 0) continue;  // what comes together with a signal, such as the end of the input, is read first
    if (!is_persons_)
      wait_.look();
    else if (interrupted())
      throw Interrupted();
  }
  wait_.pause();
}

// The wait is needed because read() of a FIFO without a writer returns 0, which would mean the end. EAGAIN: another
// process that shares the pipe took the bytes between poll() and read().
size_t InputFile::read(std::span<char> room) {
  for (;;) {
    await();
    const ssize_t count = ::read(descriptor_, room.data(), room.size());
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR && errno != EAGAIN) fail();
  }
}

}  // namespace tandem::app
