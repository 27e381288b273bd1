// Compiling a GPU's kernels takes seconds, and nobody should wait for that: another process does it, at low priority,
// while the text is written by processors that need no compiler.
//
// That a set of kernels is compiled is a mark in the cache's folder, under a name that stands for everything the
// compiled programs depend on: the drivers and what they read (engine/device/proof/driver_files.h), this program, and
// what the model's kernels are (engine/run/kernel_set.h). The mark is set when the warming process has ended well, or
// when it has found that there is no GPU to be warmed: then there is nothing to wait for either.
//
// Contract: nothing here loads a driver. One process at a time warms a set; others that were started for it end at
// once. Threads: any. Failures (a folder that cannot be written, no program to start) mean that nothing is ever marked.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tandem {

class Warming {
 public:
  // set: what the programs depend on beside the drivers; program: the executable that warms, absolute.
  Warming(const std::string& set, const std::string& program);
  ~Warming();
  Warming(const Warming&) = delete;
  Warming& operator=(const Warming&) = delete;

  bool done() const;  // one look at the file system: about a microsecond
  // Starts `program` with these arguments; it lives on when this process ends. False: it could not be started.
  bool start(const std::vector<std::string>& arguments);

  // For the warming process itself.
  bool lock();  // false: another one is at it
  void mark() const noexcept;
  void unmark_all() const noexcept;  // every set
  const std::string& path() const { return path_; }

 private:
  std::string program_, path_;  // of the mark; empty: there is no folder
  mutable pid_t child_ = 0;
  int lock_ = -1;
};

// From now on this process takes what others leave.
void give_way_to_others();

}  // namespace tandem
