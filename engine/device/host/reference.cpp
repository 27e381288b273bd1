#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "engine/device/host/arithmetic.h"
#include "packed/act_i8.h"

namespace tandem::host {
namespace {

// A result is rounded to f32 first and to f16 afterwards, as the contract does it.
float result(double value, bool round_f16) {
  const auto rounded = static_cast<float>(value);
  return round_f16 ? round_to_f16(rounded) : rounded;
}

// The row of x in a product: its values, or the values that its 8-bit codes stand for.
std::vector<double> operand_row(const float* x, int64_t columns, bool act_i8) {
  if (!act_i8) return {x, x + columns};
  std::vector<ActBlock> blocks(static_cast<size_t>(columns / kActGroup));
  quantise_act(x, columns, blocks.data());
  std::vector<double> row;
  for (int64_t k = 0; k < columns; ++k) {
    const ActBlock& block = blocks[static_cast<size_t>(k / kActGroup)];
    row.push_back(static_cast<double>(block.codes[act_code_at(k % kActGroup)]) * block.scale);
  }
  return row;
}

// Products and sums have double precision, so their error is far below that of an f32 chain.
double dot(std::span<const float> w, std::span<const double> x) {
  return std::inner_product(w.begin(), w.end(), x.begin(), 0.0, std::plus<>(),
                            [](float a, double b) { return static_cast<double>(a) * b; });
}

// An element of the cache, as a number.
double cache_value(const Operand& operand, KvType type, int64_t index) {
  return type == KvType::f16 ? half_to_float(operand.as<uint16_t>()[index]) : operand.as<float>()[index];
}

// Operators that have no rounding to choose go to exact.cpp, all others to the overloads of reference().
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
  void operator()(const ExpertLists& op) const { run_expert_lists(op); }
  void operator()(const Copy& op) const { run_copy(op); }
  void operator()(const ExpertFetch& op) const { run_expert_fetch(op); }
  void operator()(const ExpertDecide& op) const { run_expert_decide(op); }
  void operator()(const ExpertMove& op) const { run_expert_move(op); }
  void operator()(const ExpertPrefetch& op) const { run_expert_prefetch(op, {}); }
  void operator()(const ExpertSides& op) const { run_expert_sides(op); }
  void operator()(const ExpertSlots& op) const { run_expert_slots(op); }
  void operator()(const GatherRows& op) const { run_gather_rows(op); }
};

}  // namespace

void run_reference(const Operator& op) { std::visit(Reference{}, op.body); }

// Decodes each row of the weight once and multiplies it with every token's row.
void reference(const MatMul& op) {
  std::vector<float> w(static_cast<size_t>(op.K));
  std::vector<std::vector<double>> x;
  for (int64_t s = 0; s < op.S; ++s) x.push_back(operand_row(op.x.as<float>() + s * op.x_stride, op.K, op.act_i8));
  for (int64_t n = op.row_begin; n < op.row_end; ++n) {
    decode_packed_row(op.w.format, op.w.data.as<std::byte>(), op.K, n, w.data());
    for (int64_t s = 0; s < op.S; ++s)
      op.y.as<float>()[s * op.y_stride + n] = static_cast<float>(dot(w, x[static_cast<size_t>(s)]));
  }
}

// The residual addition is rounded to f32 and written to x; the sums use the rounded values.
void reference(const RmsNorm& op) {
  const auto width = static_cast<double>(op.width);
  for (int64_t s = 0; s < op.S; ++s)
    for (int64_t g = 0; g < op.groups; ++g) {
      float* x = op.x.as<float>() + s * op.x_stride + g * op.width;
      float* y = op.y.as<float>() + s * op.y_stride + g * op.width;
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < op.width; ++i) {
        if (op.add)
          x[i] = static_cast<float>(x[i] + static_cast<double>(op.add_scale) *
                                               op.add.as<float>()[s * op.add_stride + g * op.width + i]);
        sum += x[i];
      }
      const double mean = op.centred ? sum / width : 0;
      for (int64_t i = 0; i < op.width; ++i) squares += (x[i] - mean) * (x[i] - mean);
      const double mean_square = squares / width + op.eps;
      // The contract gives NaN if its f32 squares overflow (docs/numbers.md). The reference asks whether their mean
      // fits f32.
      const bool overflows = mean_square > std::numeric_limits<float>::max();
      const double inverse = overflows ? std::numeric_limits<double>::quiet_NaN() : 1 / std::sqrt(mean_square);
      for (int64_t i = 0; i < op.width; ++i) {
        const int64_t at = (op.own_weights ? g * op.width : 0) + i;
        const double weight = static_cast<double>(op.weight.as<float>()[at]) + op.weight_offset;
        y[i] = result((x[i] - mean) * inverse * weight + (op.biased ? op.bias.as<float>()[at] : 0.0F), op.round_f16);
      }
    }
}

