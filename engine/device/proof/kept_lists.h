// Restores the environment's lists of drivers and layers after a loader has read them.
//
// Khronos's OpenCL loader writes a zero byte behind each entry of OCL_ICD_FILENAMES and OPENCL_LAYERS that it
// reads. It writes into the environment itself, so a child process would find the first entry only.
//
// Contract: the constructor copies the variables, and the destructor sets those that have changed. Threads: no other
// thread may use the environment while the object lives.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tandem::proof {

// Lives around the loader's first call.
class KeptLists {
 public:
  KeptLists();
  ~KeptLists();
  KeptLists(const KeptLists&) = delete;
  KeptLists& operator=(const KeptLists&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> before_;
};

}  // namespace tandem::proof
