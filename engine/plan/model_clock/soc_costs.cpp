#include "engine/plan/model_clock/soc_costs.h"

#include <algorithm>
#include <limits>

#include "engine/plan/model_clock/processor_time.h"

namespace tandem {
namespace {

// The factor by which sharing the memory slows both devices down while they work on parts of one matmul.
double slowdown(const SocProfile& profile, const OpTime& gpu, const OpTime& npu) {
  return std::max(1.0, (gpu.bytes_per_second() + npu.bytes_per_second()) / profile.memory.shared_bytes_per_second);
}

// Predicted seconds of an operator. Only matmuls slow down while both devices work. The other side's demand on the
// memory then counts as if it ran the same matmul.
double seconds_of(const SocProfile& profile, int64_t context, int device, const Operator& op, bool both) {
  const bool on_npu = device == 1;
  if (on_npu && !npu_refusal(profile, op).empty()) return std::numeric_limits<double>::infinity();
  const OpTime gpu = gpu_time(profile, op, context);
  const auto* matmul = std::get_if<MatMul>(&op.body);
  if (matmul == nullptr) return gpu.total();
  const OpTime npu = npu_time(profile, *matmul);
  const OpTime& time = on_npu ? npu : gpu;
  return time.fixed_seconds + time.seconds * (both ? slowdown(profile, gpu, npu) : 1.0);
}

}  // namespace

Dominant dominant_in(const SocProfile& profile, int64_t tokens) {
  return tokens <= profile.npu.decode_tokens ? Dominant::gpu : Dominant::npu;
}

// The NPU has a graph for every number of tokens up to decode_tokens, and beyond that the pre-compiled sizes. The GPU
// runs every operator.
std::vector<DeviceTraits> traits_of(const SocProfile& profile) {
  std::vector<int64_t> sizes;
  for (int64_t tokens = 1; tokens <= profile.npu.decode_tokens; ++tokens) sizes.push_back(tokens);
  std::ranges::copy_if(profile.npu.graph_tokens, std::back_inserter(sizes),
                       [&](int64_t tokens) { return tokens > profile.npu.decode_tokens; });
  const auto everything = [](const Operator&) { return Support{}; };
  const auto on_npu = [profile](const Operator& op) {
    const std::string reason = npu_refusal(profile, op);
    return Support{reason.empty(), reason};
  };
  DeviceTraits npu{.id = kModelledNpu, .supports = on_npu};
  npu.rounds_to_f16 = npu.cuts_rows = npu.static_graphs = true;
  npu.graph_tokens = std::move(sizes);
  npu.row_step = profile.row_step;
  npu.token_step = profile.token_step;
  return {{.id = kModelledGpu, .supports = everything, .cuts_rows = true}, std::move(npu)};
}

// The solver's T_sync and T_copy (H9) come from the same function as the crossings of the clock, so both agree.
PlanCosts costs_of(const SocProfile& profile, const ClockOptions& options, Dominant dominant) {
  PlanCosts costs;
  costs.seconds = [profile, context = options.context](int device, const Operator& op, bool both) {
    return seconds_of(profile, context, device, op, both);
  };
  const JoinCost join = join_cost(profile, options.sync, dominant);
  costs.sync_seconds = join.sync_seconds();
  costs.copy_seconds = join.copy_seconds;
  return costs;
}

}  // namespace tandem
