// Carries out KernelLaunch values on the first OpenCL device with nothing but the OpenCL C API, so that kernels and
// lowering are tested apart from the runtime. Blocking, zero-copy by CL_MEM_USE_HOST_PTR; programs are compiled once
// per source and options.
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
  static BareRunner* instance();  // nullptr: no OpenCL device here
  ~BareRunner();

  // The device lowers its own operators with this context too, so a driver has compiled the same kernels already.
  LoweringContext context() const;
  // Runs the launches in order and waits. Returns the seconds the whole took; throws std::runtime_error with the build
  // log.
  double run(const std::vector<KernelLaunch>& launches);
  // Builds `source` (kernels/common.cl in front) and runs `kernel` over raw arguments: for tests of common.cl itself.
  double run_source(const std::string& text, const KernelLaunch& launch);
  // The driver's compiler takes kernels/STEM.cl with these options.
  bool builds(const std::string& stem, const std::string& options);

 private:
  BareRunner() = default;
  double run_whole(const std::string& text, const KernelLaunch& launch);
  struct State;
  std::unique_ptr<State> state_;
};

// Test memory: a pool and operands filled from vectors. Every operand is followed by canary words.
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
