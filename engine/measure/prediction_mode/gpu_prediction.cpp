// Fits a few rates of a GPU to measured products: its arithmetic, its memory, and what a launch costs.
#include "engine/measure/prediction_mode/gpu_prediction.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/plan/prediction/statistics.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr int kTurns = 100;        // most turns of a fit
constexpr double kSettled = 1e-9;  // relative change of every constant in a turn
constexpr double GpuRates::*kConstants[] = {&GpuRates::flops_per_second,
                                            &GpuRates::bytes_per_second,
                                            &GpuRates::launch_one_seconds,
                                            &GpuRates::launch_seconds,
                                            &GpuRates::unpack_tokens_of_small_batch,
                                            &GpuRates::unpack_tokens_of_large_batch};

double flops_per_token(const MatMulPoint& point) {
  return 2.0 * static_cast<double>(point.K) * static_cast<double>(panel_count(point.rows) * kPanelRows);
}

double unpack_tokens(const GpuRates& rates, const MatMulPoint& point) {
  return point.S <= kSmallBatch ? rates.unpack_tokens_of_small_batch : rates.unpack_tokens_of_large_batch;
}

double launch(const GpuRates& rates, const MatMulPoint& point) {
  return point.S == 1 ? rates.launch_one_seconds : rates.launch_seconds;
}

// Seconds without the launch: the longer of reading the weights and multiplying.
double busy_seconds(const GpuRates& rates, const MatMulPoint& point) {
  const double tokens = static_cast<double>(point.S) + unpack_tokens(rates, point);
  return std::max(weight_bytes(point) / rates.bytes_per_second,
                  flops_per_token(point) * tokens / rates.flops_per_second);
}

double median_or(std::vector<double> values, double otherwise) {
  return values.empty() ? otherwise : median(std::move(values));
}

// The sizes that decide which constant a point shows.
struct Extent {
  int64_t most_tokens = 0;
  double small_bytes = 0;  // weights of up to this size belong to the smallest eighth
};

Extent extent_of(std::span<const MeasuredPoint> points) {
  Extent extent;
  std::vector<double> sizes;
  for (const MeasuredPoint& measured : points) {
    sizes.push_back(weight_bytes(measured.point));
    extent.most_tokens = std::max(extent.most_tokens, measured.point.S);
  }
  std::ranges::sort(sizes);
  if (!sizes.empty()) extent.small_bytes = sizes[sizes.size() / 8];
  return extent;
}

// With many tokens, unpacking the weights is a small part of the time. So the time shows the rate of multiplying.
bool shows_rate(const MatMulPoint& point, const Extent& extent) {
  return point.S > kSmallBatch && 4 * point.S >= extent.most_tokens;
}

// One turn of the fit. Each point solves the formula for the constant that it shows, with the other constants as they
// were. The new constant is the median.
GpuRates refined(const GpuRates& rates, std::span<const MeasuredPoint> points, const Extent& extent) {
  std::vector<double> flop_rates, byte_rates, small, large, launches_of_one, launches;
  for (const auto& [point, seconds] : points) {
    // A small matrix shows the launch, and one more constant.
    if (weight_bytes(point) <= extent.small_bytes)
      (point.S == 1 ? launches_of_one : launches).push_back(std::max(0.0, seconds - busy_seconds(rates, point)));
    const double busy = seconds - launch(rates, point), S = static_cast<double>(point.S);
    if (busy <= 0) continue;  // the launch takes all of the time, so the point shows nothing else
    if (point.S == 1) {
      byte_rates.push_back(weight_bytes(point) / busy);
    } else if (shows_rate(point, extent)) {
      flop_rates.push_back(flops_per_token(point) * (S + rates.unpack_tokens_of_large_batch) / busy);
    } else {
      const double tokens = busy * rates.flops_per_second / flops_per_token(point) - S;
      (point.S <= kSmallBatch ? small : large).push_back(std::max(0.0, tokens));
    }
  }
  return {median_or(std::move(flop_rates), rates.flops_per_second),
          median_or(std::move(byte_rates), rates.bytes_per_second),
          median_or(std::move(launches_of_one), 0),
          median_or(std::move(launches), 0),
          median_or(std::move(small), 0),
          median_or(std::move(large), 0)};
}

// Whether no constant changed by more than kSettled.
bool settled(const GpuRates& a, const GpuRates& b) {
  return std::ranges::all_of(kConstants, [&](double GpuRates::*constant) {
    const double x = a.*constant, y = b.*constant;
    return std::abs(x - y) <= kSettled * std::max(std::abs(x), std::abs(y));
  });
}

}  // namespace

double GpuRates::seconds(const MatMulPoint& point) const { return launch(*this, point) + busy_seconds(*this, point); }

// Begins with the best rate and bandwidth of any point, without launches and unpacking.
GpuRates fit_gpu_rates(std::span<const MeasuredPoint> points) {
  const Extent extent = extent_of(points);
  GpuRates rates;
  for (const auto& [point, seconds] : points) {
    if (point.S == 1) rates.bytes_per_second = std::max(rates.bytes_per_second, weight_bytes(point) / seconds);
    if (shows_rate(point, extent))
      rates.flops_per_second =
          std::max(rates.flops_per_second, flops_per_token(point) * static_cast<double>(point.S) / seconds);
  }
  if (rates.flops_per_second == 0 || rates.bytes_per_second == 0) {
    throw Error("too little was measured to predict the GPU's times",
                rates.bytes_per_second == 0 ? "no matmul of a single token" : "no matmul of more than 8 tokens",
                "Run `tandem profile`");
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    const GpuRates next = refined(rates, points, extent);
    if (settled(rates, next)) return next;
    rates = next;
  }
  return rates;  // a median may jump between two neighbouring points for ever; either one is good
}

// Solves the formula of a single token for the bandwidth at each point, and takes the median. A point that is not
// longer than its launch shows none.
GpuRates with_bandwidth_of(const GpuRates& rates, std::span<const MeasuredPoint> points) {
  std::vector<double> byte_rates;
  for (const auto& [point, seconds] : points) {
    if (point.S == 1 && seconds > rates.launch_one_seconds)
      byte_rates.push_back(weight_bytes(point) / (seconds - rates.launch_one_seconds));
  }
  GpuRates result = rates;
  result.bytes_per_second = median_or(std::move(byte_rates), rates.bytes_per_second);
  return result;
}

}  // namespace tandem
