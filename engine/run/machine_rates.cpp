#include "engine/run/machine_rates.h"

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
#include "engine/run/stored_ratios.h"

namespace tandem {
namespace {

// Shared with nothing else on disk; changes with the formula and the classes of engine/plan/prediction/device_rates.h.
constexpr const char* kRates = "rates 2|";
constexpr const char* kPasses = "passes 3|";
// What joining two parts costs beyond their own time: two flags and the gate kernel (measured: 0.1 us a flag, 0.7 us a
// gate kernel).
constexpr double kJoinSeconds = 2e-6;
// Behind a bus: an empty step takes 13 to 41 us through Vulkan on an H100, by the way of waiting, and more where what
// crosses is copied.
constexpr double kJoinCardSeconds = 50e-6;

// Devices that work on the same one core take turns.
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

// A pass takes what its operators take, and not much else. Where it did, something else happened: a driver compiled.
constexpr double kFarthestPass = 1.5;

// Tokens before the strategy: what is not simulated, as starting devices is, is a larger part of short passes whatever
// their plan, so that a strategy which was never seen with so many tokens is taken to be like others that were.
std::vector<std::string> classes_of(const PassKind& kind) {
  const std::string phase = kind.S == 1 ? "single" : kind.S <= 8 ? "few" : "many";
  std::string name = phase + " S" + std::to_string(up_to(kind.S));
  std::vector<std::string> levels = {"all", phase, name};
  levels.push_back(name += " " + kind.plan);
  levels.push_back(name + " from " + std::to_string(kind.past < 256 ? 0 : up_to(kind.past)));
  return levels;
}

// What is expected of a pass of that kind before any was seen. A single token has no halves.
double simulated_seconds(const Plan& plan, const PlanCosts& costs, const PassKind& kind) {
  const auto strategy = std::ranges::find(strategies(), std::string_view(plan.name), &Strategy::name);
  const bool known = kind.S >= kFewestTokens && strategy != strategies().end();
  return predict(plan, costs).seconds * (known ? strategy->beside_simulated : 1);
}

// Whether a level is the fourth of those, a strategy of passes of some tokens.
bool names_plan(const std::string& level) { return std::ranges::count(level, ' ') == 2; }

// What the predicted time of an operator depends on, to be asked for once: planners ask the same again and again. Heads
// and their widths count by the bytes and multiplications they make, as in the formula; a soft cap, which is in
// neither, by the class. The last is whether another device reads beside a matmul, or whether an attention has a cap.
using Asked = std::tuple<int, size_t, PackedKind, int64_t, int64_t, int64_t, int64_t, int64_t, bool>;

// What a format has beyond its kind and group, and what it is multiplied with.
int64_t code_of(const PackedFormat& format, bool act_i8) {
  const int64_t kinds = static_cast<int64_t>(format.scale) * 16 + static_cast<int64_t>(format.min);
  return ((act_i8 ? 256 : 0) + kinds) * 256 + format.zero_point;
}

Asked asked(int device, const TimedOperator& timed) {
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

// Of a device's spans, those of each operator of each step together.
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

// The kinds of work that each device did, as far as the classes of its operators name a number of tokens: "matmul i4
// S1".
std::vector<std::set<std::string>> work_of_each(const Plan& plan, const PassSpans& spans) {
  std::vector<std::set<std::string>> work(spans.size());
  for (const Step& step : plan.steps) {
    const auto d = static_cast<size_t>(step.device);
    if (d >= spans.size() || spans[d].empty()) continue;
    std::map<Asked, const Operator*> each;  // of thirty layers' operators a few differ
    for (const Operator& op : step.operators) each.try_emplace(asked(step.device, {op, 0, false}), &op);
    for (const auto& [key, op] : each) {
      const std::string tokens = " S" + std::to_string(up_to(tokens_of(*op)));
      const std::vector<std::string> levels = tandem::classes_of(TimedOperator{*op});
      work[d].insert(*std::ranges::find_if(levels, [&](const auto& level) { return level.ends_with(tokens); }));
    }
  }
  return work;
}
// What moves by more of a logarithm may change a choice; plans that were made in a hope so far off are not good ones.
constexpr double kMatters = 0.1, kFarOff = 0.5;

// Of a pass: others had the cores meanwhile.
bool in_doubt(double weight) { return weight < 1; }

// What a pass showed of operators for which the same is predicted.
struct Seen {
  std::vector<std::string> classes;
  double bare_seconds = 0;
  std::vector<double> ratios;
};

}  // namespace

std::string measurement_key(const DeviceInfo& device) {
  std::string key = device.id + "|" + device.name + "|" + device.driver + "|cores";
  for (int core : device.cores) key += " " + std::to_string(core);
  if (!device.parameters.empty()) key += "|" + device.parameters;
  return key + "|cold";  // the way of measuring: figures of another one are no use beside those of this one
}

PriorRates prior_of(const DeviceInfo& device) {
  // A register-tiled kernel on a core with 256-bit to 512-bit vectors; a core's share of the memory.
  PriorRates core;
  double factor = 1;
  if (device.kind == DeviceKind::gpu && device.cores.empty()) {
    // 128 lanes a compute unit at 1.5 GHz, a third of it reached; a queue's kernel.
    const double units = std::max(1, device.compute_units);
    return {units * 128e9, units * 10e9, 5e-6};
  }
  if (device.kind == DeviceKind::gpu && !device.vector_kernels)
    factor = device.family == KernelFamily::simt ? 0.05 : 0.1;  // work-items on a core
  if (device.kind == DeviceKind::host) factor = 0.8;
  factor *= static_cast<double>(std::max<size_t>(1, device.cores.size()));
  return {factor * core.flops_per_second, factor * core.bytes_per_second, core.launch_seconds};
}

MachineRates::MachineRates(std::span<const std::unique_ptr<Device>> devices, DiskCache& cache)
    : devices_(devices), cache_(cache), lanes_(lanes_of(devices)), passes_key_(kPasses) {
  const auto kept = [&](const std::string& key) { return ratios_from(cache.value(key).value_or(nullptr)); };
  for (const auto& device : devices) {
    const std::string key = measurement_key(device->info());
    of_.push_back({DeviceRates(prior_of(device->info())), kept(kRates + key), kRates + key});
    of_.back().rates.ratios() = of_.back().quiet;
    passes_key_ += key + "|";
  }
  passes_ = passes_quiet_ = kept(passes_key_);
}

PlanCosts MachineRates::costs() const {
  PlanCosts costs;
  const bool card = std::ranges::any_of(devices_, [](const auto& device) { return device->info().discrete; });
  costs.sync_seconds = card ? kJoinCardSeconds : kJoinSeconds;
  costs.lanes = lanes_;
  costs.solved = std::make_shared<SolvedMatMuls>();
  costs.seconds = [this, known = std::make_shared<std::map<Asked, double>>()](int device, const Operator& op,
                                                                              bool both) {
    const TimedOperator timed{op, past_of(op).value_or(0), both};
    const auto [at, is_new] = known->try_emplace(asked(device, timed), 0);
    if (is_new) at->second = of_[static_cast<size_t>(device)].rates.seconds(timed);
    return at->second;
  };
  return costs;
}

double MachineRates::predicted_seconds(const Plan& plan, const PlanCosts& costs, const PassKind& kind) const {
  return simulated_seconds(plan, costs, kind) * passes_.ratio(classes_of(kind));
}

void MachineRates::learn(const Plan& plan, const PassSpans& spans, const PassKind& kind, double seconds,
                         double weight) {
  if (!in_doubt(weight) && beside_others_) others_left();
  beside_others_ = in_doubt(weight);
  const double in_vain = std::max(learn_operators(plan, spans, weight), learn_pass(plan, kind, seconds, weight));
  if (in_vain > kFarOff) ++version_;
  hope_of_others(plan, spans, kind, weight);
  ++learnt_;
  if (learnt_ % 64 == 0 || std::has_single_bit(static_cast<uint64_t>(learnt_))) ++version_;
}

void MachineRates::others_left() {
  double moved = passes_.take(passes_quiet_);
  for (Of& of : of_) moved = std::max(moved, of.rates.ratios().take(of.quiet));
  if (moved > kMatters) ++version_;
}

void MachineRates::learn_alone(size_t device, const Operator& op, double seconds) {
  Of& of = of_[device];
  of.rates.learn({op}, seconds);
  of.quiet.learn(tandem::classes_of({op}), seconds / prior_seconds(of.rates.prior(), {op}));
}

// The median over a class's operators counts, once: thirty layers are no thirty passes, and a thread that lost its core
// for a while lost it in one of them. Returns how much of a logarithm was hoped in vain.
double MachineRates::learn_operators(const Plan& plan, const PassSpans& spans, double weight) {
  double in_vain = 0;
  for (size_t d = 0; d < spans.size(); ++d) {
    DeviceRates& rates = of_[d].rates;
    std::map<Asked, Seen> seen;  // of thirty layers' operators a few differ
    for (const auto& [at, time] : by_operator(spans[d])) {
      if (time.seconds <= 0) continue;
      double beside = 0;
      for (size_t other = 0; other < spans.size(); ++other)
        if (lanes_[other] != lanes_[d]) beside = std::max(beside, overlap_seconds(spans[other], time.start, time.end));
      const Step& step = plan.steps[static_cast<size_t>(at.first)];
      // A span of a whole step says of each operator what it says of all.
      const std::span<const Operator> of = at.second < 0
                                               ? std::span<const Operator>(step.operators)
                                               : std::span(&step.operators[static_cast<size_t>(at.second)], 1);
      const bool is_beside = beside > (time.end - time.start) / 2;
      double bare = 0;
      std::vector<Seen*> alike;
      for (const Operator& op : of) {
        const TimedOperator timed{op, past_of(op).value_or(0), is_beside};
        const auto [found, is_new] = seen.try_emplace(asked(static_cast<int>(d), timed));
        if (is_new) found->second = {tandem::classes_of(timed), prior_seconds(rates.prior(), timed), {}};
        bare += found->second.bare_seconds;
        alike.push_back(&found->second);
      }
      for (Seen* each : alike) each->ratios.push_back(time.seconds / bare);
    }
    std::map<std::vector<std::string>, std::vector<double>> ratios;
    for (const auto& [asked, each] : seen) {
      std::vector<double>& of_class = ratios[each.classes];
      of_class.insert(of_class.end(), each.ratios.begin(), each.ratios.end());
    }
    for (auto& [classes, of_class] : ratios) {
      const double middle = median(std::move(of_class));
      in_vain = std::max(in_vain, rates.ratios().learn(classes, middle, weight));
      if (!in_doubt(weight)) of_[d].quiet.learn(classes, middle);
    }
  }
  return in_vain;
}

double MachineRates::learn_pass(const Plan& plan, const PassKind& kind, double seconds, double weight) {
  const double predicted = simulated_seconds(plan, costs(), kind);
  if (predicted <= 0 || seconds <= 0) return 0;
  const double ratio = std::clamp(seconds / predicted, 1 / kFarthestPass, kFarthestPass);
  if (!in_doubt(weight)) passes_quiet_.learn(classes_of(kind), ratio);
  return passes_.learn(classes_of(kind), ratio, weight);
}

// A device that a plan leaves out, because it was slow when it was last seen, is given a chance when it would have to
// be just a little faster to be worth it: then what it is given is little too, and a pass takes hardly longer if it is
// slow still. So with the work that is left to others by a plan that uses it, and with the plans that were not taken.
// What holds when nobody else has the cores has not changed in a pass beside others.
void MachineRates::hope_of_others(const Plan& plan, const PassSpans& spans, const PassKind& kind, double weight) {
  constexpr double kOfDevices = 0.01, kOfWork = 0.004, kOfPlans = 0.004, kOfUnseen = 0.01, kMostOfUnseen = 0.4;
  const double most = std::log(20);
  const std::vector<std::set<std::string>> ran = work_of_each(plan, spans);
  std::set<std::string> all;
  for (const auto& of : ran) all.insert(of.begin(), of.end());
  for (size_t d = 0; d < spans.size(); ++d) {
    std::vector<std::string> left;  // to others
    std::ranges::set_difference(all, ran[d], std::back_inserter(left));
    for (const std::string& work : left) {
      const double by = spans[d].empty() ? kOfDevices : kOfWork;
      of_[d].rates.ratios().hope(work, by, most);
      if (!in_doubt(weight)) of_[d].quiet.hope(work, by, most);
    }
  }
  const std::vector<std::string> taken = classes_of(kind);
  const std::string how = kind.plan.substr(std::min(plan.name.size(), kind.plan.size()));  // "+sequences"
  const auto hope_of_plans = [&](PooledRatios& ratios) {
    for (const auto& [level, known] : ratios.levels()) {
      const bool is_other = names_plan(level) && level.starts_with(taken[2] + " ") && level != taken[3];
      if (is_other) ratios.hope(level, kOfPlans, known.log_ratio);
    }
    // One that never ran with so many tokens may be shut out by a single rate that is wrong.
    for (const Strategy& strategy : strategies()) {
      const std::string level = taken[2] + " " + strategy.name + how;
      if (strategy.tried_by_auto && ratios.seen(level) == 0 && level != taken[3])
        ratios.hope(level, weight * kOfUnseen, kMostOfUnseen);
    }
  };
  hope_of_plans(passes_);
  if (!in_doubt(weight)) hope_of_plans(passes_quiet_);
}

double MachineRates::seen(const PassKind& kind) const { return passes_.seen(classes_of(kind).back()); }

void MachineRates::store() {
  if (learnt_ == 0) return;
  const auto keep = [this](const std::string& key, PooledRatios all, const PooledRatios& quiet) {
    all.take(quiet);
    cache_.set(key, to_json(all));
  };
  for (const Of& of : of_) keep(of.key, of.rates.ratios(), of.quiet);
  keep(passes_key_, passes_, passes_quiet_);
}

}  // namespace tandem
