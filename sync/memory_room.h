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

// Error where there is less than that: a process that takes more is killed without a word. what: "the model's weights".
void require_memory(uint64_t bytes, const std::string& what, const std::optional<MemoryRoom>& room = memory_room());

}  // namespace tandem
