// Starts a program with nothing of this process: no file but the standard ones, no blocked signal, no handler. It may
// use usable_cores() (sync/affinity.h), whatever the calling thread is pinned to.
//
// Contract: environment holds "NAME=value" entries, all of them. Returns 0 and the child's number, or an error number.
// The caller reaps the child. Threads: any.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

namespace tandem::proof {

struct Spawned {
  std::string program;
  std::vector<std::string> arguments, environment;
  std::array<int, 3> standard{-1, -1, -1};  // files for input, output and errors; -1: /dev/null
  std::string folder{};                     // where it works; empty: where this process does
  // A session of its own outlives a terminal. Otherwise it leads a process group, so that all it starts ends with it.
  bool own_session = false;
};

int spawn(const Spawned& wanted, pid_t& child);

}  // namespace tandem::proof
