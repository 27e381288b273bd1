#include "engine/plan/model_clock/chip_passes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sync/error.h"

namespace tandem {
namespace {

// Weights of each block, from the first one on.
std::vector<int64_t> block_weights(const PassSize& size, int64_t block_layers) {
  std::vector<int64_t> weights;
  for (int64_t layer = 0; layer < size.layers; layer += block_layers)
    weights.push_back(std::min(block_layers, size.layers - layer) * size.layer_weights);
  weights.back() += size.output_weights;
  return weights;
}

// Schedules count whole microseconds. A bound keeps their sums within 64 bits.
int64_t microseconds(double seconds) {
  constexpr double kMost = 1e6;
  if (!(seconds <= kMost)) {
    throw Error("a block of a model takes longer than any schedule can have", "more than a million seconds",
                "Check the rates of the processor profile");
  }
  return std::llround(1e6 * seconds);
}

}  // namespace

// An affine time needs each weight to be multiplied for each token, which experts and latent attention do not do.
PassSize pass_size(const ModelConfig& config) {
  if (config.experts || config.latent)
    throw Error("passes of this model have no affine time", config.name, "Name a dense model with plain attention");
  const int64_t H = config.hidden, queries = config.heads * config.head_dim, keys = config.kv_heads * config.head_dim;
  PassSize size;
  size.layers = config.layers;
  size.layer_weights = H * (queries + 2 * keys) + queries * H + 3 * H * config.feed_forward;
  size.output_weights = config.vocabulary * H;
  return size;
}

// The shared part reads all weights, and each token multiplies and adds with all of them.
PassLine pass_line(const ChipPasses& chip, const PassSize& size) {
  const auto weights = static_cast<double>(size.weights());
  return {weights / chip.weight_bytes_per_second, 2 * weights / chip.flops};
}

PassLine line_through(int64_t tokens_a, double seconds_a, int64_t tokens_b, double seconds_b) {
  const double slope = (seconds_b - seconds_a) / static_cast<double>(tokens_b - tokens_a);
  return {seconds_a - slope * static_cast<double>(tokens_a), slope};
}

// A token after the first costs a share of the first one's time.
double cpu_pass_seconds(const ChipPasses& chip, const PassSize& size, double tokens) {
  return 2 * static_cast<double>(size.weights()) / chip.cpu_flops * (1 + chip.cpu_token_share * (tokens - 1));
}

double graph_load_seconds(const PassSize& size, double bytes_per_second) {
  return static_cast<double>(size.weights()) / bytes_per_second;
}

// A block has the share of a pass that its weights have. A chunk on the decode graph runs it as often as the chunk
// holds its tokens.
GraphSwitchTimes graph_switch_times(const ChipPasses& chip, const PassSize& size, const PassLine& line,
                                    double load_bytes_per_second, int64_t chunks) {
  if (chip.prefill_tokens % chip.decode_tokens != 0) {
    throw Error("a chunk is no whole number of decode graphs",
                std::to_string(chip.prefill_tokens) + " and " + std::to_string(chip.decode_tokens) + " tokens",
                "Let passes.decode_tokens divide passes.prefill_tokens");
  }
  const int64_t repetitions = chip.prefill_tokens / chip.decode_tokens;
  const double prefill = line.seconds(chip.prefill_tokens);
  const double decode = line.seconds(chip.decode_tokens) * static_cast<double>(repetitions);
  const double load = graph_load_seconds(size, load_bytes_per_second);
  GraphSwitchTimes times;
  times.chunks = chunks;
  for (const int64_t weights : block_weights(size, chip.block_layers)) {
    const double share = static_cast<double>(weights) / static_cast<double>(size.weights());
    times.prefill.push_back(microseconds(prefill * share));
    times.decode.push_back(microseconds(decode * share));
    times.load.push_back(microseconds(load * share));
  }
  return times;
}

}  // namespace tandem
