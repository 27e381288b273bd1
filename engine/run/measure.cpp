#include "engine/run/measure.h"

#include <algorithm>
#include <map>
#include <vector>

namespace tandem {
namespace {

// Enough bytes that launching and waking (about 50 us) stays below a few per cent of what is timed.
constexpr double kBytesPerSample = 48e6;
constexpr int kSamples = 5;
constexpr int64_t kMostOperators = 256;

MatMul with_tokens(MatMul op, int64_t S) {
  op.S = std::min(op.S, S);
  return op;
}

}  // namespace

int64_t token_class(int64_t S) { return S < 4 ? 1 : S < 24 ? 8 : 64; }

std::string measurement_key(const DeviceInfo& device) {
  std::string key = device.id + "|" + device.name + "|" + device.driver + "|cores";
  for (int core : device.cores) key += " " + std::to_string(core);
  return key;
}

double Measurer::matmul_seconds(Device& device, std::span<const MatMul> same) {
  const int64_t S = std::min(same.front().S, token_class(same.front().S));
  MatMulShape shape = shape_of(same.front());
  shape.S = S;
  const std::string key = measurement_key(device.info()) + "|" + to_string(shape);
  if (const auto known = cache.number(key)) return *known;

  double bytes = 0;
  std::vector<Placed> placed;
  while (bytes < kBytesPerSample && static_cast<int64_t>(placed.size()) < kMostOperators) {
    for (const MatMul& op : same) {
      placed.push_back({0, {"measured", with_tokens(op, S)}});
      // At more tokens a matmul is bound by arithmetic: each token weighs like one more reading of the weights.
      bytes += static_cast<double>(op.w.bytes()) * static_cast<double>(std::max<int64_t>(1, S / 4));
    }
  }
  const auto prepared = executor.prepare(schedule("measure", {device.info().id}, placed));
  executor.run(*prepared);                 // compiles, touches pages
  double least = executor.run(*prepared);  // what disturbs a sample only ever adds to it
  for (int i = 1; i < kSamples; ++i) least = std::min(least, executor.run(*prepared));
  const double seconds = least / static_cast<double>(placed.size());
  cache.set(key, seconds);
  return seconds;
}

RowShares Measurer::row_shares(std::span<const Operator> operators, std::span<Device* const> cutters) {
  std::map<MatMulShape, std::vector<MatMul>> by_shape;
  for (const Operator& op : operators) {
    const MatMul* matmul = std::get_if<MatMul>(&op.body);
    if (matmul && std::ranges::all_of(cutters, [&](Device* device) { return device->supports(op).yes; }))
      by_shape[shape_of(*matmul)].push_back(*matmul);
  }
  RowShares shares;
  for (const auto& [shape, same] : by_shape) {
    std::vector<double> seconds;
    for (Device* device : cutters) seconds.push_back(matmul_seconds(*device, same));
    shares.by_shape[shape] = best_row_cut(shape.N, seconds, kJoinSeconds).shares;
  }
  return shares;
}

}  // namespace tandem
