#include "engine/plan/expert_block.h"

namespace tandem {

int64_t ExpertBlock::expert_bytes() const {
  size_t bytes = 0;
  for (const auto* parts : {&up, &down})
    for (const Operator* op : *parts) bytes += product(op).w.matrix(0).bytes();
  return static_cast<int64_t>(bytes);
}

const char* ExpertBlock::ends() const {
  const char* name = nullptr;
  for (const auto* ends : {&up_ends, &down_ends})
    for (const Operator* op : *ends) {
      if (std::holds_alternative<Scale>(op->body)) return "factors";
      name = "biases";
    }
  return name;
}

const Operand* rows_of_choices(const Operator& op) {
  if (const auto* scale = std::get_if<Scale>(&op.body)) return scale->chosen ? &scale->x : nullptr;
  const auto* bias = std::get_if<Bias>(&op.body);
  return bias && bias->chosen ? &bias->x : nullptr;
}

Operator with_choices(const Operator& op, const Operand& rows, const Operand& ids, const Operand& places) {
  Operator other = op;
  const auto choose = [&](auto& body) { body.x = rows, body.ids = ids, body.places = places; };
  if (auto* scale = std::get_if<Scale>(&other.body)) choose(*scale);
  if (auto* bias = std::get_if<Bias>(&other.body)) choose(*bias);
  return other;
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
    if (is_first_wave && rows_of_choices(op)) (block.unit ? block.down_ends : block.up_ends).push_back(&op);
    if (std::holds_alternative<ExpertSum>(op.body) && !block.up.empty()) {
      block.sum = &op;
      break;
    }
  }
  return block;
}

}  // namespace tandem
