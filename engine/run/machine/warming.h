// Compiles a GPU's kernels in another process, at low priority. This takes seconds. Meanwhile texts run on processors
// that need no compiler.
//
// A mark says that a set of kernels is compiled. It is a file in the cache's folder. Its name is a hash of everything
// that the compiled programs depend on:
//   - the drivers and what they read (engine/device/proof/driver_files.h);
//   - this program;
//   - the model's kernels (engine/run/machine/kernel_set.h).
// The mark is set when the warming process has ended well. It is also set when that process has found no GPU, because
// then there is nothing to wait for.
//
// Contract: nothing here loads a driver. Only one process at a time warms a set, and other processes that were
// started for it end at once. After a failure (a folder that cannot be written, no program to start) no mark is
// ever set. Threads: any.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tandem {

class Warming {
 public:
  // set: what the compiled programs depend on besides drivers and program. program: the executable that
  // warms, an absolute path.
  Warming(const std::string& set, const std::string& program);
  ~Warming();
  Warming(const Warming&) = delete;
  Warming& operator=(const Warming&) = delete;

  bool done() const;  // one look at the file system: about a microsecond
  // Starts `program` with these arguments. It continues when this process ends. False: it could not be started.
  bool start(const std::vector<std::string>& arguments);

  // For the warming process itself.
  bool lock();  // false: another process warms this set, or the lock file cannot be made
  void mark() const noexcept;
  void unmark_all() const noexcept;  // removes the marks of every set
  const std::string& path() const { return path_; }

 private:
  std::string program_, path_;  // path_: the mark's file; empty: there is no folder
  mutable pid_t child_ = 0;
  int lock_ = -1;
};

// From now on this process uses only time that other processes leave.
void give_way_to_others();

}  // namespace tandem
