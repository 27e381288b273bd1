// Zeroed memory that no other code uses, for kernels that are launched only to be compiled.
//
// Contract: pages are zero until they are written, and reading them takes no memory. Error when the system refuses the
// mapping. Ownership: the object owns its pages. Threads: any.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>

#include "sync/error.h"

namespace tandem::opencl {

class ShadowPages {
 public:
  explicit ShadowPages(size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw Error("cannot map memory for a kernel's warm-up", std::to_string(bytes) + " bytes");
  }
  ~ShadowPages() { munmap(data_, bytes_); }
  ShadowPages(const ShadowPages&) = delete;
  ShadowPages& operator=(const ShadowPages&) = delete;
  void* data() const { return data_; }

 private:
  size_t bytes_;
  void* data_;
};

}  // namespace tandem::opencl
