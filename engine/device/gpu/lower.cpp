#include "engine/device/gpu/lower.h"

#include "sync/error.h"

namespace tandem::gpu {
namespace {

// One call operator for each kind of operator, so the compiler reports a kind without a lowering.
struct Lowering {
  const LoweringContext& context;
  auto operator()(const MatMul& op) const { return lower_matmul(op, context); }
  auto operator()(const Embed& op) const { return lower_embed(op, context); }
  auto operator()(const RmsNorm& op) const { return lower_rms_norm(op, context); }
  auto operator()(const Rope& op) const { return lower_rope(op, context); }
  auto operator()(const KvAppend& op) const { return lower_kv_append(op, context); }
  auto operator()(const Attention& op) const { return lower_attention(op, context); }
  auto operator()(const Glu& op) const { return lower_glu(op, context); }
  auto operator()(const Add& op) const { return lower_add(op, context); }
  auto operator()(const Bias& op) const { return lower_bias(op, context); }
  auto operator()(const Scale& op) const { return lower_scale(op, context); }
  auto operator()(const Softmax& op) const { return lower_softmax(op, context); }
  auto operator()(const ArgMax& op) const { return lower_argmax(op, context); }
  auto operator()(const TopK& op) const { return lower_top_k(op, context); }
  auto operator()(const Route& op) const { return lower_route(op, context); }
  auto operator()(const ExpertLists& op) const { return lower_expert_lists(op, context); }
  auto operator()(const GroupedMatMul& op) const { return lower_grouped_matmul(op, context); }
  auto operator()(const ExpertSum& op) const { return lower_expert_sum(op, context); }
  auto operator()(const Copy& op) const { return lower_copy(op, context); }
  auto operator()(const ExpertFetch& op) const { return refused(op.kind()); }
  auto operator()(const ExpertDecide& op) const { return refused(op.kind()); }
  auto operator()(const ExpertMove& op) const { return refused(op.kind()); }
  auto operator()(const ExpertPrefetch& op) const { return refused(op.kind()); }
  auto operator()(const ExpertSides& op) const { return refused(op.kind()); }
  auto operator()(const ExpertSlots& op) const { return refused(op.kind()); }
  auto operator()(const GatherRows& op) const { return refused(op.kind()); }

  static std::vector<KernelLaunch> refused(const char* kind) {
    throw Error("there is no kernel for an operator", kind, "the host beside the NPU computes it");
  }
};

}  // namespace

Support supports_features(const Operator& op) {
  constexpr Features kKnown = features_of(ComputedBy::host_and_gpu);
  const auto missing = missing_feature(op, kKnown);
  return missing ? Support{false, std::string("no kernel for ") + name_of(*missing)} : Support{};
}

// Every launch carries the number of tokens of its operator, because only launches of few tokens become part of a list.
std::vector<KernelLaunch> lower(const Operator& op, const LoweringContext& context) {
  std::vector<KernelLaunch> launches = std::visit(Lowering{context}, op.body);
  const int64_t tokens = tokens_of(op);
  for (KernelLaunch& launch : launches) launch.tokens = tokens;
  return launches;
}

}  // namespace tandem::gpu
