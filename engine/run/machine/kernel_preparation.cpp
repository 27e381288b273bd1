#include "engine/run/machine/kernel_preparation.h"

#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "engine/model/layer_names.h"
#include "engine/plan/partition/cut.h"
#include "engine/plan/placer.h"
#include "engine/plan/schedule.h"

namespace tandem {

// Prepares one operator of each kind that the GPU supports, which compiles its kernel. `role` names what may differ
// between kernels: tensor, kind, format of the weights, number of tokens, and for attention and the cache the kind of
// batch. Plans may share an attention by parts, so the parts are prepared too.
void prepare_kernels(Machine& machine, std::span<const Batch> batches, const OperatorsOf& operators_of) {
  const Device* gpu = machine.first_with(&DeviceInfo::queued);
  if (gpu == nullptr) return;
  std::set<std::string> seen;
  std::vector<Placed> placed;
  for (const Batch& batch : batches) {
    const std::string of_batch = (batch.segments > 1 ? " of many" : "") + std::string(batch.trees ? ", trees" : "");
    for (const Operator& op : operators_of(batch)) {
      const auto* matmul = std::get_if<MatMul>(&op.body);
      const auto* attention = std::get_if<Attention>(&op.body);
      const bool sees_segments = attention != nullptr || std::holds_alternative<KvAppend>(op.body);
      const std::string role = std::string(name_in_layer(op.name)) + " " + kind_name(op) + " " +
                               (matmul ? to_string(matmul->w.format) : "") + " " + std::to_string(tokens_of(op)) +
                               (sees_segments ? of_batch : "");
      if (!gpu->supports(op).yes || !seen.insert(role).second) continue;
      placed.push_back({0, op});
      if (attention == nullptr || !attention->scratch) continue;
      placed.push_back({0, with_body(op, slice_splits(*attention, 0, kAttentionShares))});
      placed.push_back({0, with_body(op, merge_of(*attention))});
    }
  }
  machine.executor().prepare(schedule("kernels", {gpu->info().id}, placed));
}

// Every number of tokens that one list kernel takes, for one text, for several texts, and for trees. Each of the three
// needs its own kernels of attention and cache.
std::vector<Batch> listed_batches(const Machine& machine, const ActivationSizes& sizes) {
  const Device* gpu = machine.first_with(&DeviceInfo::queued);
  if (gpu == nullptr || gpu->info().listed_tokens <= 1) return {};
  const int64_t most = std::min(gpu->info().listed_tokens, sizes.tokens),
                segments = std::min<int64_t>(2, sizes.segments);
  std::vector<Batch> batches;
  for (int64_t S = 1; S <= most; ++S) {
    const int64_t logit_rows = std::min(S, sizes.logit_rows);
    batches.push_back({S, logit_rows, 1, false});
    batches.push_back({S, logit_rows, segments, false});
    if (sizes.tree_depth > 0) batches.push_back({S, logit_rows, segments, true});
  }
  return batches;
}

// A GPU without lists of several tokens compiles or loads a kernel when a number of tokens comes first.
bool has_kernels_of_few_tokens(const Machine& machine) {
  const Device* const gpu = machine.first_with(&DeviceInfo::queued);
  return gpu == nullptr || gpu->info().listed_tokens > 1;
}

}  // namespace tandem
