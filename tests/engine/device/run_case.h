// Runs built cases on a device and judges the results in memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/registry.h"
#include "engine/device/vulkan/messages.h"
#include "sync/flag.h"
#include "tests/engine/device/op_case.h"

namespace tandem::testing {

// A device under test. Its pool and flags are destroyed after it. A message of Vulkan's validation layers, up to the
// device's end, fails the test.
struct Bench {
  Bench() = default;
  ~Bench();
  vulkan::Messages messages;
  sync::Pool pool;
  sync::FlagBank flags{pool, 4, "conformance flags"};
  sync::Flag done = flags.make("done");
  uint32_t epoch = 0;
  std::unique_ptr<Device> device;

  // Prepares and launches the operators, and waits for the signal. Throws the device's errors.
  void run(std::span<const Operator> operators);
  // Fails the running test with each message of Vulkan's validation layers.
  void report_messages();
};

// A way to open a device. The names are "host", "host_avx2", "host_portable", "opencl_simd", "opencl_simt",
// "opencl_copies", "opencl_card", "vulkan_simd", "vulkan_simt", "vulkan_copies" and "vulkan_card". Cards copy memory
// and run simt kernels, so their weights lie in pieces of rows (gpu/row_pieces.h). Each other kind of device in the
// registry has its prefix as name.
struct Target {
  std::string name;
  std::string id;  // the argument of open_device
  std::string family = "";
  bool force_copies = false;
};
inline void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }
std::vector<Target> targets();
// The reason why the target cannot be opened here, or "".
std::string missing(const Target& target);
std::unique_ptr<Device> open_target(const Target& target, vulkan::Messages& messages);
// The cases that show something new on the target. Copied memory does not change the kernels of a family, except that
// 8-bit activations use plain ones, and that cards read weights in pieces of rows. So with copies the first case of
// each operator and every fifth case are enough, and on cards all products and lookups.
std::vector<OpCase> telling(const Target& target, std::vector<OpCase> cases);

// Whether the target runs a case that takes turns. Each case runs on one target of every interface and of every family
// of kernels, and on all targets other than GPUs.
bool has_turn(const Target& target, int turn);

// The bytes of all slots of a case.
using Snapshot = std::vector<std::vector<std::byte>>;
Snapshot snapshot(const CaseMemory& memory);
// Whether every byte outside the operator's writes is unchanged.
::testing::AssertionResult untouched_elsewhere(const CaseMemory& memory, const Snapshot& before, const Operator& op);
// Whether a value is as near to the expected one as allowed. NaN is near to NaN alone, an infinity to itself alone.
bool is_within(double value, double expected, double allowed);
// Whether the outputs are within the case's tolerance of the reference.
::testing::AssertionResult close_to(const BuiltCase& reference, const BuiltCase& actual, bool f16_operands);
// Whether the outputs have equal bits.
::testing::AssertionResult same_bits(const BuiltCase& one, const BuiltCase& other);

}  // namespace tandem::testing
