#include "engine/plan/expert_block.h"

namespace tandem {

int64_t ExpertBlock::expert_bytes() const {
  size_t bytes = 0;
  for (const auto* parts : {&up, &down})
    for (const Operator* op : *parts) bytes += product(op).w.matrix(0).bytes();
  return static_cast<int64_t>(bytes);
}

// Recognises the operators of one layer's experts, from its router to the sum. Later waves repeat the same products for
// other experts, so only the first wave's are kept.
ExpertBlock expert_block_at(std::span<const Operator> operators) {
  ExpertBlock block;
  bool is_first_wave = true;
  for (const Operator& op : operators) {
    if (std::holds_alternative<Route>(op.body)) {
      if (&op != &operators.front()) break;
      block.route = &op;
    }
    if (std::holds_alternative<ExpertLists>(op.body)) block.lists = &op;
    if (const auto* fetch = std::get_if<ExpertFetch>(&op.body)) {
      is_first_wave = fetch->wave == 0;
      if (is_first_wave) block.fetch = &op;
    }
    const auto* product = std::get_if<GroupedMatMul>(&op.body);
    if (is_first_wave && product && product->routed) (block.unit ? block.down : block.up).push_back(&op);
    if (std::holds_alternative<Glu>(op.body) && !block.up.empty() && !block.unit) block.unit = &op;
    if (const auto* bias = std::get_if<Bias>(&op.body)) block.has_biases = block.has_biases || bias->chosen;
    if (std::holds_alternative<ExpertSum>(op.body) && !block.up.empty()) {
      block.sum = &op;
      break;
    }
  }
  return block;
}

}  // namespace tandem
