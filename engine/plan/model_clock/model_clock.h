// Runs a plan on a processor profile instead of on processors: which step starts and ends when, what moves, what it
// costs in energy. Everything here is modelled; nothing is measured.
//
// Rules, each by name:
//   in order        a device runs its steps one after another, each when the steps that it waits for have ended.
//   graph calls     every matmul on the NPU is handed over by the CPU before its first graph and noticed by the CPU
//                   behind its last one: two crossings (H7, engine/plan/model_clock/join_cost.h). Fast:
//                   sync.fast_seconds each. Slow: a driver copy before, a blocking wait behind. They keep the NPU, and
//                   whoever waits for the result, waiting. Neighbours in a step with one name are graphs of one matmul.
//   empty queue     a GPU step that waited for the NPU while the GPU had nothing left to do pays
//                   gpu.submit_empty_seconds: in a plan that the NPU dominates (prefill), and always with slow
//                   synchronisation. Where the GPU dominates (decode), the next kernel has been queued by then (H7).
//   shared memory   operators at work on both devices ask for bytes / seconds each; when that is more than both can
//                   get, both slow down in the same proportion, until either ends (H13).
//   frames          a program that renders queues one job a period, behind the kernels that the GPU was given before
//                   (H14); kernels are not interrupted. A frame is in time when it ends within its period.
//   static graphs   graphs of a size that the profile does not have are compiled before the run (plan `online`).
//   energy          busy seconds x watts of each processor, and the base all the time.
//
// Contract: a pure function of plan, profile and options. Its devices are kModelledGpu and kModelledNpu, one
// of each at most. Error: an operator that the NPU refuses, or a plan whose steps wait for each other.
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

// Devices of plans that are made for a profile (traits_of).
inline constexpr const char *kModelledGpu = "gpu", *kModelledNpu = "npu";

struct ClockOptions {
  SyncCost sync = SyncCost::fast;
  int64_t context = 0;  // positions before the batch
  bool load = false;    // beside the profile's rendering program
};

struct ModelSpan {  // of one operator; the crossings before and behind it not counted in
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
  double compile_seconds = 0;  // before it
  std::vector<ModelSpan> spans;
  std::vector<ModelDevice> devices;  // as in the plan
  int64_t crossings = 0;             // two for each matmul on the NPU
  double cpu_busy_seconds = 0;       // polling for ends of steps
  double joules = 0;                 // of everything, compiling not counted in
  int64_t frames = 0, frames_in_time = 0;

  double bytes() const;
  double bytes_per_second() const { return bytes() / seconds; }
  double watts() const { return joules / seconds; }
};

ModelRun run_model_clock(const Plan& plan, const SocProfile& profile, const ClockOptions& options);

}  // namespace tandem
