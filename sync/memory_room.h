// How much memory this process may still take before the system ends it: by the control groups that it is in (cgroup,
// as containers have it), and by what the machine has left.
//
// Contract: pages that the system may drop count as free. Nothing: the system does not say. Reads a few small files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

struct MemoryRoom {
  uint64_t bytes = 0;
  std::string whose;  // "the control group /box", "this machine"
};

// proc, groups: where the system tells it; tests have folders of their own.
std::optional<MemoryRoom> memory_room(const std::string& proc = "/proc", const std::string& groups = "/sys/fs/cgroup");

// Of control groups alone. Nothing: none of them has a limit.
std::optional<MemoryRoom> group_room(const std::string& proc = "/proc", const std::string& groups = "/sys/fs/cgroup");
// A group had a limit at the first call of the process.
bool groups_have_limits();

// Memory that is mapped now and written later, when a group would kill the process that takes too much. One thread at a
// time. proc, groups: as above.
class PromisedMemory {
 public:
  explicit PromisedMemory(std::string proc = "/proc", std::string groups = "/sys/fs/cgroup");
  // Error where the groups have no room for all that is promised and not written yet. what: as below.
  void add(uint64_t bytes, const std::string& what);

 private:
  uint64_t written() const;  // bytes that this process has written of memory that is no file's
  const std::string proc_, groups_;
  std::optional<uint64_t> written_before_;  // the first promise
  uint64_t promised_ = 0, left_ = 0;
};

// Error where there is less than that: a process that takes more is killed without a word. what: "the model's weights".
void require_memory(uint64_t bytes, const std::string& what, const std::optional<MemoryRoom>& room = memory_room());

}  // namespace tandem
