// The code of drivers in memory: PoCL maps its compiler, 100 MB of libraries of which starting it touches 70, and needs
// next to nothing of them once its programs are compiled. These pages can be given back.
//
// Contract
//   Construct it before the first driver is loaded, call give_back() when all of them are open and idle. Dropped are
//   the resident pages of file mappings that are new since then, not writable, at least 1 MiB resident, and without a
//   page of the process's own (relocated data is such a page: it must stay). What is dropped is a copy of the file and
//   nothing else: the next access maps it again, from the page cache, so that code in it still runs and nothing is
//   recompiled. Threads that run such code meanwhile only fault; none may load or unload libraries. Where
//   /proc/self/smaps cannot be read, nothing happens.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace tandem::gpu {

class DriverPages {
 public:
  DriverPages();
  size_t give_back() const;  // bytes that were resident

 private:
  std::set<std::string> known_;  // files that were mapped before
};

}  // namespace tandem::gpu
