#include "engine/run/choice/machine_rates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/plan/matmul_decisions.h"
#include "engine/plan/placer.h"
#include "engine/plan/prediction/overlap.h"
#include "engine/plan/prediction/predict.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/plan/strategy.h"
#include "engine/run/choice/stored_ratios.h"

namespace tandem {
namespace {

// Prefixes of keys in the disk cache. Their numbers change with the formula and the classes of
// device_rates.h (engine/plan/prediction).
constexpr const char* kRates = "rates 2|";
constexpr const char* kPasses = "passes 3|";
// Joining two parts costs two flags and the gate kernel beyond the parts' own time (measured: 0.1 us a flag, 0.7 us a
// gate kernel).
constexpr double kJoinSeconds = 2e-6;
// The same behind a bus. An empty step takes 13 to 48 us through Vulkan on an H100 or H200, depending on the waiting
// policy. It takes more where operands are copied.
constexpr double kJoinCardSeconds = 50e-6;

// Devices that share a single core take turns: they are one lane.
std::vector<int> lanes_of(std::span<const std::unique_ptr<Device>> devices) {
  std::vector<int> lanes;
  for (const auto& device : devices) {
    const std::vector<int>& cores = device->info().cores;
    int lane = static_cast<int>(lanes.size());
    for (size_t before = 0; cores.size() == 1 && before < lanes.size(); ++before) {
      if (devices[before]->info().cores == cores) lane = lanes[before];
    }
    lanes.push_back(lane);
  }
  return lanes;
}

// A pass takes about as long as its operators. A larger ratio has another cause, such as a driver that compiles.
constexpr double kFarthestPass = 1.5;

// The estimate for a pass without samples. Strategies that cut a pass in halves have a factor of their own; fewer than
// kFewestTokens are not cut.
double simulated_seconds(const Plan& plan, const PlanCosts& costs, const PassKind& kind) {
  const auto strategy = std::ranges::find(strategies(), std::string_view(plan.name), &Strategy::name);
  const bool known = kind.S >= kFewestTokens && strategy != strategies().end();
  return predict(plan, costs).seconds * (known ? strategy->beside_simulated : 1);
}

// All that an operator's predicted time depends on: the key of a cache, since a planner asks for the same costs again
// and again. Heads and their widths enter as bytes and multiplications, as in the formula. The last entry says whether
// another device reads memory at the same time (matmul), or whether there is a soft cap (attention).
using CostKey = std::tuple<int, size_t, PackedKind, int64_t, int64_t, int64_t, int64_t, int64_t, bool>;

// One number for the rest of a format (kinds of scale and minimum, zero point, code book) and the type of
// the activations.
int64_t code_of(const PackedFormat& format, bool act_i8) {
  const int64_t kinds = static_cast<int64_t>(format.scale) * 16 + static_cast<int64_t>(format.book) * 4 +
                        static_cast<int64_t>(format.min);
  return ((act_i8 ? 256 : 0) + kinds) * 256 + format.zero_point;
}

// What a cost is filed under: products by format and shape, attention by its share of the cache, everything else by its
// work. Operators with one key are expected to take the same time.
CostKey cost_key(int device, const TimedOperator& timed) {
  const Operator& op = timed.op;
  if (const auto* matmul = std::get_if<MatMul>(&op.body)) {
    const PackedFormat& format = matmul->w.format;
    return {device,
            op.body.index(),
            format.kind,
            format.group,
            matmul->S,
            matmul->K,
            matmul->row_end - matmul->row_begin,
            code_of(format, matmul->act_i8),
            timed.beside};
  }
  const Work each = work(op);
  const auto* attention = std::get_if<Attention>(&op.body);
  const auto* grouped = std::get_if<GroupedMatMul>(&op.body);
  return {device,
          op.body.index(),
          grouped ? grouped->w.format.kind : PackedKind{},
          attention ? attention->window * kAttentionShares + attention->share_begin
          : grouped ? code_of(grouped->w.format, grouped->act_i8) * 256 + grouped->w.format.group
                    : 0,
          tokens_of(op),
          timed.past,
          static_cast<int64_t>(each.bytes),
          static_cast<int64_t>(each.flops),
          attention != nullptr && attention->score.soft_cap > 0};
}

// The spans of each operator of each step, added up.
struct OperatorTime {
  double start = 0, end = 0, seconds = 0;
};
std::map<std::pair<int, int>, OperatorTime> by_operator(std::span<const StepSpan> spans) {
  std::map<std::pair<int, int>, OperatorTime> times;
  for (const StepSpan& span : spans) {
    const auto [at, is_new] = times.try_emplace({span.step, span.op}, OperatorTime{span.start_seconds, 0, 0});
    at->second.end = span.end_seconds;
    at->second.seconds += span.end_seconds - span.start_seconds;
  }
  return times;
}

// The classes of operators that each device ran, down to the level of a number of tokens.
std::vector<std::set<OperatorClass>> work_of_each(const Plan& plan, const PassSpans& spans) {
  std::vector<std::set<OperatorClass>> work(spans.size());
  for (const Step& step : plan.steps) {
    const auto d = static_cast<size_t>(step.device);
    if (d >= spans.size() || spans[d].empty()) continue;
    std::map<CostKey, const Operator*> each;  // most operators of thirty layers are the same
    for (const Operator& op : step.operators) each.try_emplace(cost_key(step.device, {op, 0, false}), &op);
    for (const auto& [key, op] : each) work[d].insert(class_of(TimedOperator{*op}).of_tokens());
  }
  return work;
}
// Logarithms. A mean that moves by kMatters may change a choice. A bonus that fails by kLargeFailure has made bad
// plans, which are made anew at once.
constexpr double kMatters = 0.1, kLargeFailure = 0.5;

bool was_contended(double weight) { return weight < 1; }

template <typename Class>
PooledRatios<Class> kept(const DiskCache& cache, const std::string& key) {
  return ratios_from<Class>(cache.value(key).value_or(nullptr));
}

// The samples of one pass for all operators with the same cost key.
struct OperatorSamples {
  OperatorClass operators;
  double bare_seconds = 0;
  std::vector<double> ratios;
};

}  // namespace

std::string measurement_key(const DeviceInfo& device) {
  std::string key = device.id + "|" + device.name + "|" + device.driver + "|cores";
  for (int core : device.cores) key += " " + std::to_string(core);
  if (!device.parameters.empty()) key += "|" + device.parameters;
  return key + "|cold";  // the way of measuring: figures of different ways are not comparable
}

PriorRates prior_of(const DeviceInfo& device) {
  // One core with vectors of 256 to 512 bits and a register-tiled kernel, with its share of the memory's bandwidth.
  PriorRates core;
  double factor = 1;
  if (device.queued && device.cores.empty()) {
    // 128 lanes a compute unit at 1.5 GHz, of which a kernel reaches a third; the launch of a queue's kernel.
    const double units = std::max(1, device.compute_units);
    return {units * 128e9, units * 10e9, 5e-6};
  }
  if (device.queued && !device.vector_kernels)
    factor = device.family == KernelFamily::simt ? 0.05 : 0.1;  // scalar work-items on a core
  if (!device.cuts_rows) factor = 0.8;
  factor *= static_cast<double>(std::max<size_t>(1, device.cores.size()));
  return {factor * core.flops_per_second, factor * core.bytes_per_second, core.launch_seconds};
}

MachineRates::MachineRates(std::span<const std::unique_ptr<Device>> devices, DiskCache& cache)
    : devices_(devices), cache_(cache), lanes_(lanes_of(devices)), passes_key_(kPasses) {
  for (const auto& device : devices) {
    const std::string key = measurement_key(device->info());
    device_models_.push_back(
        {DeviceRates(prior_of(device->info())), kept<OperatorClass>(cache, kRates + key), kRates + key});
    device_models_.back().rates.ratios() = device_models_.back().uncontended;
    passes_key_ += key + "|";
  }
  passes_ = uncontended_passes_ = kept<PassClass>(cache, passes_key_);
}

// The costs of one call share two caches: predicted seconds and solved matmuls (H9). A new sample changes estimates, so
// each call begins with empty caches.
PlanCosts MachineRates::costs(const PassPositions& positions) const {
  PlanCosts costs;
  const bool card = std::ranges::any_of(devices_, [](const auto& device) { return device->info().discrete; });
  costs.sync_seconds = card ? kJoinCardSeconds : kJoinSeconds;
  costs.lanes = lanes_;
  costs.solved = std::make_shared<SolvedMatMuls>();
  costs.seconds = [this, positions, cached = std::make_shared<std::map<CostKey, double>>()](
                      int device, const Operator& op, bool both) {
    const TimedOperator timed{op, past_of(op, positions).value_or(0), both};
    const auto [at, is_new] = cached->try_emplace(cost_key(device, timed), 0);
    if (is_new) at->second = device_models_[static_cast<size_t>(device)].rates.seconds(timed);
    return at->second;
  };
  return costs;
}

double MachineRates::predicted_seconds(const Plan& plan, const PlanCosts& costs, const PassKind& kind) const {
  return simulated_seconds(plan, costs, kind) * passes_.ratio(class_of(kind));
}

// Samples of operators and of the pass settle bonuses, and then unused options get new ones. Choices are made again
// after a large failure, and after 1, 2, 4 ... passes, from 64 on after every 64th.
void MachineRates::learn(const Plan& plan, const PassSpans& spans, const PassKind& kind, const PassPositions& positions,
                         double seconds, double weight) {
  if (!was_contended(weight) && contended_) on_contention_end();
  contended_ = was_contended(weight);
  const double exploration_failed =
      std::max(learn_operators(plan, spans, positions, weight), learn_pass(plan, kind, positions, seconds, weight));
  if (exploration_failed > kLargeFailure) ++version_;
  add_exploration_bonuses(plan, spans, kind, weight);
  ++learnt_;
  if (learnt_ % 64 == 0 || std::has_single_bit(static_cast<uint64_t>(learnt_))) ++version_;
}

// Uncontended estimates replace those learnt from contended passes, because the cores belong to this process again.
void MachineRates::on_contention_end() {
  double moved = passes_.overwrite_from(uncontended_passes_);
  for (DeviceModel& model : device_models_)
    moved = std::max(moved, model.rates.ratios().overwrite_from(model.uncontended));
  if (moved > kMatters) ++version_;
}

void MachineRates::learn_alone(size_t device, const Operator& op, double seconds) {
  DeviceModel& model = device_models_[device];
  model.rates.learn({op}, seconds);
  model.uncontended.learn(class_of(TimedOperator{op}), seconds / prior_seconds(model.rates.prior(), {op}));
}

// The median over a class's operators is one sample: thirty layers are not thirty passes, and a thread that lost its
// core lost it in one of them. Returns the largest failure of a bonus, as a logarithm.
double MachineRates::learn_operators(const Plan& plan, const PassSpans& spans, const PassPositions& positions,
                                     double weight) {
  double exploration_failed = 0;
  for (size_t d = 0; d < spans.size(); ++d) {
    DeviceRates& rates = device_models_[d].rates;
    std::map<CostKey, OperatorSamples> samples;  // most operators of thirty layers are the same
    for (const auto& [at, time] : by_operator(spans[d])) {
      if (time.seconds <= 0) continue;
      double beside = 0;
      for (size_t other = 0; other < spans.size(); ++other)
        if (lanes_[other] != lanes_[d]) beside = std::max(beside, overlap_seconds(spans[other], time.start, time.end));
      const Step& step = plan.steps[static_cast<size_t>(at.first)];
      // The span of a whole step gives each of its operators the same ratio.
      const std::span<const Operator> of = at.second < 0
                                               ? std::span<const Operator>(step.operators)
                                               : std::span(&step.operators[static_cast<size_t>(at.second)], 1);
      // Costs with `both` hold for operators that shared the memory for more than half of their time.
      const bool is_beside = beside > (time.end - time.start) / 2;
      double bare = 0;
      std::vector<OperatorSamples*> of_step;
      for (const Operator& op : of) {
        const TimedOperator timed{op, past_of(op, positions).value_or(0), is_beside};
        const auto [found, is_new] = samples.try_emplace(cost_key(static_cast<int>(d), timed));
        if (is_new) found->second = {class_of(timed), prior_seconds(rates.prior(), timed), {}};
        bare += found->second.bare_seconds;
        of_step.push_back(&found->second);
      }
      for (OperatorSamples* each : of_step) each->ratios.push_back(time.seconds / bare);
    }
    std::map<OperatorClass, std::vector<double>> ratios;
    for (const auto& [key, each] : samples) {
      std::vector<double>& of_class = ratios[each.operators];
      of_class.insert(of_class.end(), each.ratios.begin(), each.ratios.end());
    }
    for (auto& [operators, of_class] : ratios) {
      const double middle = median(std::move(of_class));
      exploration_failed = std::max(exploration_failed, rates.ratios().learn(operators, middle, weight));
      if (!was_contended(weight)) device_models_[d].uncontended.learn(operators, middle);
    }
  }
  return exploration_failed;
}

// Learns how far whole passes are from their simulation. The bound keeps one odd pass, such as one in which a driver
// compiles, from spoiling the estimate.
double MachineRates::learn_pass(const Plan& plan, const PassKind& kind, const PassPositions& positions, double seconds,
                                double weight) {
  const double predicted = simulated_seconds(plan, costs(positions), kind);
  if (predicted <= 0 || seconds <= 0) return 0;
  const double ratio = std::clamp(seconds / predicted, 1 / kFarthestPass, kFarthestPass);
  if (!was_contended(weight)) uncontended_passes_.learn(class_of(kind), ratio);
  return passes_.learn(class_of(kind), ratio, weight);
}

// An option that is never tried keeps its old estimate. So every pass raises the exploration bonus of what it did not
// use: devices that the plan leaves out, classes of work that a device left to others, and plans that were not chosen.
// The bonus grows slowly, so an option runs again when it is almost worth it. Its share of the work is small then, and
// the pass takes hardly longer if the option is still slow. A contended pass raises no bonus of uncontended estimates.
void MachineRates::add_exploration_bonuses(const Plan& plan, const PassSpans& spans, const PassKind& kind,
                                           double weight) {
  constexpr double kDeviceRate = 0.01, kWorkRate = 0.004, kPlanRate = 0.004, kUntriedPlanRate = 0.01,
                   kMaxUntriedPlanBonus = 0.4;
  const double most = std::log(20);
  const std::vector<std::set<OperatorClass>> ran = work_of_each(plan, spans);
  std::set<OperatorClass> all;
  for (const auto& of : ran) all.insert(of.begin(), of.end());
  for (size_t d = 0; d < spans.size(); ++d) {
    std::vector<OperatorClass> left;  // classes that only other devices ran
    std::ranges::set_difference(all, ran[d], std::back_inserter(left));
    for (const OperatorClass& work : left) {
      const double by = spans[d].empty() ? kDeviceRate : kWorkRate;
      device_models_[d].rates.ratios().add_exploration_bonus(work, by, most);
      if (!was_contended(weight)) device_models_[d].uncontended.add_exploration_bonus(work, by, most);
    }
  }
  PassClass taken = class_of(kind);
  taken.positions = -1;
  const std::string how = kind.plan.substr(std::min(plan.name.size(), kind.plan.size()));  // "+sequences"
  const auto add_bonuses_of_plans = [&](PooledRatios<PassClass>& ratios) {
    for (const auto& [level, known] : ratios.levels()) {
      const bool names_plan = !level.plan.empty() && level.positions < 0;
      if (names_plan && level.tokens == taken.tokens && level.plan != taken.plan)
        ratios.add_exploration_bonus(level, kPlanRate, known.log_ratio);
    }
    // A single wrong rate may exclude a strategy that never ran with so many tokens.
    for (const Strategy& strategy : strategies()) {
      PassClass level = taken;
      level.plan = strategy.name + how;
      if (strategy.tried_by_auto && ratios.weight_of(level) == 0 && level != taken)
        ratios.add_exploration_bonus(level, weight * kUntriedPlanRate, kMaxUntriedPlanBonus);
    }
  };
  add_bonuses_of_plans(passes_);
  if (!was_contended(weight)) add_bonuses_of_plans(uncontended_passes_);
}

double MachineRates::seen(const PassKind& kind) const { return passes_.weight_of(class_of(kind)); }

// The file gets uncontended estimates where they exist, because a later start may have the cores for itself.
void MachineRates::store() {
  if (learnt_ == 0) return;
  const auto keep = [this](const std::string& key, auto all, const auto& uncontended) {
    all.overwrite_from(uncontended);
    cache_.set(key, to_json(all));
  };
  for (const DeviceModel& model : device_models_) keep(model.key, model.rates.ratios(), model.uncontended);
  keep(passes_key_, passes_, uncontended_passes_);
}

}  // namespace tandem
