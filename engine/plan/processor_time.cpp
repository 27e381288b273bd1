#include "engine/plan/processor_time.h"

#include <algorithm>

#include "npu_emu/memory_model.h"
#include "sync/error.h"

namespace tandem {
namespace {

double real(int64_t value) { return static_cast<double>(value); }
int64_t rows_of(const MatMul& op) { return op.row_end - op.row_begin; }

// Values that an operator reads and writes of its activations, and bytes of everything that has a width of its own.
struct Traffic {
  double values = 0, bytes = 0;
};

struct TrafficOf {
  const SocProfile& profile;
  int64_t context;

  Traffic operator()(const MatMul& op) const {
    return {real(op.S) * real(op.K + rows_of(op)), weight_bytes_of(profile, op.w, rows_of(op))};
  }
  Traffic operator()(const Embed& op) const { return {real(op.S * op.H), weight_bytes_of(profile, op.w, op.S)}; }
  // The residual connection reads one more and writes one more; where it has no Operand (a shape) it is not there.
  Traffic operator()(const RmsNorm& op) const { return {(op.add ? 4.0 : 2.0) * real(op.S * op.groups * op.width), 0}; }
  Traffic operator()(const Rope& op) const { return {2.0 * real(op.S * op.heads * op.rot_dim), 0}; }
  Traffic operator()(const KvAppend& op) const {
    const double values = real(op.S * op.cache.kv_heads * (op.cache.head_dim + op.cache.head_dim_v));
    return {values, values * static_cast<double>(op.cache.element_bytes())};
  }
  Traffic operator()(const Attention& op) const {
    const KvCache& cache = op.cache;
    const double cached = real((context + op.S) * cache.kv_heads * (cache.head_dim + cache.head_dim_v));
    return {real(op.S * op.heads * (cache.head_dim + cache.head_dim_v)),
            cached * static_cast<double>(cache.element_bytes())};
  }
  Traffic operator()(const SwiGlu& op) const { return {3.0 * real(op.S * op.I), 0}; }
  Traffic operator()(const Add& op) const { return {3.0 * real(op.S * op.width), 0}; }
  Traffic operator()(const Bias& op) const { return {2.0 * real(op.S * op.width), 0}; }
  Traffic operator()(const Softmax& op) const { return {2.0 * real(op.S * op.width), 0}; }
  Traffic operator()(const ArgMax& op) const { return {real(op.S * op.width), 0}; }
  Traffic operator()(const TopK& op) const { return {real(op.S * op.width), 0}; }
};

double attention_rate(const SocProfile& profile, int64_t tokens) {
  const bool decodes = tokens <= profile.npu.decode_tokens && profile.gpu.decode_attention_flops > 0;
  return decodes ? profile.gpu.decode_attention_flops : profile.gpu.attention_flops;
}

}  // namespace

double weight_bytes_of(const SocProfile& profile, const PackedMatrix& matrix, int64_t rows) {
  if (profile.weight_bits > 0) return real(rows * matrix.columns) * profile.weight_bits / 8;
  return static_cast<double>(panel_bytes(matrix.format, matrix.columns)) / kPanelRows * real(rows);
}

double visible_positions(int64_t S, int64_t context) { return real(S * context) + real(S * (S + 1)) / 2; }

// H13
OpTime gpu_time(const SocProfile& profile, const Operator& op, int64_t context) {
  const Traffic traffic = std::visit(TrafficOf{profile, context}, op.body);
  OpTime time;
  time.bytes = traffic.values * profile.activation_bytes + traffic.bytes;
  double compute = 0;
  if (const auto* attention = std::get_if<Attention>(&op.body)) {
    const KvCache& cache = attention->cache;
    time.flops = 2.0 * visible_positions(attention->S, context) * real(attention->heads) *
                 real(cache.head_dim + cache.head_dim_v);
    compute = time.flops / attention_rate(profile, attention->S);
  } else {
    time.flops = work(op).flops;
    compute = time.flops / profile.gpu.flops;
  }
  time.seconds = std::max({compute, time.bytes / profile.gpu.bytes_per_second, profile.gpu.submit_seconds});
  return time;
}

// H1, H13
OpTime npu_time(const SocProfile& profile, const MatMul& op) {
  const SocProfile::Npu& npu = profile.npu;
  const npu_emu::ChipMemory memory{npu.arrays, npu.stationary_bytes, npu.fill_bytes_per_second,
                                   npu.stream_bytes_per_second};
  const bool decodes = op.S <= npu.decode_tokens;
  const npu_emu::TiledCost cost =
      npu_emu::tiled_cost({npu.array_rows, npu.array_cols}, npu.clock_hz, memory, npu_emu::Dataflow::input_stationary,
                          {op.S, op.K, rows_of(op)}, {2, decodes ? npu.decode_weight_bytes : npu.weight_bytes});
  OpTime time;
  time.fixed_seconds = npu.launch_seconds;
  time.flops = 2.0 * real(op.S) * real(op.K) * real(rows_of(op));
  time.bytes = real(cost.blocks) * weight_bytes_of(profile, op.w, rows_of(op)) +
               real(op.S) * real(op.K + rows_of(op)) * profile.activation_bytes;
  time.seconds = std::max(cost.seconds, time.bytes / npu.bytes_per_second);
  return time;
}

std::string npu_refusal(const SocProfile& profile, const Operator& op) {
  if (!std::holds_alternative<MatMul>(op.body)) return "only matrix products have static graphs";
  if (!profile.npu.float16) return "no 16-bit floats on the NPU of " + profile.name;
  return "";
}

double compile_seconds(const SocProfile& profile, const MatMul& op) {
  return profile.npu.compile_graph_seconds +
         profile.npu.compile_element_seconds * real(op.S) * real(op.K + rows_of(op));
}

bool has_graph(const SocProfile& profile, int64_t tokens) {
  return tokens <= profile.npu.decode_tokens || std::ranges::binary_search(profile.npu.graph_tokens, tokens);
}

}  // namespace tandem
