#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/device/host/arithmetic.h"

namespace tandem::host {
namespace {

float result(double value, bool round_f16) {
  const auto rounded = static_cast<float>(value);
  return round_f16 ? round_to_f16(rounded) : rounded;
}

double cache_value(const Operand& operand, KvType type, int64_t index) {
  return type == KvType::f16 ? half_to_float(operand.as<uint16_t>()[index]) : operand.as<float>()[index];
}

struct Reference {
  template <typename Op>
  void operator()(const Op& op) const {
    reference(op);
  }
  void operator()(const Embed& op) const { run_embed(op); }
  void operator()(const KvAppend& op) const { run_kv_append(op, kPortableLoops.to_halves); }
  void operator()(const ArgMax& op) const { run_argmax(op); }
  void operator()(const TopK& op) const { run_top_k(op); }
  void operator()(const Add& op) const { run_add(op); }
  void operator()(const Bias& op) const { run_bias(op); }
};

}  // namespace

void run_reference(const Operator& op) { std::visit(Reference{}, op.body); }

void reference(const MatMul& op) {
  std::vector<float> w(static_cast<size_t>(op.K));
  for (int64_t n = op.row_begin; n < op.row_end; ++n) {
    decode_packed_row(op.w.format, op.w.data.as<std::byte>(), op.K, n, w.data());
    for (int64_t s = 0; s < op.S; ++s) {
      const float* x = op.x.as<float>() + s * op.x_stride;
      double sum = 0;
      for (int64_t k = 0; k < op.K; ++k) sum += static_cast<double>(w[k]) * x[k];
      op.y.as<float>()[s * op.y_stride + n] = static_cast<float>(sum);
    }
  }
}

void reference(const RmsNorm& op) {
  for (int64_t s = 0; s < op.S; ++s)
    for (int64_t g = 0; g < op.groups; ++g) {
      float* x = op.x.as<float>() + s * op.x_stride + g * op.width;
      float* y = op.y.as<float>() + s * op.y_stride + g * op.width;
      double squares = 0;
      for (int64_t i = 0; i < op.width; ++i) {
        if (op.add) x[i] += op.add.as<float>()[s * op.add_stride + g * op.width + i];
        squares += static_cast<double>(x[i]) * x[i];
      }
      const double inverse = 1 / std::sqrt(squares / static_cast<double>(op.width) + op.eps);
      for (int64_t i = 0; i < op.width; ++i)
        y[i] =
            result(x[i] * inverse * (static_cast<double>(op.weight.as<float>()[i]) + op.weight_offset), op.round_f16);
    }
}

void reference(const Rope& op) {
  check_positions(op.positions, op.S, op.table_positions, "rotation table");
  for (int64_t s = 0; s < op.S; ++s) {
    const float* turns = op.table.as<float>() + op.positions.as<int32_t>()[s] * op.rot_dim;
    for (int64_t h = 0; h < op.heads; ++h) {
      float* x = op.x.as<float>() + s * op.x_stride + h * op.head_dim;
      for (int64_t j = 0; j < op.rot_dim / 2; ++j) {
        const bool interleaved = op.layout == RopeLayout::interleaved;
        float& first = x[interleaved ? 2 * j : j];
        float& second = x[interleaved ? 2 * j + 1 : j + op.rot_dim / 2];
        const double a = first, b = second, cosine = turns[2 * j], sine = turns[2 * j + 1];
        first = static_cast<float>(a * cosine - b * sine);
        second = static_cast<float>(a * sine + b * cosine);
      }
    }
  }
}

void reference(const Attention& op) {
  check_positions(op.positions, op.S, op.cache.capacity, "cache");
  const KvCache& cache = op.cache;
  const int64_t queries_per_kv = op.heads / cache.kv_heads;
  for (int64_t s = 0; s < op.S; ++s) {
    const int64_t count = op.positions.as<int32_t>()[s] + 1;
    std::vector<double> weights(static_cast<size_t>(count));
    for (int64_t h = 0; h < op.heads; ++h) {
      const int64_t kv = h / queries_per_kv;
      const float* q = op.q.as<float>() + s * op.q_stride + h * cache.head_dim;
      for (int64_t p = 0; p < count; ++p) {
        double score = 0;
        for (int64_t d = 0; d < cache.head_dim; ++d) {
          const int64_t at = ((kv * (cache.capacity / 16) + p / 16) * cache.head_dim + d) * 16 + p % 16;
          score += q[d] * cache_value(cache.k, cache.type, at);
        }
        weights[p] = score * op.scale;
      }
      const double top = *std::max_element(weights.begin(), weights.end());
      double sum = 0;
      for (double& weight : weights) sum += weight = std::exp(weight - top);
      for (int64_t d = 0; d < cache.head_dim_v; ++d) {
        double value = 0;
        for (int64_t p = 0; p < count; ++p)
          value += weights[p] * cache_value(cache.v, cache.type, (kv * cache.capacity + p) * cache.head_dim_v + d);
        op.y.as<float>()[s * op.y_stride + h * cache.head_dim_v + d] = result(value / sum, op.round_f16);
      }
    }
  }
}

void reference(const SwiGlu& op) {
  for (int64_t s = 0; s < op.S; ++s)
    for (int64_t i = 0; i < op.I; ++i) {
      const double gate = op.gate.as<float>()[s * op.gate_stride + i], up = op.up.as<float>()[s * op.up_stride + i];
      op.y.as<float>()[s * op.y_stride + i] = result(gate / (1 + std::exp(-gate)) * up, op.round_f16);
    }
}

void reference(const Softmax& op) {
  for (int64_t s = 0; s < op.S; ++s) {
    float* x = op.x.as<float>() + s * op.x_stride;
    const double top = *std::max_element(x, x + op.width);
    double sum = 0;
    for (int64_t i = 0; i < op.width; ++i) sum += std::exp(x[i] - top);
    for (int64_t i = 0; i < op.width; ++i) x[i] = static_cast<float>(std::exp(x[i] - top) / sum);
  }
}

}  // namespace tandem::host
