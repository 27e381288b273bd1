#include "engine/run/planner.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "engine/run/contention.h"
#include "engine/run/measure.h"
#include "engine/run/plans_ran.h"
#include "engine/run/timeline.h"

namespace tandem {
namespace {

// Rounds of trying: short passes differ by less than the noise of a few, so there are many of them, but few begin once
// this time is over.
constexpr int kFewestRounds = 3, kMostRounds = 25;
constexpr double kTrySeconds = 1;

// Part of what a choice is kept under: choices among other plans than today's do not count.
constexpr const char* kChoices = "choice 2|";

// What is measured while it lives goes to disk: as doubtful when other programs had the cores.
class Keeping {
 public:
  Keeping(DiskCache& cache, bool always) : cache_(cache), always_(always) {}
  ~Keeping() {
    const bool doubtful = !always_ && watch_.found();
    doubtful ? cache_.save_as_doubtful() : cache_.save();
  }
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;

 private:
  DiskCache& cache_;
  const bool always_;
  const ContentionWatch watch_;
};

std::string joined(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

}  // namespace

int64_t length_class(int64_t S) {
  if (S <= kDecodeTokens) return kDecodeTokens;
  const int64_t step = S <= 256 ? 32 : 128;
  return (S + step - 1) / step * step;
}

Planner::Planner(PlannedModel planned, PlannerOptions options, Executor& executor, DiskCache& cache)
    : planned_(std::move(planned)), options_(std::move(options)), executor_(executor), cache_(cache) {}

bool Planner::has(DeviceKind kind) const {
  return std::ranges::any_of(planned_.devices, [&](const auto& device) { return device->info().kind == kind; });
}

// Empty: the name says it all.
std::vector<std::string> Planner::candidates() const {
  const bool gpu = has(DeviceKind::gpu), npu = has(DeviceKind::npu), host = has(DeviceKind::host);
  const bool two = npu && (gpu || host);
  if (options_.plan != "auto" && !(options_.plan == "tensor" && two && options_.tries && options_.split.empty()))
    return {};
  std::vector<std::string> names;
  if (gpu) names.push_back("gpu-only");
  if (two) names.insert(names.end(), {"layer", "rows", "tensor", "staggered"});
  if (planned_.host_beside_npu && gpu &&
      std::ranges::all_of(planned_.devices, [](const auto& device) { return device->info().zero_copy; }))
    names.push_back("sequence");
  if (names.empty() || (host && !planned_.host_beside_npu)) names.push_back("host-only");
  return names;
}

const std::string& Planner::name_for(const Batch& batch, int64_t position) {
  const int64_t length = length_class(batch.S);
  if (const auto known = chosen_.find(length); known != chosen_.end()) return known->second;
  const std::vector<std::string> open = candidates();
  if (open.empty()) return chosen_.emplace(length, options_.plan).first->second;
  std::string key = kChoices + options_.plan + "|" + planned_.key + "|" +
                    (options_.split.empty() ? "measured" : joined(options_.split)) +
                    (options_.submit == "ahead" ? "" : "|" + options_.submit) + "|up to " + std::to_string(length);
  for (const auto& device : planned_.devices) key += "|" + measurement_key(device->info());
  std::string best;
  if (const auto kept = cache_.text(key); kept && std::ranges::count(open, *kept) > 0) {
    best = *kept;
  } else {
    const Keeping keeping(cache_, options_.keeps_contended);
    if (options_.on_long_work && chosen_.empty()) options_.on_long_work("measuring which plan is the fastest");
    best = fastest(open, batch, position);
    cache_.set(key, best);
  }
  return chosen_.emplace(length, std::move(best)).first->second;
}

// Candidates take turns, and the least time of each counts: whatever else the machine does only ever adds to it.
std::string Planner::fastest(const std::vector<std::string>& candidates, const Batch& batch, int64_t position) {
  if (candidates.size() == 1) return candidates.front();
  std::vector<std::unique_ptr<PreparedPlan>> prepared;
  for (const std::string& name : candidates) prepared.push_back(executor_.prepare(make(name, batch, position)));
  std::fill_n(planned_.activations.ids.as<int32_t>(), batch.S, 0);
  write_positions(planned_.activations, position, batch.S);
  for (const auto& plan : prepared) executor_.run(*plan);  // compiles
  std::vector<double> least(candidates.size(), std::numeric_limits<double>::infinity());
  const double start = now_seconds();
  const auto goes_on = [&](int round) {
    if (round >= kFewestRounds) return round < kMostRounds && now_seconds() - start < kTrySeconds;
    return round == 0 || now_seconds() - start < 2 * kTrySeconds;  // of a large model one has to do
  };
  for (int round = 0; goes_on(round); ++round) {
    for (size_t i = 0; i < prepared.size(); ++i) least[i] = std::min(least[i], executor_.run(*prepared[i]));
  }
  return candidates[static_cast<size_t>(std::ranges::min_element(least) - least.begin())];
}

int64_t Planner::planned_past(const Batch& batch, int64_t position) {
  if (!find_strategy(name_for(batch, position)).weighs_attention) return 0;
  return position < 1024 ? position / 256 * 256 : static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(position)));
}

Plan Planner::plan_for(const Batch& batch, int64_t position) {
  return make(name_for(batch, position), batch, planned_past(batch, position));
}

std::vector<Operator> Planner::operators(const Batch& batch) const {
  return build_decoder(planned_.model, planned_.activations, batch, {options_.round_f16});
}

PlanCosts Planner::costs(const Batch& batch, int64_t position) {
  write_positions(planned_.activations, position, batch.S);  // attention is measured at them
  return Measurer{executor_, cache_}.predictor(operators(batch), planned_.devices);
}

Plan Planner::make(const std::string& name, const Batch& batch, int64_t position) {
  const Keeping keeping(cache_, options_.keeps_contended);
  const std::vector<Operator> operators = this->operators(batch);
  std::vector<DeviceTraits> traits;
  for (const auto& device : planned_.devices) {
    Device* borrowed = device.get();
    traits.push_back({device->info().id, device->info().kind,
                      [borrowed](const Operator& op) { return borrowed->supports(op); }, device->info().zero_copy});
    traits.back().graph_tokens = options_.graph_tokens;
    traits.back().row_step = kPanelRows;  // the emulated array loses nothing on cuts finer than the paper's 256 rows
  }
  PlanRequest request{operators, traits, {}, options_.strict};
  const Strategy& strategy = find_strategy(name);
  if (strategy.weighs) request.costs = costs(batch, position);
  if (strategy.cuts_rows) {
    std::vector<Device*> cutters;
    for (const int d : row_cutters(traits)) cutters.push_back(planned_.devices[static_cast<size_t>(d)].get());
    if (!options_.split.empty()) {
      request.shares.otherwise = options_.split;
      if (options_.split.size() == 1)
        request.shares.otherwise.insert(request.shares.otherwise.begin(), 1 - options_.split[0]);
    } else if (cutters.size() > 1) {
      request.shares = Measurer{executor_, cache_}.row_shares(operators, cutters);
    }
  }
  Plan plan = strategy.make(request);
  const bool follows = options_.submit == "follow" || (options_.submit == "dominant" && batch.S > kDecodeTokens);
  plan.dominant = follows ? Dominant::npu : Dominant::gpu;
  return plan;
}

}  // namespace tandem
