// Runs built cases on a device and judges what it left in memory.
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

// A device under test; its pool and flags die after it. What Vulkan's validation layers say about it, to the end, fails
// the test.
struct Bench {
  Bench() = default;
  ~Bench();
  vulkan::Messages messages;
  sync::Pool pool;
  sync::FlagBank flags{pool, 4, "conformance flags"};
  sync::Flag done = flags.make("done");
  uint32_t epoch = 0;
  std::unique_ptr<Device> device;

  // Prepares, launches, waits for the signal. Throws what the device throws.
  void run(std::span<const Operator> operators);
  // Fails the running test with each message of Vulkan's validation layers.
  void report_messages();
};

// A way to open a device: "host", "host_avx2", "host_portable", "opencl_simd", "opencl_simt", "opencl_copies",
// "vulkan_simd", "vulkan_simt", "vulkan_copies", and by its prefix each other kind of device that the registry opens.
struct Target {
  std::string name;
  std::string id;  // of open_device
  std::string family = "";
  bool force_copies = false;
  bool same_bits = true;  // keeps the numeric contract across devices
};
inline void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }
std::vector<Target> targets();
// Why the target cannot be opened here; empty when it can.
std::string missing(const Target& target);
std::unique_ptr<Device> open_target(const Target& target, vulkan::Messages& messages);
// What of these cases says something new on the target: copied memory changes nothing about the kernels of a family
// (but that plain ones are used for 8-bit activations), so the first case of each operator
// and one in five are enough there.
std::vector<OpCase> telling(const Target& target, std::vector<OpCase> cases);

// Whether a case that takes turns is run on the target. Each is run on one target of every interface and of every
// family of kernels, and on all targets that are no GPU's.
bool has_turn(const Target& target, int turn);

// The bytes of all slots of a case.
using Snapshot = std::vector<std::vector<std::byte>>;
Snapshot snapshot(const CaseMemory& memory);
// Every byte outside the operator's writes is as it was.
::testing::AssertionResult untouched_elsewhere(const CaseMemory& memory, const Snapshot& before, const Operator& op);
// The outputs are within the case's tolerance of the reference's.
::testing::AssertionResult close_to(const BuiltCase& reference, const BuiltCase& actual, bool f16_operands);
// The outputs have equal bits.
::testing::AssertionResult same_bits(const BuiltCase& one, const BuiltCase& other);

}  // namespace tandem::testing
