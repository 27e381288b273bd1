// A plain file of which a program reads and writes bytes at places, with a lock against other processes: a history of
// texts, and its index.
//
// Contract
//   Opening: never blocks. A folder, a FIFO or a device is open, but is no plain file. A new file is for its owner
//   alone. Errors name the path and the system's reason. Threads: one at a time for each object.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tandem {

class PlainFile {
 public:
  // flags: those of open(). thing: what the file is, for users ("history").
  PlainFile(std::string path, int flags, std::string thing);
  ~PlainFile();
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }  // if not, errno says why behind the constructor
  bool is_plain() const;
  // Waits for other processes that have the lock. operation: LOCK_EX or LOCK_SH. The lock ends with this object.
  void lock(int operation) const;
  // Whether the path still names this file. Another process may have put a new one into its place.
  bool is_current() const;
  size_t size() const;
  std::vector<std::byte> first(size_t count) const;  // fewer bytes if the file has become shorter
  // If not all bytes can be written, the file ends at `begin` again.
  void write_at(size_t begin, std::span<const std::byte> bytes) const;
  void cut_at(size_t size) const;
  void set_mode(unsigned mode) const;
  [[noreturn]] void fail(const char* what) const;  // errno says why: "cannot `what` the history"

 private:
  const std::string path_, thing_;
  int descriptor_;
};

}  // namespace tandem
