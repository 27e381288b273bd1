// Runs settings of the paper on the model clock. Decoders and plans are kept, because hundreds of rows share them.
#include "bench/paper_heterollm/lab.h"

#include <algorithm>
#include <utility>

#include "engine/model/shapes.h"
#include "engine/plan/model_clock/processor_time.h"
#include "engine/plan/model_clock/soc_costs.h"
#include "engine/plan/strategy.h"

namespace tandem::paper_heterollm {
namespace {

// True if other costs could give another plan.
bool depends_on_costs(const Setting& setting, const std::vector<DeviceTraits>& devices) {
  if (!find_strategy(setting.plan).weighs) return false;
  // If there is a graph of exactly this size, `layer` has nothing to weigh.
  const std::vector<int64_t>& sizes = devices.back().graph_tokens;
  return setting.plan != "layer" || !std::ranges::binary_search(sizes, setting.tokens);
}

}  // namespace

Setting prefill(const char* model, int64_t tokens, const char* plan) { return {model, tokens, plan}; }
Setting decode(const char* model, const char* plan) { return {model, 1, plan, 256}; }

// The model's operators depend on no profile, so a fit makes them once.
Decoders::Decoder::Decoder(const Setting& setting)
    : model(model_shape(setting.model), packed_format(StorageType::q4_0), setting.tokens,
            setting.context + setting.tokens, true, {}, setting.int8 ? ActType::i8 : ActType::f16),
      operators(model.operators(setting.tokens)) {}

// A decoder depends on shapes alone, so it outlives every change of the profile.
const std::vector<Operator>& Decoders::operators(const Setting& setting) {
  std::unique_ptr<Decoder>& decoder = decoders_[{setting.model, setting.tokens, setting.context, setting.int8}];
  if (!decoder) decoder = std::make_unique<Decoder>(setting);
  return decoder->operators;
}

// A plan that weighs costs is made anew for each profile. All others are made once.
const Plan* Decoders::plan(const Setting& setting, const std::vector<DeviceTraits>& devices, Dominant dominant) {
  if (depends_on_costs(setting, devices)) return nullptr;
  const auto key = std::make_tuple(setting.model, setting.tokens, setting.plan, setting.int8);
  const auto found = plans_.find(key);
  if (found != plans_.end()) return &found->second;
  Plan plan = find_strategy(setting.plan).make({operators(setting), devices, {}, false, {}});
  plan.dominant = dominant;
  return &(plans_[key] = std::move(plan));
}

// The matrices of all layers: q, k, v, the output, gate, up and down.
double block_weights(const char* model) {
  const ModelConfig c = model_shape(model);
  const int64_t attention = c.qkv_width() * c.hidden + c.hidden * c.heads * c.head_dim_v;
  return static_cast<double>(c.layers * (attention + 3 * c.hidden * c.feed_forward));
}

double head_weights(const char* model) {
  const ModelConfig c = model_shape(model);
  return static_cast<double>(c.vocabulary * c.hidden);
}

// Each setting is modelled once for a profile, because rows ask for the same ones again and again.
const ModelRun& Lab::run(const Setting& setting) {
  const auto found = runs_.find(setting);
  if (found != runs_.end()) return found->second;
  const Dominant dominant = dominant_in(profile_, setting.tokens);
  const std::vector<DeviceTraits> devices = traits_of(profile_);
  const ClockOptions options{setting.sync, setting.context, setting.load};
  if (const Plan* plan = decoders_.plan(setting, devices, dominant)) {
    return runs_[setting] = run_model_clock(*plan, profile_, options);
  }
  const PlanCosts costs = costs_of(profile_, {SyncCost::fast, setting.context, false}, dominant);
  Plan plan = find_strategy(setting.plan).make({decoders_.operators(setting), devices, {}, false, costs});
  plan.dominant = dominant;
  return runs_[setting] = run_model_clock(plan, profile_, options);
}

double Lab::seconds(const Setting& setting) {
  const ModelRun& result = run(setting);
  return result.compile_seconds + result.seconds;
}

}  // namespace tandem::paper_heterollm
