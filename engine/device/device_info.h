// A device's description of itself. A plan or a run decides by these properties, never by the name of a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/card_name.h"
#include "sync/waiter.h"

namespace tandem {

// Commands that choose devices ask for the kind; plans ask for the properties below instead.
//   gpu   may be chosen as the default GPU (best_gpu()); conformance tests take it on every plan
//   npu   `run` and others open the host beside it, for the operators that it lacks
//   host  the processor's own cores: the fallback for every operator; litmus tests and faults leave it out
//   unit  a near-memory unit, which computes experts alone; the host is opened beside it
enum class DeviceKind { gpu, npu, host, unit };

// G1: a near-memory unit, and the card beside which it stands. All of it is what the caller says; nothing is measured.
struct NearMemory {
  double bytes_per_second = 0, macs_per_second = 0;  // of the unit; macs: multiply-adds
  double link_bytes_per_second = 0;                  // from the units to the card
  double host_bytes_per_second = 0;                  // at which the host's cores read experts
  double card_bytes_per_second = 0, card_macs_per_second = 0, card_memory_bytes = 0;
  int64_t memory_bytes = 0;  // of the unit
  bool is_there() const { return memory_bytes > 0; }
};

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
  std::string units_note;       // the origin of that number, if not the usual query; says when it is a guess
  CardName card;                // only for a real GPU
  bool discrete = false;        // the card has its own memory, behind a bus
  std::vector<int> cores;       // the host cores on which its work runs; empty: none, or unknown
  bool own_memory = false;      // a card behind a bus holds weights in its own memory, whatever else is shared
  bool zero_copy = false;       // shares memory with the host; proven at start
  std::string zero_copy_note;   // how it was proven, or why not
  bool vector_kernels = false;  // its kernels use vectors as wide as a core's registers
  bool fused_fma = false;       // proven at start: the numeric contract holds across devices
  bool exact_quotients = true;  // divides and takes roots with one rounding; assumed of CPUs, proven on others
  bool rounds_to_f16 = false;   // matmul operands, weights too; results differ when operands are not halves
  bool cuts_rows = false;       // takes rows of matmuls that plans cut between devices
  bool queued = false;          // its steps wait in a driver's queue, which the host may fill later (H7)
  bool static_graphs = false;   // a program is a graph compiled for fixed numbers of tokens: only a few sizes exist
  bool models_time = false;     // estimate() is the clock of the chip that this device emulates
  NearMemory near_memory{};     // of a near-memory unit
  int64_t listed_tokens = 0;    // passes of up to this many tokens are one launch of a kernel made for their operators
  std::string thread_of;        // id of the device whose thread it shares, in turn with it; "": it has its own thread
  bool shares_thread = false;   // another device may share its thread (open_host_on)
  std::string parameters;       // those it was opened with, "delay_us=100", in the order of DeviceOptions::parameters
  std::vector<PolicyTest> policies;
  std::vector<std::string> kernels;  // which kernels its products use, in words; of GPUs
};

struct Support {
  bool yes = true;
  std::string reason;  // why not
};

// Throws Error with the reason when the policy failed its test, or was not tested.
void require_policy(const DeviceInfo& info, sync::Policy policy);

}  // namespace tandem
