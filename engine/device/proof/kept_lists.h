// The lists of drivers and layers in the environment, kept whole while a loader reads them.
//
// Khronos's OpenCL loader writes an end into OCL_ICD_FILENAMES and OPENCL_LAYERS behind each entry that it reads. It
// does so in the environment itself, so a child process would find the first entry only.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tandem::proof {

// The destructor puts back what the variables held. Threads: nobody else may use the environment meanwhile.
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
