// Gives back the memory that the code of drivers takes. PoCL maps its compiler, 100 MB of libraries. Starting it
// touches 70 MB, and almost none of them are needed once the programs are compiled. The same holds for the code of this
// program that opens devices and reads files.
//
// Contract
//   Construct it before the first driver is loaded. Call give_back() when all drivers are open and idle. It drops the
//   resident pages of file mappings that are new since then, or of this program (or library), not writable and at least
//   1 MiB resident. It keeps a mapping that has a page of the process's own: relocated data is such a page and must
//   stay. A dropped page is only a copy of the file. The next access maps it again from the page cache, so the code
//   still runs and nothing is recompiled. Threads that run such code meanwhile only fault. No thread may load or unload
//   libraries meanwhile. Nothing happens when /proc/self/smaps cannot be read.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace tandem::gpu {

class DriverPages {
 public:
  DriverPages();
  size_t give_back() const;  // returns the bytes that were resident

 private:
  std::set<std::string> known_;  // files that were mapped before
};

}  // namespace tandem::gpu
