// A prompt in two halves, some stages apart: micro-batch pipelining (engine/plan/partition/staggering.h). Batches of
// fewer than 16 tokens go as in `tensor`. So do the operators behind the last layer that run for fewer tokens than the
// batch has. Needs request.costs.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "engine/plan/partition/staggering.h"
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"
#include "sync/error.h"

namespace tandem::plans {
namespace {

struct Cutters {
  int first = 0, second = 0;
};

// The first devices of both sides of a cut, or the first two devices of one side. Others take no part.
Cutters cutters_of(const PlanRequest& request) {
  require_two_cutters(request, "staggered");
  const std::vector<int> cutters = row_cutters(request.devices);
  const int graphs = first_with(request.devices, DeviceRole::graphs);
  return {cutters[0], graphs >= 0 && graphs != cutters[0] ? graphs : cutters[1]};
}

// Times of a stage on both devices. The second device's time is infinite if it would round a matmul or has no graphs
// for it.
StageSeconds seconds_of(const PlanRequest& request, const Placer& placer, const Cutters& cutters, const Stage& stage,
                        Padding padding) {
  StageSeconds seconds;
  for (const Operator& op : stage.operators) {
    seconds.on_first += request.costs.seconds(cutters.first, op, true);
    if (!stage.multiplies) continue;
    const MatMul& matmul = std::get<MatMul>(op.body);
    seconds.panels = std::max(seconds.panels, panel_count(matmul.row_end - matmul.row_begin));
    seconds.on_second += placer.multiplies_exactly(cutters.second, op) ? placer.seconds_on(cutters.second, op, padding)
                                                                       : std::numeric_limits<double>::infinity();
  }
  return seconds;
}

// One half of the tokens. The first half must not be padded, because the second half's tokens lie behind it.
struct Half {
  Padding padding = Padding::forbidden;
  std::vector<Stage> stages;
  std::vector<StageSeconds> seconds;
};

Half half_of(const PlanRequest& request, const Placer& placer, const Cutters& cutters,
             std::span<const Operator> operators, int64_t begin, int64_t end, Padding padding) {
  std::vector<Operator> sliced;
  for (const Operator& op : operators) sliced.push_back(slice_tokens(op, begin, end));
  Half half{padding, stages_of(sliced), {}};
  for (const Stage& stage : half.stages)
    half.seconds.push_back(seconds_of(request, placer, cutters, stage, half.padding));
  return half;
}

// The number of tokens nearest to half of S that the NPU's sizes add up to. If no sizes add up to any number below S,
// it is half of S, rounded up to whole blocks.
int64_t middle_of(int64_t S, const CutLimits& limits) {
  int64_t middle = (S / 2 + kTokenBlock - 1) / kTokenBlock * kTokenBlock;
  int64_t nearest = S;
  for (const TokenLayout& layout : layouts_of_fewer(S, limits)) {
    const int64_t tokens = tokens_in(layout), distance = std::abs(2 * tokens - S);
    if (distance <= nearest) middle = tokens, nearest = distance;
  }
  return middle;
}

// In each slot of the schedule the first device runs a stage of one half, while both devices multiply for the other
// half. Operators are placed slot by slot, which is also the order in which each device runs them.
Plan make_staggered(const PlanRequest& request) {
  const Cutters cutters = cutters_of(request);
  const std::span<const Operator> whole = whole_batch(request.operators);
  Placer placer(request);
  if (!whole.empty()) {
    TANDEM_CHECK(bool(request.costs), "the plan staggered weighs operators by their predicted seconds");
    const int64_t S = tokens_of(whole.front());
    const int64_t middle = middle_of(S, token_limits(request.devices[cutters.second], S));
    const std::array<Half, 2> halves = {half_of(request, placer, cutters, whole, 0, middle, Padding::forbidden),
                                        half_of(request, placer, cutters, whole, middle, S, Padding::allowed)};
    for (const Slot& slot : best_staggering(halves[0].seconds, halves[1].seconds).slots) {
      if (slot.half_beside >= 0) {
        for (const Operator& op : halves[slot.half_beside].stages[slot.stage_beside].operators)
          placer.place_quietly(op, cutters.first);
      }
      if (slot.half_multiplied >= 0) {
        for (const Operator& op : halves[slot.half_multiplied].stages[slot.stage_multiplied].operators)
          placer.place_cut(op, std::array{cutters.first, cutters.second},
                           {slot.share_of_first, 1 - slot.share_of_first}, halves[slot.half_multiplied].padding);
      }
    }
  }
  // The two halves end here, because the operators behind run for fewer tokens than the batch has.
  placer.place_as_tensor(request.operators.subspan(whole.size()), true);
  return placer.finish("staggered");
}

}  // namespace

extern const Strategy staggered;
const Strategy staggered{
    .name = "staggered",
    .explains =
        "tensor, with a prompt in two halves some stages apart: the NPU multiplies for one while the GPU does the "
        "other's norms, rotation and attention",
    .make = make_staggered,
    .cuts_rows = true,
    .weighs = true,
    .weighs_attention = true,
    .tried_by_auto = true,
    .auto_needs = {.npu = true, .cutters = 2},
    .beside_simulated = 1.06,  // both halves share the caches (measured, compared with `tensor` and `sequence`)
};

}  // namespace tandem::plans
