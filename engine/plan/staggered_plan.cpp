#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "engine/plan/placer.h"
#include "engine/plan/staggered.h"
#include "sync/error.h"

namespace tandem {
namespace {

struct Cutters {
  int first = 0, second = 0;
};

StageSeconds seconds_of(const PlanRequest& request, const Placer& placer, const Cutters& cutters, const Stage& stage) {
  StageSeconds seconds;
  for (const Operator& op : stage.operators) {
    seconds.on_first += request.costs.seconds(cutters.first, op, true);
    if (!stage.multiplies) continue;
    const MatMul& matmul = std::get<MatMul>(op.body);
    seconds.panels = std::max(seconds.panels, panel_count(matmul.row_end - matmul.row_begin));
    seconds.on_second += placer.multiplies_exactly(cutters.second, op) ? request.costs.seconds(cutters.second, op, true)
                                                                       : std::numeric_limits<double>::infinity();
  }
  return seconds;
}

struct Half {
  std::vector<Stage> stages;
  std::vector<StageSeconds> seconds;
};

Half half_of(const PlanRequest& request, const Placer& placer, const Cutters& cutters,
             std::span<const Operator> operators, int64_t begin, int64_t end) {
  std::vector<Operator> sliced;
  for (const Operator& op : operators) sliced.push_back(slice_tokens(op, begin, end));
  Half half{stages_of(sliced), {}};
  for (const Stage& stage : half.stages) half.seconds.push_back(seconds_of(request, placer, cutters, stage));
  return half;
}

}  // namespace

Plan staggered(const PlanRequest& request) {
  const std::vector<int> found = row_cutters(request.devices);
  if (found.size() != 2) {
    throw Error("the plan works between two devices, a GPU and an NPU", "staggered",
                std::to_string(found.size()) + " can take part; name two in --device, or use tensor");
  }
  const Cutters cutters{found[0], found[1]};
  const std::span<const Operator> whole = whole_batch(request.operators);
  Placer placer(request);
  if (!whole.empty()) {
    TANDEM_CHECK(bool(request.costs), "the plan staggered weighs operators by their predicted seconds");
    const int64_t S = tokens_of(whole.front());
    const int64_t middle = (S / 2 + kTokenBlock - 1) / kTokenBlock * kTokenBlock;
    const std::array<Half, 2> halves = {half_of(request, placer, cutters, whole, 0, middle),
                                        half_of(request, placer, cutters, whole, middle, S)};
    for (const Slot& slot : best_staggering(halves[0].seconds, halves[1].seconds).slots) {
      if (slot.half_beside >= 0) {
        for (const Operator& op : halves[slot.half_beside].stages[slot.stage_beside].operators)
          placer.place_quietly(op, cutters.first);
      }
      if (slot.half_multiplied >= 0) {
        for (const Operator& op : halves[slot.half_multiplied].stages[slot.stage_multiplied].operators)
          placer.place_cut(op, found, {slot.share_of_first, 1 - slot.share_of_first});
      }
    }
  }
  placer.place_as_tensor(request.operators.subspan(whole.size()), true);
  return placer.finish("staggered");
}

}  // namespace tandem
