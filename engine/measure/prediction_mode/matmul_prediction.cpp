#include "engine/measure/prediction_mode/matmul_prediction.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "sync/error.h"

namespace tandem {
namespace {

std::string describe_rates(const std::string& format, const GpuRates& rates, const std::optional<GpuRates>& both) {
  char text[320], beside[64] = "";
  if (both) std::snprintf(beside, sizeof beside, " (%.1f beside another device)", both->bytes_per_second * 1e-9);
  std::snprintf(text, sizeof text,
                "%s: %.1f GFLOP/s, %.1f GB/s%s; launch %.2f us, of a single token %.2f us; unpacking like %.1f tokens, "
                "up to 8 tokens like %.1f\n",
                format.c_str(), rates.flops_per_second * 1e-9, rates.bytes_per_second * 1e-9, beside,
                rates.launch_seconds * 1e6, rates.launch_one_seconds * 1e6, rates.unpack_tokens_of_large_batch,
                rates.unpack_tokens_of_small_batch);
  return text;
}

// The rates of one weight format; absent if its points do not suffice for a fit.
std::optional<GpuRates> rates_of(std::span<const MeasuredPoint> points) {
  const auto any = [&](auto is) { return std::ranges::any_of(points, is, &MeasuredPoint::point); };
  const bool enough = any([](const MatMulPoint& point) { return point.S == 1; }) &&
                      any([](const MatMulPoint& point) { return point.S > kSmallBatch; });
  return enough ? std::optional(fit_gpu_rates(points)) : std::nullopt;
}

}  // namespace

MatMulPrediction MatMulPrediction::of_graphs(std::span<const MeasuredPoint> points) {
  MatMulPrediction prediction;
  prediction.npu_ = NpuPrediction::fit(points);
  return prediction;
}

// The rates are fitted for each weight format, to points of the device alone. Points beside another device change only
// the bandwidth.
MatMulPrediction MatMulPrediction::of_kernels(std::span<const MeasuredPoint> points) {
  MatMulPrediction prediction;
  std::map<std::string, std::vector<MeasuredPoint>> alone, both;
  for (const MeasuredPoint& measured : points)
    (measured.point.both ? both : alone)[measured.point.format].push_back(measured);
  for (const auto& [format, of] : alone) {
    if (const auto rates = rates_of(of)) prediction.gpu_[format] = {*rates, std::nullopt};
  }
  for (const auto& [format, of] : both) {
    auto found = prediction.gpu_.find(format);
    if (found != prediction.gpu_.end()) found->second.both = with_bandwidth_of(found->second.alone, of);
  }
  if (prediction.gpu_.empty()) {
    throw Error("too little was measured to predict a device's times",
                "of no weight format a single token and more than 8", "Run `tandem profile`");
  }
  return prediction;
}

bool MatMulPrediction::knows(const MatMulPoint& point) const { return npu_ || gpu_.contains(point.format); }

// Without rates for `both`, the rates of the device alone count.
double MatMulPrediction::seconds(const MatMulPoint& point) const {
  if (npu_) return npu_->seconds(point);
  const auto found = gpu_.find(point.format);
  if (found == gpu_.end()) {
    throw Error("no matmul of this weight format was measured", to_string(point),
                "Run `tandem profile` on a model with it");
  }
  const Rates& rates = found->second;
  return (point.both && rates.both ? *rates.both : rates.alone).seconds(point);
}

// Nodes without a feature are the leaves of the tree.
std::string MatMulPrediction::describe() const {
  if (npu_) {
    size_t leaves = 0;
    for (const RegressionTree::Node& node : npu_->tree().nodes()) leaves += node.feature < 0;
    return "a tree of " + std::to_string(leaves) + " leaves\n";
  }
  std::string text;
  for (const auto& [format, rates] : gpu_) text += describe_rates(format, rates.alone, rates.both);
  return text;
}

}  // namespace tandem