// Turns each pair (a, b) by its position's angle. The two lie side by side, or half of the rotated elements apart.
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

namespace {

// The attention of a query to some positions. values are sums of exp(score - top) * v.
struct Found {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  std::vector<double> values;  // [head_dim_v]
};

// Attention of one query to the positions [begin, end) of its sequence, by two passes: all scores, then all values.
Found attend(const Attention& op, int64_t s, int64_t head, int64_t begin, int64_t end) {
  const KvCache& cache = op.cache;
  const int64_t kv = head / (op.heads / cache.kv_heads);
  const float* q = op.q.as<float>() + s * op.q_stride + head * cache.head_dim;
  Found found;
  found.values.assign(static_cast<size_t>(cache.head_dim_v), 0);
  const int64_t segment = segment_of(op.segments, s);
  std::vector<double> weights;
  std::vector<int64_t> cells;
  for (int64_t p = begin; p < end; ++p) {
    cells.push_back(cell_of(op.segments, cache, segment, p));
    double product = 0;
    for (int64_t d = 0; d < cache.head_dim; ++d)
      product += q[d] * cache_value(cache.k, cache.type, cache.k_index(cells.back(), kv, d));
    weights.push_back(op.score.exact(product));
    if (op.has_slopes)
      weights.back() -=
          op.slopes.as<float>()[head] * std::fabs(op.token_positions.as<int32_t>()[s] - static_cast<double>(p));
    found.top = std::max(found.top, weights.back());
  }
  // The largest score is subtracted first, so that no exponential overflows.
  for (double& weight : weights) found.sum += weight = std::exp(weight - found.top);
  for (int64_t d = 0; d < cache.head_dim_v; ++d) {
    for (size_t i = 0; i < cells.size(); ++i)
      found.values[d] += weights[i] * cache_value(cache.v, cache.type, cache.v_index(cells[i], kv, d));
  }
  return found;
}

// A record holds a split's maximum, sum and values: [S * heads][splits][2 + head_dim_v], as in contract.cpp.
float* record_of(const Attention& op, int64_t s, int64_t head, int64_t split) {
  const int64_t splits = pages_of(op.cache.capacity);
  return op.scratch.as<float>() + ((s * op.heads + head) * splits + split) * (2 + op.cache.head_dim_v);
}

// Computes the splits of a share for one query and writes a record for each. The share depends on the segment's
// last token.
void keep_splits(const Attention& op, int64_t s, int64_t head, int64_t count) {
  int64_t last = s;  // the last token of the segment
  while (last + 1 < op.S && segment_of(op.segments, last + 1) == segment_of(op.segments, s)) ++last;
  const SplitRange splits = splits_of(op, op.positions.as<int32_t>()[last]);
  for (int64_t split = splits.begin; split < splits.end && split * kAttentionSplit < count; ++split) {
    const int64_t begin = split * kAttentionSplit;
    const int64_t first = std::max(begin, first_seen(op.window, count - 1));
    if (first >= begin + kAttentionSplit) continue;  // the merge skips this split
    const Found found = attend(op, s, head, first, std::min(begin + kAttentionSplit, count));
    float* record = record_of(op, s, head, split);
    record[0] = static_cast<float>(found.top);
    record[1] = static_cast<float>(found.sum);
    std::ranges::transform(found.values, record + 2, [](double value) { return static_cast<float>(value); });
  }
}

// Merges the records of all splits that the query sees: the overall maximum first, then the sums relative to it.
Found merge(const Attention& op, int64_t s, int64_t head, int64_t count) {
  const int64_t splits = (count + kAttentionSplit - 1) / kAttentionSplit;
  Found all;
  all.values.assign(static_cast<size_t>(op.cache.head_dim_v), 0);
  const int64_t begin = first_seen(op.window, count - 1) / kAttentionSplit;
  for (int64_t split = begin; split < splits; ++split)
    all.top = std::max<double>(all.top, record_of(op, s, head, split)[0]);
  for (int64_t split = begin; split < splits; ++split) {
    const float* record = record_of(op, s, head, split);
    const double share = std::exp(record[0] - all.top);
    all.sum += share * record[1];
    for (size_t d = 0; d < all.values.size(); ++d) all.values[d] += share * record[2 + d];
  }
  return all;
}

}  // namespace

