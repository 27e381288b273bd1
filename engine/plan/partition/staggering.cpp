#include "engine/plan/partition/staggering.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sync/error.h"

namespace tandem {
namespace {

// Times at which each device is free, and at which the results are there that each half needs next.
struct Clocks {
  double first = 0, second = 0;
  std::array<double, 2> multiplied{};  // end of the half's last matmuls on the second device
  std::array<double, 2> prepared{};    // end of the half's last other operators, on the first device
};

// The first device's share of the stage's rows with the earliest end of both devices. Between equal ends, the second
// device gets more rows, because it has no other work.
double best_share(const StageSeconds& stage, double first_free, double second_free) {
  if (!std::isfinite(stage.on_second)) return 1;
  double best = 1, earliest = first_free + stage.on_first;
  for (int64_t taken = stage.panels - 1; taken >= 0; --taken) {
    const double share = static_cast<double>(taken) / static_cast<double>(stage.panels);
    const double end = std::max(first_free + share * stage.on_first, second_free + (1 - share) * stage.on_second);
    if (end <= earliest) best = share, earliest = end;
  }
  return best;
}

// A stage without matmuls waits for its half's last matmuls on the second device. The first device's own matmuls come
// before it in any case.
void run_beside(Clocks& clocks, size_t half, const StageSeconds& stage) {
  clocks.first = std::max(clocks.first, clocks.multiplied[half]) + stage.on_first;
  clocks.prepared[half] = clocks.first;
}

// The second device waits for the half's last other operators. With a share of 1 it gets nothing to do.
double multiply(Clocks& clocks, size_t half, const StageSeconds& stage) {
  const double second_free = std::max(clocks.second, clocks.prepared[half]);
  const double share = best_share(stage, clocks.first, second_free);
  clocks.first += share * stage.on_first;
  if (share < 1) clocks.second = clocks.multiplied[half] = second_free + (1 - share) * stage.on_second;
  return share;
}

}  // namespace

// The first stage stays empty if the operators begin with a matmul.
std::vector<Stage> stages_of(std::span<const Operator> operators) {
  std::vector<Stage> stages(1);
  for (const Operator& op : operators) {
    const bool multiplies = std::holds_alternative<MatMul>(op.body);
    if (multiplies != stages.back().multiplies) stages.push_back({multiplies, {}});
    stages.back().operators.push_back(op);
  }
  return stages;
}

// Slot t has stage t of the first half and stage t - lag of the second one. The lag is odd, so one of them is a stage
// of matmuls and the other one is not. The clocks advance slot by slot.
Staggering stagger(std::span<const StageSeconds> first_half, std::span<const StageSeconds> second_half, int lag) {
  TANDEM_CHECK(first_half.size() == second_half.size() && lag > 0 && lag % 2 == 1, "an odd lag of two equal halves");
  const std::span<const StageSeconds> halves[] = {first_half, second_half};
  const int stages = static_cast<int>(first_half.size());
  Staggering result{lag, {}, 0};
  Clocks clocks;
  for (int t = 0; t < stages + lag; ++t) {
    Slot slot;
    for (const int half : {0, 1}) {
      const int stage = half == 0 ? t : t - lag;
      if (stage < 0 || stage >= stages) continue;
      const bool multiplies = stage % 2 == 1;
      (multiplies ? slot.half_multiplied : slot.half_beside) = half;
      (multiplies ? slot.stage_multiplied : slot.stage_beside) = stage;
    }
    // These operators wait only for matmuls of earlier slots, so they come first. The first device then joins the
    // slot's matmuls.
    if (slot.half_beside >= 0) {
      const auto half = static_cast<size_t>(slot.half_beside);
      run_beside(clocks, half, halves[half][static_cast<size_t>(slot.stage_beside)]);
    }
    if (slot.half_multiplied >= 0) {
      const auto half = static_cast<size_t>(slot.half_multiplied);
      slot.share_of_first = multiply(clocks, half, halves[half][static_cast<size_t>(slot.stage_multiplied)]);
    }
    result.slots.push_back(slot);
  }
  result.seconds = std::max(clocks.first, clocks.second);
  return result;
}

// A larger lag gives results more time to arrive, but at the start and at the end fewer stages overlap. The clocks
// decide among a few odd lags.
Staggering best_staggering(std::span<const StageSeconds> first_half, std::span<const StageSeconds> second_half) {
  Staggering best = stagger(first_half, second_half, 1);
  for (const int lag : {3, 5, 7}) {
    Staggering other = stagger(first_half, second_half, lag);
    if (other.seconds < best.seconds) best = std::move(other);
  }
  return best;
}

}  // namespace tandem
