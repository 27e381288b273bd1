#include "engine/run/activation_sizes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "engine/plan/placer.h"
#include "engine/run/cache/draft_tree.h"
#include "engine/run/cache/extension.h"
#include "engine/run/choice/contract.h"
#include "engine/run/choice/expert_use.h"
#include "shaders/limits.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr int64_t kDefaultContext = 4096;

// The most segments of a pass. A sequence has one if it is alone, and up to two if it shares the pass. With trees there
// may be more, because each token of a tree is a run.
int64_t most_segments(int64_t sequences, bool trees) {
  static_assert(2 * kMostSequences <= TANDEM_MAX_SEGMENTS);
  if (sequences < 1 || sequences > kMostSequences)
    throw Error("so many sequences do not fit one pass", std::to_string(sequences),
                "There may be 1 to " + std::to_string(kMostSequences));
  if (trees) return TANDEM_MAX_SEGMENTS;
  return sequences == 1 ? 1 : segment_class(2 * sequences);
}

// Checks the rules for experts. Returns the most rows that a plan may give to experts on the NPU. `auto` may use as
// many as the rules say, if all devices share one memory.
int64_t rows_for_experts(const Machine& machine, const ModelConfig& config, const Strategy* asked,
                         const ExpertRules& rules, int64_t tokens) {
  const auto& experts = config.experts;
  if (!experts) return 0;
  check_rules(rules, experts->count);
  if (machine.first_with(&DeviceInfo::static_graphs) == nullptr) return 0;
  if (asked ? !asked->expert_rules : !machine.zero_copy()) return 0;
  return most_slots(experts->count, experts->used, tokens, asked ? asked->expert_rules(rules) : rules);
}

// Sides are numbered from the GPU on. Partial sums need a buffer for each unit beyond the first.
void give_room_for_units(ActivationSizes& sizes, const Machine& machine, const ModelConfig& config,
                         const Strategy* asked, const UnitOptions& options) {
  if (!config.experts || !asked || !asked->near_memory) return;
  const int64_t units = std::ranges::count_if(machine.devices(),
                                              [](const auto& device) { return device->info().near_memory.is_there(); });
  const bool whole = asked->near_memory->shape == UnitShape::whole;
  if (units == 0) return;
  sizes.expert_sides = whole ? 1 + units : 2;
  if (options.split == UnitSplit::inner && asked->near_memory->shape == UnitShape::together)
    sizes.expert_partials = units - 1;
}

}  // namespace

// A comparison with NaN is false, so NaN is refused too.
void require_shares(std::span<const double> split) {
  constexpr const char* kHint = "Give the NPU's share from 0 to 1, or one for each device, which add up to 1";
  for (const double share : split)
    if (!(share >= 0 && share <= 1)) throw Error("a share of rows is out of range", std::to_string(share), kHint);
  const double sum = std::accumulate(split.begin(), split.end(), 0.0);
  if (split.size() > 1 && std::abs(sum - 1) > 1e-6)
    throw Error("the shares of rows do not add up to 1", std::to_string(sum), kHint);
}

int64_t context_of(const TextOptions& options, const ModelConfig& config) {
  const int64_t trained = config.context_length > 0 ? config.context_length : kDefaultContext;
  const int64_t context = options.context > 0 ? options.context : std::min(kDefaultContext, trained);
  if (config.position_rows > 0 && context > config.position_rows)
    throw Error("the model has no embeddings for so many positions", std::to_string(context) + " tokens",
                "Take at most " + std::to_string(config.position_rows) + " (--ctx-size)");
  if (config.widest_context > 0 && context > config.widest_context)
    throw Error("so long a context needs attention to a window, which this architecture does not have here",
                std::to_string(context) + " tokens",
                "Take at most " + std::to_string(config.widest_context) + " (--ctx-size)");
  return context;
}

// The context bounds a pass, and a pass bounds the buffers of its tokens. Rows of buffers are a size of the NPU's
// graphs, so that padding stays inside them. The cache has pages for a full context of every sequence.
ActivationSizes activation_sizes(const TextOptions& options, const ModelConfig& config, const Machine& machine,
                                 const Strategy* asked, std::span<const MovingExperts> moving) {
  ActivationSizes sizes;
  sizes.context = context_of(options, config);
  sizes.positions = (sizes.context + 63) / 64 * 64;
  sizes.tokens = std::min(sizes.context, options.chunk > 0 ? options.chunk : kDefaultChunk);
  sizes.rows = graph_size_for(sizes.tokens, {options.graph_tokens});
  sizes.logit_rows = std::min(std::max(options.logit_rows, options.sequences), sizes.tokens);
  sizes.hidden_states = options.hidden_states;
  if (sizes.hidden_states) sizes.logit_rows = sizes.tokens;
  // List kernels are compiled for passes that get logits for all of their tokens.
  if (options.drafts) sizes.logit_rows = std::min(std::max(sizes.logit_rows, kListedTokens), sizes.tokens);
  sizes.padded_logit_rows = graph_size_for(sizes.logit_rows, {options.graph_tokens});
  const bool trees = options.sequences > 1 || options.drafts;
  sizes.segments = most_segments(options.sequences, trees);
  sizes.tree_depth = trees ? kMostTreeDepth : 0;
  sizes.pages = (options.sequences + options.spare_texts) * pages_of(sizes.positions);
  sizes.kv_type = options.kv_type;
  sizes.routes_every_token = options.route_every_token;
  sizes.guess_layers = config.experts ? options.guess_layers : 0;
  sizes.expert_rows = rows_for_experts(machine, config, asked, options.experts, sizes.tokens);
  sizes.experts_move = !moving.empty();
  for (const MovingExperts& each : moving)
    if (each.lanes != nullptr)
      sizes.lanes = {each.slots, each.places, std::ssize(each.landings), each.inserts_misses ? each.places : 0, false};
  const bool may_prefetch = options.expert_prefetch != ExpertPrefetching::off && (!asked || asked->prefetches);
  sizes.prefetch_layers = sizes.lanes.slots > 0 && may_prefetch ? options.prefetch_layers : 0;
  if (sizes.prefetch_layers > 0 && sizes.lanes.turns > 0) ++sizes.lanes.turns, sizes.lanes.ahead = true;
  give_room_for_units(sizes, machine, config, asked, options.units);
  return sizes;
}

// Matrices without integers would multiply f32 activations, which an NPU rounds. Then plans would differ in bits.
std::optional<ActType> chosen_act(const TextOptions& options, std::span<const PackedFormat> weights) {
  if (options.act || !options.i8_for_integers || !all_integers(weights)) return options.act;
  return ActType::i8;
}

// If a device rounds activations to f16 anyway, all devices do, so that plans agree in every bit. A plan that runs on
// one kind of device has nothing to agree with.
ActType default_act(const Machine& machine, const Strategy* asked) {
  const bool rounds =
      std::ranges::any_of(machine.devices(), [](const auto& device) { return device->info().rounds_to_f16; });
  return rounds && !(asked && asked->only) ? ActType::f16 : ActType::f32;
}

// N1. Counts name experts by number alone, so the calibration must be of this very model.
std::optional<RoutingCounts> calibrated_counts(const std::string& path, const GgufFile& file,
                                               const ModelConfig& config) {
  if (path.empty()) return std::nullopt;
  if (!config.experts) throw Error("the model has no experts to be calibrated", file.path(), "Leave out --calibration");
  Calibration calibration = read_calibration(path);
  require_same_model(calibration, config.name, no_counts(config), path);
  return std::move(calibration.counts);
}

}  // namespace tandem
