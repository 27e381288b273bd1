// What a device says about itself. A plan or a run asks for what is said here, never for a device by its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/card_name.h"
#include "sync/waiter.h"

namespace tandem {

enum class DeviceKind { gpu, npu, host };
enum class KernelFamily { none, simd, simt };

struct PolicyTest {
  sync::Policy policy = sync::Policy::blocking;
  bool passed = false;
  std::string reason;  // why not, or what was measured
};

struct DeviceInfo {
  std::string id;  // "opencl:0"
  std::string name, driver;
  DeviceKind kind = DeviceKind::host;
  KernelFamily family = KernelFamily::none;
  int64_t memory_bytes = 0, max_allocation_bytes = 0;
  int compute_units = 0;
  std::string units_note;       // where that number comes from, if not from the usual query; it names a guess
  CardName card;                // of a real GPU
  bool discrete = false;        // such a card has memory of its own, behind a bus
  std::vector<int> cores;       // host cores its work runs on; empty: none or unknown
  bool own_memory = false;      // a card behind a bus: it holds weights in its own memory, whatever else is shared
  bool zero_copy = false;       // proven at start
  std::string zero_copy_note;   // how it was proven, or why not
  bool vector_kernels = false;  // its kernels name vectors as wide as a core's registers
  bool fused_fma = false;       // proven at start: the numeric contract holds across devices
  bool exact_quotients = true;  // divides and takes roots with one rounding; proven at start where no CPU does
  bool rounds_to_f16 = false;   // matmul operands, weights too: bits of its own where those are no halves
  bool static_graphs = false;   // a program is a graph compiled for its numbers of tokens: few sizes are at hand
  bool models_time = false;     // estimate() is the clock of a chip that this device stands for
  int64_t listed_tokens = 0;    // passes of up to so many tokens are one launch of a kernel made for their operators
  std::string thread_of;        // id of the device on whose thread it works, in turn with it; "": on one of its own
  bool shares_thread = false;   // another device may work on its thread (open_host_on)
  std::string parameters;       // what it was opened with, "delay_us=100": as DeviceOptions::parameters, in their order
  std::vector<PolicyTest> policies;
};

struct Support {
  bool yes = true;
  std::string reason;  // why not
};

// Error with the reason when the policy did not pass, or was not tried.
void require_policy(const DeviceInfo& info, sync::Policy policy);

}  // namespace tandem
