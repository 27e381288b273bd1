// A mapped part of a file whose pages may go while they are read: another program cuts the file short, a network share
// is gone, a disk has a bad sector. The system raises SIGBUS then, which ends a process.
//
// Contract: while a FileGuard lives, a read of such a page gives zeros, and lost() holds from then on: that page and
// all behind it are zeros. A caller asks lost() before it hands on what was computed from the bytes. Any thread of the
// process may read, a driver's too. Nothing is spent before a page is lost.
//   The handler of SIGBUS is installed with the first guard and removed with the last one. A signal from elsewhere goes
// to the handler that was there before, or ends the process as without a guard. A handler that the program installs
// later stays; for guards to work it calls the one that it has replaced.
// Threads: guards are made and dropped by any thread, outside of signal handlers.
#pragma once

#include <cstddef>
#include <span>

namespace tandem {

class FileGuard {
 public:
  FileGuard() = default;  // guards nothing
  // pages: of a mapping of a file, from its first byte on; writable: mapped with PROT_WRITE too.
  FileGuard(std::span<const std::byte> pages, bool writable);
  FileGuard(FileGuard&& other) noexcept;
  FileGuard& operator=(FileGuard&& other) noexcept;
  ~FileGuard();

  bool lost() const;

 private:
  struct Range;
  friend struct GuardedRanges;
  Range* range_ = nullptr;  // one of a list that is never freed
};

}  // namespace tandem
