// The GPU form of an operator: a list of kernel launches. Launches are plain values. Lowering
// (engine/device/gpu/lower.h) makes them, and the OpenCL or the Vulkan runtime carries them out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/tensor/operand.h"

namespace tandem::gpu {

// OpenCL: two kernel arguments `__global uchar* NAME_base, ulong NAME_offset` (kernels/common.cl: BUFFER(NAME),
// PTR(TYPE, NAME)). Vulkan: the next binding, and its offset as the next word of the push constants. An absent operand
// binds a dummy buffer and offset 0; the kernel must not read it.
struct BufferArg {
  Operand at;
  bool writes = false;
  size_t own_bytes = 0;  // > 0: this much memory of the device's own, the same in all launches of the operator
};
using Arg = std::variant<BufferArg, int32_t, uint32_t, uint64_t, float>;

struct KernelLaunch {
  std::string source;   // file stem in kernels/ and shaders/: "rms_norm_simd"
  std::string kernel;   // function name: the same stem unless a file holds several
  std::string options;  // selects the variant: "-DGROUP=32 -DSUPER=0 ...", build options or specialisation constants
  std::vector<Arg> args;
  std::array<size_t, 3> global{1, 1, 1}, local{1, 1, 1};  // global is a multiple of local
  int64_t tokens = 0;  // S of its operator, set by lower(); with few tokens, a launch costs as much as its work
  size_t op = 0;       // the operator of its program that its time counts for, set by lower_program()
};

// The names and values of KernelLaunch::options.
std::vector<std::pair<std::string, std::string>> constants(const std::string& options);

}  // namespace tandem::gpu
