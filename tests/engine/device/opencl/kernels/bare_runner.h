// Runs KernelLaunch values on the first OpenCL device with only the OpenCL C API. So tests can check kernels and
// lowering without the runtime. It blocks, and shares memory by CL_MEM_USE_HOST_PTR. A program is compiled once for
// each source and options.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/gpu/lower.h"
#include "sync/pool.h"

namespace tandem::opencl::test {

using namespace gpu;  // the launches under test

class BareRunner {
 public:
  static BareRunner* instance();  // nullptr if there is no OpenCL device
  static void close();            // for the end of the process: some drivers release nothing after main()
  ~BareRunner();

  // The device lowers its own operators with the same context, so a driver may have compiled the kernels already.
  LoweringContext context() const;
  // Runs the launches in order and waits. Returns the seconds of the whole; throws std::runtime_error with the
  // build log.
  double run(const std::vector<KernelLaunch>& launches);
  // Builds `text` behind kernels/common.cl and runs the kernel of `launch`, for tests of common.cl itself.
  double run_source(const std::string& text, const KernelLaunch& launch);
  // Whether the driver's compiler accepts kernels/STEM.cl with these options.
  bool builds(const std::string& stem, const std::string& options);

 private:
  BareRunner() = default;
  static std::unique_ptr<BareRunner>& kept();
  double run_whole(const std::string& text, const KernelLaunch& launch);
  struct State;
  std::unique_ptr<State> state_;
};

// Memory for tests: a pool, and operands filled from vectors. Canary words follow every operand.
class Memory {
 public:
  template <typename T>
  Operand put(const std::vector<T>& values) {
    Operand at = room(values.size() * sizeof(T));
    std::copy(values.begin(), values.end(), at.as<T>());
    return at;
  }
  Operand room(size_t bytes);  // zeroed, then canaries to the end of the slot
  bool canaries_hold() const;

 private:
  struct Guard {
    const sync::Slot* slot;
    size_t end_bytes;
  };
  sync::Pool pool_;
  std::vector<Guard> guards_;
};

template <typename T>
std::vector<T> values_at(const Operand& at, size_t count) {
  return std::vector<T>(at.as<T>(), at.as<T>() + count);
}

}  // namespace tandem::opencl::test
