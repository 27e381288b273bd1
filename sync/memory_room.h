// How much memory this process may still take before the system ends it.
//
// Two limits count: the control groups of the process (cgroup, used by containers) and the memory that the machine
// has available.
//
// Contract: pages that the system may drop count as free. Nothing: the system does not say. Each call reads a few
// small files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

struct MemoryRoom {
  uint64_t bytes = 0;
  std::string whose;  // "the control group /box", "this machine"
};

// proc, groups: the folders in which the system reports memory; tests have their own folders.
std::optional<MemoryRoom> memory_room(const std::string& proc = "/proc", const std::string& groups = "/sys/fs/cgroup");

// The room by control groups alone. Nothing: no group has a limit.
std::optional<MemoryRoom> group_room(const std::string& proc = "/proc", const std::string& groups = "/sys/fs/cgroup");
// Whether a group had a limit at the first call in this process.
bool groups_have_limits();

// Counts memory that is mapped now and written later. Without this count, a control group could kill the process at the
// write. One thread at a time. proc, groups: as above.
class PromisedMemory {
 public:
  explicit PromisedMemory(std::string proc = "/proc", std::string groups = "/sys/fs/cgroup");
  // Error when the groups have no room for all bytes that are promised and not yet written. what: as
  // for require_memory().
  void add(uint64_t bytes, const std::string& what);

 private:
  uint64_t written() const;  // bytes of anonymous memory that this process has written
  const std::string proc_, groups_;
  std::optional<uint64_t> written_before_;  // written() at the first promise
  uint64_t promised_ = 0, left_ = 0;
};

// Error when less than `bytes` is free. The system kills a process that takes more, without a message. what: "the
// model's weights".
void require_memory(uint64_t bytes, const std::string& what, const std::optional<MemoryRoom>& room = memory_room());

}  // namespace tandem
