// The baselines that papers compare their systems with, for studies: H12 of HeteroLLM, N9 of NPUMoE, Y7 of HybriMoE,
// G5 of GPU-NDP.
// `--plan list --all` explains them.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/plan/expert_steps.h"
#include "engine/plan/lane_steps.h"
#include "engine/plan/near_memory_steps.h"
#include "engine/plan/npu_graphs.h"
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"
#include "engine/plan/strategy_list.h"

namespace tandem {
namespace {

// H12, "Padding": a matmul is padded to the next standard size.
TokenLayout padding_graphs(const PlanRequest& request, int npu, const Operator& op) {
  return padded_layout(tokens_of(op), cut_limits(request, npu, op));
}

// H12, "Pipe": a matmul runs in several standard sizes in turn, and the margin is padded.
TokenLayout pipe_graphs(const PlanRequest& request, int npu, const Operator& op) {
  return pipe_layout(tokens_of(op), cut_limits(request, npu, op));
}

// H12, chunked prefill: a matmul runs in graphs of one size, the last one padded. Batches of fewer than 16 tokens run
// in the smallest graph that holds them.
TokenLayout chunked_graphs(const PlanRequest& request, int npu, const Operator& op) {
  const int64_t S = tokens_of(op);
  const CutLimits limits = cut_limits(request, npu, op);
  return S < kFewestTokens ? padded_layout(S, limits) : chunked_layout(S, limits);
}

// H12, "Online-prepare": one graph of exactly S tokens, compiled when a prompt of that length first comes.
TokenLayout online_graphs(const PlanRequest&, int, const Operator& op) { return {{0, tokens_of(op), tokens_of(op)}}; }

// A note of the plan says that the NPU has no graph of this length.
Plan make_online(const PlanRequest& request) {
  Plan plan = multiply_on_npu(request, "online", online_graphs);
  const int64_t S = tokens_of(request.operators.front());
  const std::vector<int64_t>& sizes =
      request.devices[static_cast<size_t>(npu_beside(request, "online").npu)].graph_tokens;
  if (!sizes.empty() && !std::ranges::binary_search(sizes, S)) {
    plan.notes.push_back("the NPU's graphs are compiled for " + std::to_string(S) +
                         " tokens when a batch of that length first comes");
  }
  return plan;
}

using Request = const PlanRequest&;

// G5: who computes experts, whether the GPU takes a share, and whether experts are prefetched.
constexpr NearMemoryRules kOnDemand{UnitShape::none, false, false}, kFiddler{UnitShape::processor, false, false},
    kMonde{UnitShape::whole, true, false}, kTogether{UnitShape::together, false, false},
    kTogetherBalanced{UnitShape::together, true, false}, kTogetherPrefetched{UnitShape::together, false, true};

// Y7: who computes the experts of prompts and of text.
constexpr LaneRules kLayers{.by_layers = true}, kFixed{"fixed", "fixed"}, kFixedTransfer{"gpu-only", "fixed"},
    kCopied{"gpu-only", "gpu-only"}, kKept{"gpu-only", "gpu-only", true, true}, kByItself{"fiddler", "fiddler"},
    kScheduled{};

constexpr Strategy kBaselines[] = {
    {.name = "ndp-on-demand",
     .explains = "G5: the GPU computes every expert, and moves it there each time",
     .make = [](Request request) { return plan_with_units(request, "ndp-on-demand", kOnDemand); },
     .near_memory = &kOnDemand,
     .auto_needs = {.experts = true}},
    {.name = "ndp-fiddler",
     .explains = "G5: the host computes the experts of a text, and the GPU those of a prompt",
     .make = [](Request request) { return plan_with_units(request, "ndp-fiddler", kFiddler); },
     .near_memory = &kFiddler,
     .auto_needs = {.experts = true}},
    {.name = "ndp-monde",
     .explains = "G5: whole experts in near-memory units, some of a text's on the GPU",
     .make = [](Request request) { return plan_with_units(request, "ndp-monde", kMonde); },
     .near_memory = &kMonde,
     .auto_needs = {.experts = true}},
    {.name = "ndp-tp",
     .explains = "G5: near-memory units compute every expert together (G2)",
     .make = [](Request request) { return plan_with_units(request, "ndp-tp", kTogether); },
     .near_memory = &kTogether,
     .auto_needs = {.experts = true}},
    {.name = "ndp-tp-lb",
     .explains = "G5: ndp-tp with a share for the GPU (G3)",
     .make = [](Request request) { return plan_with_units(request, "ndp-tp-lb", kTogetherBalanced); },
     .near_memory = &kTogetherBalanced,
     .auto_needs = {.experts = true}},
    {.name = "ndp-tp-pre",
     .explains = "G5: ndp-tp with prefetched experts on the GPU (G4)",
     .make = [](Request request) { return plan_with_units(request, "ndp-tp-pre", kTogetherPrefetched); },
     .near_memory = &kTogetherPrefetched,
     .auto_needs = {.experts = true}},
    {.name = "padding",
     .explains = "H12: layer, each matmul padded to the NPU's next size",
     .make = [](Request request) { return multiply_on_npu(request, "padding", padding_graphs); }},
    {.name = "pipe",
     .explains = "H12: layer, each matmul in several of the NPU's sizes in turn, the margin padded",
     .make = [](Request request) { return multiply_on_npu(request, "pipe", pipe_graphs); }},
    {.name = "chunked",
     .explains = "H12: layer, a prompt's matmuls in chunks of one size, the last one padded",
     .make = [](Request request) { return multiply_on_npu(request, "chunked", chunked_graphs); }},
    {.name = "online", .explains = "H12: layer, with graphs compiled for the very length", .make = make_online},
    {.name = "moe-cpu",
     .explains = "N9: every operator on the host",
     .make = [](Request request) { return all_on(request, DeviceRole::helper, "the host device", "moe-cpu"); },
     .only = DeviceRole::helper,
     .auto_needs = {.experts = true}},
    {.name = "moe-dense-only",
     .explains = "N9: matmuls of all tokens on the NPU, experts on the GPU",
     .make = [](Request request) { return multiply_on_npu(request, "moe-dense-only", cheaper_layout); },
     .weighs = true,
     .auto_needs = {.experts = true}},
    {.name = "moe-naive",
     .explains = "N9: each expert a graph of its own on the NPU, with room for all tokens; everything else on the GPU",
     .make = [](Request request) { return plan_with_experts(request, "moe-naive", naive_rules, DenseOn::others); },
     .weighs = true,
     .expert_rules = naive_rules,
     .auto_needs = {.experts = true}},
    {.name = "npumoe-base",
     .explains = "N9: each expert a graph of its own on the NPU, all of one capacity; other matmuls as in tensor",
     .make = [](Request request) { return plan_with_experts(request, "npumoe-base", base_rules, DenseOn::shared); },
     .cuts_rows = true,
     .weighs = true,
     .weighs_attention = true,
     .expert_rules = base_rules,
     .auto_needs = {.experts = true}},
    {.name = "npumoe-t",
     .explains = "N9: npumoe-base with capacities in tiers (N2)",
     .make = [](Request request) { return plan_with_experts(request, "npumoe-t", tier_rules, DenseOn::shared); },
     .cuts_rows = true,
     .weighs = true,
     .weighs_attention = true,
     .expert_rules = tier_rules,
     .auto_needs = {.experts = true}},
    {.name = "npumoe-tg",
     .explains = "N9: npumoe-t with experts of a tier in one graph (N3)",
     .make = [](Request request) { return plan_with_experts(request, "npumoe-tg", tier_group_rules, DenseOn::shared); },
     .cuts_rows = true,
     .weighs = true,
     .weighs_attention = true,
     .expert_rules = tier_group_rules,
     .auto_needs = {.experts = true}},
    {.name = "moe-layer-split",
     .explains = "Y7: the first layers on the GPU, as many as its slots hold, and the others on the host",
     .make = [](Request request) { return plan_by_layers(request, "moe-layer-split"); },
     .lanes = &kLayers,
     .among_lanes = true,
     .auto_needs = {.experts = true}},
    {.name = "moe-fixed",
     .explains = "Y7: experts with slots on the GPU, all others on the host; slots never change",
     .make = [](Request request) { return plan_with_lanes(request, "moe-fixed", kFixed); },
     .lanes = &kFixed,
     .among_lanes = true,
     .auto_needs = {.experts = true}},
    {.name = "moe-fixed-transfer",
     .explains = "Y7: as moe-fixed, but a prompt's other experts are copied to the GPU",
     .make = [](Request request) { return plan_with_lanes(request, "moe-fixed-transfer", kFixedTransfer); },
     .lanes = &kFixedTransfer,
     .auto_needs = {.experts = true}},
    {.name = "moe-on-demand",
     .explains = "Y7: all experts on the GPU, copied when they are needed; slots never change",
     .make = [](Request request) { return plan_with_lanes(request, "moe-on-demand", kCopied); },
     .lanes = &kCopied,
     .among_lanes = true,
     .auto_needs = {.experts = true}},
    {.name = "moe-lru",
     .explains = "Y7: all experts on the GPU, copied when they are needed; text keeps them",
     .make = [](Request request) { return plan_with_lanes(request, "moe-lru", kKept); },
     .lanes = &kKept,
     .among_lanes = true,
     .prefetches = true,
     .auto_needs = {.experts = true}},
    {.name = "moe-fiddler",
     .explains = "Y7: each missing expert where it ends sooner by itself; slots never change",
     .make = [](Request request) { return plan_with_lanes(request, "moe-fiddler", kByItself); },
     .lanes = &kByItself,
     .among_lanes = true,
     .auto_needs = {.experts = true}},
    {.name = "moe-schedule",
     .explains = "Y2 alone: hybrimoe whose slots never change",
     .make = [](Request request) { return plan_with_lanes(request, "moe-schedule", kScheduled); },
     .lanes = &kScheduled,
     .chooses_link = true,
     .auto_needs = {.experts = true}},
};

}  // namespace

std::span<const Strategy> baselines() { return kBaselines; }

}  // namespace tandem