// The whole attention takes all positions that a token sees at once, without splits.
void reference(const Attention& op) {
  op.part == AttentionPart::merge ? check_positions(op.positions, op.S, op.cache.capacity, "cache")
                                  : check_places(op.positions, op.segments, op.cache, op.S);
  for (int64_t s = 0; s < op.S; ++s) {
    const int64_t count = op.positions.as<int32_t>()[s] + 1;
    for (int64_t h = 0; h < op.heads; ++h) {
      if (op.part == AttentionPart::splits) {
        keep_splits(op, s, h, count);
        continue;
      }
      Found found = op.part == AttentionPart::merge ? merge(op, s, h, count)
                                                    : attend(op, s, h, first_seen(op.window, count - 1), count);
      if (op.has_sinks) found.sum += std::exp(static_cast<double>(op.sinks.as<float>()[h]) - found.top);
      float* y = op.y.as<float>() + s * op.y_stride + h * op.cache.head_dim_v;
      for (size_t d = 0; d < found.values.size(); ++d) y[d] = result(found.values[d] / found.sum, op.round_f16);
    }
  }
}

void reference(const Glu& op) {
  for (int64_t s = 0; s < op.S * op.rows; ++s)
    for (int64_t i = 0; i < op.I; ++i) {
      const double gate = op.gate.as<float>()[s * op.gate_stride + i];
      const double up = op.gated ? op.up.as<float>()[s * op.up_stride + i] : 1.0;
      op.y.as<float>()[s * op.y_stride + i] = result(op.value(gate, up), op.round_f16);
    }
}

// With a cap, the scaled value is softly limited by tanh.
void reference(const Scale& op) {
  if (op.chosen) return run_expert_scale(op);
  for (int64_t s = 0; s < op.S; ++s)
    for (int64_t i = 0; i < op.width; ++i) {
      float& x = op.x.as<float>()[s * op.x_stride + i];
      const double scaled = static_cast<double>(x) * op.factor;
      x = static_cast<float>(op.cap > 0 ? op.cap * std::tanh(scaled / op.cap) : scaled);
    }
}

// The maximum is subtracted first, so that no exponential overflows.
void reference(const Softmax& op) {
  for (int64_t s = 0; s < op.S; ++s) {
    float* x = op.x.as<float>() + s * op.x_stride;
    const double top = *std::max_element(x, x + op.width);
    double sum = 0;
    for (int64_t i = 0; i < op.width; ++i) sum += std::exp(x[i] - top);
    for (int64_t i = 0; i < op.width; ++i) x[i] = static_cast<float>(std::exp(x[i] - top) / sum);
  }
}

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The experts of one token in falling order of their scores. Equal scores stay in ascending order of expert.
std::vector<int32_t> ranked(const std::vector<double>& keys) {
  std::vector<int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return keys[a] > keys[b]; });
  return order;
}

// The weight of the expert at `rank`: a softmax over itself and the experts behind it that are near.
double sparse_weight(const std::vector<double>& keys, const std::vector<int32_t>& order, size_t rank) {
  const double best = keys[order[rank]];
  double sum = 0;
  for (size_t i = rank; i < order.size(); ++i) {
    const double key = keys[order[i]];
    const bool is_far = (best - key) / std::max(std::fabs(key), best) > 2 * static_cast<double>(kSparseMixerJitter);
    if (!is_far) sum += std::exp(key - best);
  }
  return 1 / sum;
}

// What experts are chosen by: scores, or gating(score) + bias. Outside the best groups it is the lowest number.
std::vector<double> choice_keys(const Route& op, const std::vector<double>& scores, double top, double sum) {
  std::vector<double> keys = scores;
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  for (int64_t e = 0; e < op.E && op.biased; ++e) {
    keys[e] = op.gating == Gating::softmax ? std::exp(scores[e] - top) / sum : sigmoid(scores[e]);
    keys[e] = scores[e] == kLowest ? kLowest : keys[e] + static_cast<double>(op.bias.as<float>()[e]);
  }
  if (op.groups == 1) return keys;
  const int64_t each = op.E / op.groups;
  std::vector<double> of_groups;
  for (int64_t g = 0; g < op.groups; ++g) {
    std::vector<double> own(keys.begin() + g * each, keys.begin() + (g + 1) * each);
    std::ranges::sort(own, std::greater<>());
    of_groups.push_back(op.biased ? own[0] + own[1] : own[0]);
  }
  const std::vector<int32_t> order = ranked(of_groups);
  for (int64_t i = op.groups_used; i < op.groups; ++i) std::fill_n(keys.begin() + order[i] * each, each, kLowest);
  return keys;
}

}  // namespace

