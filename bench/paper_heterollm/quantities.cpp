#include "bench/paper_heterollm/quantities.h"

#include <algorithm>

#include "engine/plan/model_clock/processor_time.h"
#include "npu_emu/memory_model.h"

namespace tandem::paper_heterollm {
namespace {

// A matmul by itself, with the weights' format of the paper.
MatMul matmul(int64_t S, int64_t K, int64_t N) {
  MatMul op;
  op.S = S;
  op.K = op.x_stride = K;
  op.row_end = op.y_stride = N;
  op.w = {packed_format(StorageType::q4_0), N, K, {}};
  return op;
}

// Derives an engine's rates from two speed-ups on Llama-8B: Hetero-layer at 256 tokens (HF17) and Hetero-tensor at
// decode (HF37).
PeerEngine peer(double layer_over_it, double tensor_over_it) {
  const double weights = block_weights(kL8);
  // Weights have 4 bits; neither side counts the scales.
  return {2 * weights * kLayerSpeed256 / layer_over_it,
          (weights + head_weights(kL8)) / 2 * kTensorDecode / tensor_over_it};
}

}  // namespace

double gpu_rate(const Lab& lab, int64_t S, int64_t K, int64_t N) {
  const OpTime time = gpu_time(lab.profile(), {"", matmul(S, K, N)}, 0);
  return time.flops / time.total();
}

double npu_seconds(const Lab& lab, int64_t S, int64_t K, int64_t N) {
  return npu_time(lab.profile(), matmul(S, K, N)).total();
}

double npu_rate(const Lab& lab, int64_t S, int64_t K, int64_t N) {
  const OpTime time = npu_time(lab.profile(), matmul(S, K, N));
  return time.flops / time.total();
}

// The same product with the weights held still in the array and the tokens streamed, which the paper shows to be slow.
double npu_rate_reversed(const Lab& lab, int64_t S, int64_t K, int64_t N) {
  const SocProfile::Npu& npu = lab.profile().npu;
  const npu_emu::TiledCost cost =
      npu_emu::tiled_cost({npu.array_rows, npu.array_cols}, npu.clock_hz,
                          {npu.arrays, npu.stationary_bytes, npu.fill_bytes_per_second, npu.stream_bytes_per_second},
                          npu_emu::Dataflow::weight_stationary, {S, K, N}, {npu.weight_bytes, 2});
  const OpTime streaming = npu_time(lab.profile(), matmul(S, K, N));
  return streaming.flops / (cost.seconds + npu.launch_seconds);
}

// The best rate over shapes of all sizes, as a search over powers of two.
double best_npu_rate(const Lab& lab) {
  double best = 0;
  for (int64_t S = 32; S <= 1024; S *= 2)
    for (int64_t K = 256; K <= 16384; K *= 2)
      for (int64_t N = 256; N <= 16384; N *= 2) best = std::max(best, npu_rate(lab, S, K, N));
  return best;
}

double ffn_down_share(const ModelRun& run) {
  double down = 0;
  for (const ModelSpan& span : run.spans) {
    if (span.name.ends_with("ffn_down")) down += span.end_seconds - span.start_seconds;
  }
  return down / run.seconds;
}

double speed_up(Lab& lab, const Setting& faster, const Setting& slower) {
  return lab.seconds(slower) / lab.seconds(faster);
}

Setting with(Setting setting, SyncCost sync) {
  setting.sync = sync;
  return setting;
}
Setting beside_game(Setting setting) {
  setting.load = true;
  return setting;
}
Setting with_int8(Setting setting) {
  setting.int8 = true;
  return setting;
}

double prefill_speed(const PeerEngine& engine, const char* model) { return engine.flops / (2 * block_weights(model)); }
double decode_speed(const PeerEngine& engine, const char* model) {
  return engine.bytes_per_second / ((block_weights(model) + head_weights(model)) / 2);
}

// The three engines of the paper, each by its two printed ratios.
PeerEngine mnn() { return peer(5.85, 1.50); }
PeerEngine llama_cpp() { return peer(24.9, 2.53); }
PeerEngine mlc() { return peer(5.64, 1.52); }

}  // namespace tandem::paper_heterollm
