// Runs a plan on a processor profile instead of on processors. It computes when each step starts and ends, how many
// bytes move, and the energy. Everything here is modelled; nothing is measured.
//
// Rules, each by name:
//   in order        A device runs its steps one after another. A step begins when the steps that it waits for have
//                   ended.
//   graph calls     The CPU hands every matmul on the NPU over before its first graph, and notices the end of its last
//                   one: two crossings (H7, engine/plan/model_clock/join_cost.h). Fast ones take sync.fast_seconds
//                   each. Slow ones are a driver copy before and a blocking wait behind. Crossings delay the NPU and
//                   the steps that wait for the result. Neighbours in a step with one name are graphs of one matmul.
//   empty queue     A GPU step pays gpu.submit_empty_seconds if it waited while the GPU had nothing else to do. This
//                   holds in a plan that the NPU dominates (prefill), and always with slow synchronisation. If the GPU
//                   dominates (decode), its next kernel is already in the queue (H7).
//   shared memory   An operator at work asks for bytes / seconds. If both devices together ask for more than they can
//                   get, both slow down in the same proportion, until one of them ends (H13).
//   frames          A program that renders queues one job in each period, behind the kernels that the GPU already has
//                   (H14). Kernels are not interrupted. A frame is in time if it ends within its period.
//   static graphs   Graphs of a size that the profile does not have are compiled before the run (plan `online`).
//   energy          Busy seconds x watts of each processor, and the base watts all the time.
//
// Contract: a pure function of plan, profile and options. The plan's devices are kModelledGpu and kModelledNpu, at most
// one of each. Error: an operator that the NPU refuses, or a plan whose steps wait for each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/costs.h"
#include "engine/plan/model_clock/join_cost.h"
#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// Names of the devices in plans for a profile (traits_of()).
inline constexpr const char *kModelledGpu = "gpu", *kModelledNpu = "npu";

struct ClockOptions {
  SyncCost sync = SyncCost::fast;
  int64_t context = 0;  // positions before the batch
  bool load = false;    // beside the profile's rendering program
};

struct ModelSpan {  // one operator, without the crossings before and behind it
  int device = 0, step = 0;
  std::string name, kind;
  double start_seconds = 0, end_seconds = 0;
  double bytes = 0, flops = 0, joules = 0;
};

struct ModelDevice {
  double busy_seconds = 0, bytes = 0, flops = 0, joules = 0;
};

struct ModelRun {
  double seconds = 0;          // from the first step's start to the last one's end
  double compile_seconds = 0;  // compilation of graphs before the run
  std::vector<ModelSpan> spans;
  std::vector<ModelDevice> devices;        // as in the plan
  int64_t crossings = 0;                   // two for each matmul on the NPU
  double cpu_busy_seconds = 0;             // the CPU polls for ends of steps
  double joules = 0;                       // of everything except compilation
  int64_t frames = 0, frames_in_time = 0;  // frames whose period ended within the run

  double bytes() const;
  double bytes_per_second() const { return bytes() / seconds; }
  double watts() const { return joules / seconds; }
};

ModelRun run_model_clock(const Plan& plan, const SocProfile& profile, const ClockOptions& options);

}  // namespace tandem