// Ranks the experts of each token, weighs the first k by the gating, and writes them in ascending order of expert.
void reference(const Route& op) {
  for (int64_t s = 0; s < op.S; ++s) {
    std::vector<double> keys(static_cast<size_t>(op.E));
    for (int64_t e = 0; e < op.E; ++e) {
      const float score = op.x.as<float>()[s * op.x_stride + e];
      keys[e] = std::isnan(score) ? -std::numeric_limits<double>::infinity() : static_cast<double>(score);
    }
    const double top = *std::ranges::max_element(keys);
    double sum = 0;
    for (const double key : keys) sum += std::exp(key - top);
    const std::vector<int32_t> order = ranked(choice_keys(op, keys, top, sum));
    std::map<int32_t, double> chosen;  // ascending by expert
    for (int64_t i = 0; i < op.k; ++i) {
      const double key = keys[order[i]];
      chosen[order[i]] = op.gating == Gating::softmax   ? std::exp(key - top) / sum
                         : op.gating == Gating::sigmoid ? sigmoid(key)
                                                        : sparse_weight(keys, order, static_cast<size_t>(i));
    }
    double total = 0;
    for (const auto& [expert, weight] : chosen) total += weight;
    // A NaN among a token's scores makes all its weights NaN, as in the contract.
    const float* scores = op.x.as<float>() + s * op.x_stride;
    const bool is_lost = std::any_of(scores, scores + op.E, [](float score) { return std::isnan(score); });
    const double scale = is_lost ? std::numeric_limits<double>::quiet_NaN() : op.scale;
    int64_t at = s * op.k;
    for (const auto& [expert, weight] : chosen) {
      op.ids.as<int32_t>()[at] = expert;
      op.weights.as<float>()[at++] = static_cast<float>((op.normalised ? weight / total : weight) * scale);
    }
  }
}

// Goes through the matrices and decodes a row only when a choice uses the matrix.
void reference(const GroupedMatMul& op) {
  const ChoicesByExpert by = choices_by_expert(op.ids, op.S * op.slots, op.w.count, op.listed_only);
  std::vector<float> w(static_cast<size_t>(op.w.columns));
  for (int64_t m = 0; m < op.w.count; ++m) {
    const PackedMatrix matrix = op.w.matrix(m);
    for (int64_t n = 0; n < op.w.rows && by.begins[m] < by.begins[m + 1]; ++n) {
      decode_packed_row(matrix.format, matrix.data.as<std::byte>(), matrix.columns, n, w.data());
      for (int64_t i = by.begins[m]; i < by.begins[m + 1]; ++i) {
        const int64_t s = by.choices[i] / op.slots, slot = by.choices[i] % op.slots;
        const float* x = op.x.as<float>() + s * op.x_stride + slot * op.x_slot;
        const std::span some(w.data() + op.column_begin, static_cast<size_t>(op.columns()));
        op.y.as<float>()[s * op.y_stride + slot * op.y_slot + n] =
            static_cast<float>(dot(some, operand_row(x, op.columns(), op.act_i8)));
      }
    }
  }
}

// A choice comes from x, from the buffers of static graphs, or was dropped (engine/device/operators/expert_sum.h).
void reference(const ExpertSum& op) {
  for (int64_t s = 0; s < op.S; ++s)
    for (int64_t i = 0; i < op.width; ++i) {
      double sum = 0;
      for (int64_t c = s * op.k; c < (s + 1) * op.k; ++c) {
        const int64_t row = op.rows > 0 ? op.row_of.as<int32_t>()[c] : kElsewhere;
        if (row == kDropped) continue;
        const Operand& found = row == kElsewhere ? op.x : op.slots;
        sum += static_cast<double>(op.weights.as<float>()[c]) *
               found.as<float>()[(row == kElsewhere ? c : row) * op.width + i];
      }
      if (op.shared)
        sum += (op.gate ? sigmoid(op.gate.as<float>()[s * op.gate_stride]) : 1.0) *
               op.shared.as<float>()[s * op.width + i];
      op.y.as<float>()[s * op.width + i] = static_cast<float>(sum);
    }
}

}  // namespace tandem::host
