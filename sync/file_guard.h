// Guards a mapped part of a file against pages that vanish while they are read.
//
// Pages vanish when another program cuts the file short, a network share disappears or a disk has a bad sector. The
// system then raises SIGBUS, which ends a process without a guard.
//
// Contract: while a FileGuard lives, a read of a lost page returns zeros, and lost() is true from then on. The lost
// page and all guarded pages behind it are zeros. A caller checks lost() before it hands on results that were computed
// from the bytes. Any thread of the process may read, also one of a driver. A guard costs nothing until a page is lost.
//   The first guard installs the handler of SIGBUS and the last one removes it. A SIGBUS that concerns no guard goes to
//   the handler that was there before, or ends the process as it would without a guard. A handler that the program
//   installs later stays installed. For guards to work, it must call the handler that it replaced.
//   Threads: any thread may make and destroy guards, outside of signal handlers.
#pragma once

#include <cstddef>
#include <span>

namespace tandem {

class FileGuard {
 public:
  FileGuard() = default;  // guards nothing
  // pages: part of a mapping of a file, from the mapping's first byte on. writable: mapped with PROT_WRITE too.
  FileGuard(std::span<const std::byte> pages, bool writable);
  FileGuard(FileGuard&& other) noexcept;
  FileGuard& operator=(FileGuard&& other) noexcept;
  ~FileGuard();

  bool lost() const;

 private:
  struct Range;
  friend struct GuardedRanges;
  Range* range_ = nullptr;  // an element of a list that is never freed
};

}  // namespace tandem
