#include "engine/plan/model_clock/processor_time.h"

#include <algorithm>

#include "npu_emu/memory_model.h"
#include "sync/error.h"

namespace tandem {
namespace {

double real(int64_t value) { return static_cast<double>(value); }
int64_t rows_of(const MatMul& op) { return op.row_end - op.row_begin; }

// Passes of few tokens have a rate of their own, if the profile has one.
double attention_rate(const SocProfile& profile, int64_t tokens) {
  const bool decodes = tokens <= profile.npu.decode_tokens && profile.gpu.decode_attention_flops > 0;
  return decodes ? profile.gpu.decode_attention_flops : profile.gpu.attention_flops;
}

// Whether the NPU runs the matmul in its integer mode.
bool by_integers(const SocProfile& profile, const MatMul& op) { return op.act_i8 && profile.npu.int8_rate > 0; }

constexpr double kCodeBytes = 1 + 4.0 / 32;  // for each activation: a group of 32 has a scale of four bytes

}  // namespace

double weight_bytes_of(const SocProfile& profile, const PackedMatrix& matrix, int64_t rows) {
  if (profile.weight_bits > 0) return real(rows * matrix.columns) * profile.weight_bits / 8;
  return static_cast<double>(panel_bytes(matrix.format, matrix.columns)) / kPanelRows * real(rows);
}

// H13: roofline. Attention has a rate of its own. The slower of arithmetic and memory decides. A kernel is never
// shorter than its submission.
OpTime gpu_time(const SocProfile& profile, const Operator& op, int64_t context) {
  const Work all = work(op, context);
  const double weight_bytes = profile.weight_bits > 0 ? all.weights * profile.weight_bits / 8 : all.weight_bytes;
  const bool attends = std::holds_alternative<Attention>(op.body);
  const double rate = attends ? attention_rate(profile, tokens_of(op)) : profile.gpu.flops;
  OpTime time;
  time.bytes = all.activations * profile.activation_bytes + weight_bytes + all.cache_bytes;
  time.flops = all.flops;
  time.seconds = std::max({time.flops / rate, time.bytes / profile.gpu.bytes_per_second, profile.gpu.submit_seconds});
  return time;
}

// H1, H13. The weights come from memory once for each block of activations that fits on chip, and the activations
// come once.
OpTime npu_time(const SocProfile& profile, const MatMul& op) {
  const SocProfile::Npu& npu = profile.npu;
  const npu_emu::ChipMemory memory{npu.arrays, npu.stationary_bytes, npu.fill_bytes_per_second,
                                   npu.stream_bytes_per_second};
  const bool decodes = op.S <= npu.decode_tokens, integers = by_integers(profile, op);
  // On chip a floating-point activation has two bytes. The profile has the width of a weight, and another width for
  // decoding. Integers have one byte each.
  const npu_emu::ElementBytes floats{2, decodes ? npu.decode_weight_bytes : npu.weight_bytes}, bytes{1, 1};
  const npu_emu::TiledCost cost =
      npu_emu::tiled_cost({npu.array_rows, npu.array_cols}, npu.clock_hz * (integers ? npu.int8_rate : 1), memory,
                          npu_emu::Dataflow::input_stationary, {op.S, op.K, rows_of(op)}, integers ? bytes : floats);
  OpTime time;
  time.fixed_seconds = npu.launch_seconds;
  time.flops = 2.0 * real(op.S) * real(op.K) * real(rows_of(op));
  time.bytes = real(cost.blocks) * weight_bytes_of(profile, op.w, rows_of(op)) +
               real(op.S) * (real(op.K) * (integers ? kCodeBytes : profile.activation_bytes) +
                             real(rows_of(op)) * profile.activation_bytes);
  time.seconds = std::max(cost.seconds, time.bytes / npu.bytes_per_second);
  return time;
}

// N6 in a short form: the NPU runs static graphs of matmuls and nothing else. A chip without 16-bit floats needs 8-bit
// activations and an integer mode.
std::string npu_refusal(const SocProfile& profile, const Operator& op) {
  if (!std::holds_alternative<MatMul>(op.body)) return "only matrix products have static graphs";
  if (!profile.npu.float16 && !by_integers(profile, std::get<MatMul>(op.body)))
    return "no 16-bit floats on the NPU of " + profile.name;
  return "";
}

// H13: a graph takes longer to compile if its tensors are larger. Its activations are [S, K] and [S, N].
double compile_seconds(const SocProfile& profile, const MatMul& op) {
  return profile.npu.compile_graph_seconds +
         profile.npu.compile_element_seconds * real(op.S) * real(op.K + rows_of(op));
}

bool has_graph(const SocProfile& profile, int64_t tokens) {
  return tokens <= profile.npu.decode_tokens || std::ranges::binary_search(profile.npu.graph_tokens, tokens);
}

}  // namespace tandem
