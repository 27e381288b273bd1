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

constexpr double kOtherSampleSeconds = 1e-3;
constexpr int64_t kMostRepeats = 64;

// What the time of an operator that is no matmul depends on.
std::string shape_text(const Operator& op) {
  const Work each = work(op);
  std::string text = std::string(kind_name(op)) + " S" + std::to_string(tokens_of(op)) + " flops " +
                     std::to_string(each.flops) + " bytes " + std::to_string(each.bytes);
  if (const auto* attention = std::get_if<Attention>(&op.body))
    text += " from " + std::to_string(attention->positions.as<int32_t>()[0]);
  return text;
}

// The least of a few samples: what disturbs one only ever adds to it.
double least_seconds(Executor& executor, PreparedPlan& prepared) {
  double least = executor.run(prepared);
  for (int i = 1; i < kSamples; ++i) least = std::min(least, executor.run(prepared));
  return least;
}

MatMul with_tokens(MatMul op, int64_t S) {
  op.S = std::min(op.S, S);
  return op;
}

}  // namespace

int64_t token_class(int64_t S) { return S < 4 ? 1 : S < 24 ? 8 : S < 96 ? 64 : 128; }

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
  executor.run(*prepared);  // compiles, touches pages
  const double seconds = least_seconds(executor, *prepared) / static_cast<double>(placed.size());
  cache.set(key, seconds);
  return seconds;
}

double Measurer::other_seconds(Device& device, const Operator& op) {
  if (std::holds_alternative<KvAppend>(op.body)) return 0;
  const std::string key = measurement_key(device.info()) + "|" + shape_text(op);
  if (const auto known = cache.number(key)) return *known;
  const auto repeated = [&](int64_t times) {
    return executor.prepare(
        schedule("measure", {device.info().id}, std::vector<Placed>(static_cast<size_t>(times), {0, op})));
  };
  const auto once = repeated(1);
  executor.run(*once);  // compiles, touches pages
  const auto times =
      std::clamp(static_cast<int64_t>(kOtherSampleSeconds / executor.run(*once)), int64_t{1}, kMostRepeats);
  const double seconds = least_seconds(executor, *repeated(times)) / static_cast<double>(times);
  cache.set(key, seconds);
  return seconds;
}

PlanCosts Measurer::predictor(std::span<const Operator> operators, std::span<const std::unique_ptr<Device>> devices) {
  // Slices of one matrix are told by the matrix they are cut from.
  const auto matrix_of = [](const MatMul& op) { return MatMulShape{to_string(op.w.format), 1, op.K, op.w.rows}; };
  std::map<MatMulShape, std::vector<MatMul>> by_matrix;
  for (const Operator& op : operators) {
    if (const auto* matmul = std::get_if<MatMul>(&op.body)) by_matrix[matrix_of(*matmul)].push_back(*matmul);
  }
  PlanCosts costs;
  costs.sync_seconds = kJoinSeconds;
  costs.seconds = [*this, by_matrix, matrix_of, devices](int device, const Operator& op, bool) mutable {
    Device& on = *devices[static_cast<size_t>(device)];
    const auto* matmul = std::get_if<MatMul>(&op.body);
    if (matmul == nullptr) return other_seconds(on, op);
    const std::vector<MatMul>& same = by_matrix.at(matrix_of(*matmul));
    const auto panels = [](const MatMul& of) { return static_cast<double>(panel_count(of.row_end - of.row_begin)); };
    const int64_t measured = std::min(same.front().S, token_class(same.front().S));
    return matmul_seconds(on, same) * static_cast<double>(matmul->S) / static_cast<double>(measured) * panels(*matmul) /
           panels(same.front());
  };
  return costs;
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
