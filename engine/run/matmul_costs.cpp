#include "engine/run/matmul_costs.h"

#include <algorithm>

#include "engine/plan/token_interpolation.h"
#include "engine/run/profile_grid.h"

namespace tandem {

MatMulCosts::MatMulCosts(const Measurer& measurer, std::span<const Operator> operators,
                         std::span<const std::unique_ptr<Device>> devices)
    : measurer_(measurer),
      devices_(devices),
      pass_(operators.begin(), operators.end()),
      matrices_(by_matrix(operators)) {}

double MatMulCosts::seconds(size_t device, const MatMul& op, bool both) {
  both = both && op.S <= kMemoryBoundTokens;
  const auto same = std::ranges::find_if(
      matrices_, [&](const std::vector<MatMul>& group) { return has_weights_like(group.front(), op); });
  if (same == matrices_.end() || op.S > most_tokens(same->front())) return predicted(device, point_of(op, both));
  const auto matrix = static_cast<size_t>(same - matrices_.begin());
  const auto [known, is_new] = known_.try_emplace({device, matrix, op.S, op.row_end - op.row_begin, both}, 0);
  if (is_new) known->second = measured(*devices_[device], point_of(op, both), *same);
  return known->second;
}

double MatMulCosts::measured(Device& device, const MatMulPoint& point, SameMatMuls same) const {
  if (const auto kept = kept_seconds(measurer_.cache, key_of(device.info(), point))) return kept->least;
  const Beside beside = point.both ? beside_for(device, same, devices_, matrices_) : Beside();
  MatMulPoint whole = point_of(same.front(), beside.device != nullptr);
  const auto sizes = grid_tokens(most_tokens(same.front()), DeviceKind::npu, false);
  const double all_rows = interpolate_tokens(sizes, point.S, [&](int64_t S) {
    whole.S = S;
    Measurer measurer = measurer_;
    return measurer.matmul(device, whole, same, pass_, beside).least;
  });
  return all_rows * static_cast<double>(panel_count(point.rows)) / static_cast<double>(panel_count(whole.rows));
}

double MatMulCosts::predicted(size_t device, const MatMulPoint& point) {
  auto& prediction = predictions_[device];
  if (!prediction) {
    const DeviceInfo& info = devices_[device]->info();
    prediction = MatMulPrediction::fit(info.kind, kept_points(measurer_.cache, info));
  }
  return prediction->seconds(point);
}

}  // namespace tandem
