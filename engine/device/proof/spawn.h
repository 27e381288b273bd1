// Starts a program that inherits nothing of this process: no file except the standard ones, no blocked signal, no
// signal handler. The program may use usable_cores() (sync/affinity.h), even if the calling thread is pinned to
// fewer cores.
//
// Contract: `environment` holds all variables of the program, each as "NAME=value". spawn() returns 0 and the child's
// process number, or the system's error number. The caller reaps the child. Threads: any.
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
  std::string folder{};                     // working folder; empty: that of this process
  // true: the program leads a session of its own, which outlives a terminal. false: it leads a process group, so that
  // one signal ends it and everything it has started.
  bool own_session = false;
};

int spawn(const Spawned& wanted, pid_t& child);

}  // namespace tandem::proof
