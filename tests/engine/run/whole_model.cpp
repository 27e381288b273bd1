#include "tests/engine/run/whole_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "engine/model/loading.h"
#include "engine/plan/partition/cut.h"
#include "engine/run/pass/core_layout.h"
#include "sync/affinity.h"
#include "tests/support/kernel_families.h"
#include "tests/support/program_folder.h"

namespace tandem::testing {
namespace {

// Seconds of work at a speed that the seed chooses for each device and shape of matrix.
PlanCosts made_up_costs(uint64_t seed) {
  PlanCosts costs;
  costs.sync_seconds = 1e-6;
  costs.seconds = [seed](int device, const Operator& op, bool) {
    uint64_t mixed = seed * 1000003 + static_cast<uint64_t>(device);
    if (const auto* matmul = std::get_if<MatMul>(&op.body)) mixed = mixed * 1000003 + static_cast<uint64_t>(matmul->K);
    std::mt19937_64 random(mixed * 1000003 + op.body.index());
    const double speed = 0.5 + static_cast<double>(random() >> 40) / static_cast<double>(1 << 24);
    return 1e-7 + speed * 1e-9 * static_cast<double>(work(op).flops);
  };
  return costs;
}

}  // namespace

WholeModel::WholeModel(const std::string& path, const WholeModelOptions& options)
    : options_(options), file_(GgufFile::open(path)) {
  const CoreLayout layout = lay_out_cores(usable_cores());
  DeviceOptions device_options;
  device_options.gpu_cores = layout.gpu;
  device_options.npu_cores = layout.npu;
  device_options.gpu_family = family_named(options.family);
  device_options.sync_policy = layout.may_spin ? options.sync_policy : sync::Policy::blocking;
  device_options.program_folder = test::program_folder();
  configure_drivers(device_options);
  ExecutorOptions executor;
  executor.sync_policy = device_options.sync_policy;
  std::vector<Device*> borrowed;
  Device* npu = nullptr;
  for (const std::string& id : options.devices) {
    const bool beside = id == "host" && npu;
    devices_.push_back(beside ? open_host_on(*npu, device_options) : open_device(id, device_options));
    const auto lane = std::ranges::find(options.devices, beside ? npu->info().id : id) - options.devices.begin();
    lanes_.push_back(static_cast<int>(lane));
    borrowed.push_back(devices_.back().get());
    const DeviceInfo& info = devices_.back()->info();
    if (info.kind == DeviceKind::npu) npu = devices_.back().get();
    if (std::ranges::count(info.cores, layout.orchestrator) > 0) executor.shares_core.push_back(info.id);
  }
  model_ = load_model(file_, pool_, 2, {});
  ActivationSizes sizes;
  sizes.tokens = sizes.logit_rows = options.tokens;
  sizes.rows = sizes.padded_logit_rows = graph_size_for(options.tokens, {options.graph_tokens});
  sizes.positions = sizes.context = options.positions;
  sizes.kv_type = options.kv_type;
  activations_ = std::make_unique<Activations>(model_.config, sizes, &pool_);
  executor_ = std::make_unique<Executor>(pool_, borrowed, executor);
}

Plan WholeModel::plan(const std::string& strategy, const Batch& batch, uint64_t seed) const {
  const std::vector<Operator> operators = build_decoder(model_, *activations_, batch, {options_.round_f16});
  std::vector<DeviceTraits> traits;
  for (const auto& device : devices_) {
    traits.push_back(traits_of(*device));
    if (traits.back().static_graphs) traits.back().graph_tokens = options_.graph_tokens;
    traits.back().row_step = kPanelRows;
  }
  PlanRequest request{operators, traits, {{}, {0.4, 0.6}}, false, made_up_costs(seed)};
  request.costs.lanes = lanes_;
  const Strategy& chosen = find_strategy(strategy);
  if (chosen.weighs) request.shares = {};
  Plan plan = chosen.make(request);
  plan.dominant = options_.dominant;
  return plan;
}

std::vector<float> WholeModel::run(const std::string& strategy, std::span<const int32_t> ids, int64_t past,
                                   int64_t logit_rows, uint64_t seed) {
  const auto S = static_cast<int64_t>(ids.size());
  const auto prepared = executor_->prepare(plan(strategy, {S, logit_rows}, seed));
  look_at(prepared->plan());
  std::memcpy(activations_->ids.as<int32_t>(), ids.data(), ids.size_bytes());
  write_positions(*activations_, past, S);
  // The value NaN remains if an operator does not run.
  std::fill_n(activations_->logits.front().as<float>(), std::max<int64_t>(logit_rows, 1) * vocabulary(), NAN);
  executor_->run(*prepared);
  const float* logits = activations_->logits.front().as<float>();
  return {logits, logits + logit_rows * vocabulary()};
}

std::vector<float> WholeModel::all_logits(const std::string& strategy, std::span<const int32_t> ids, int64_t piece,
                                          uint64_t seed) {
  std::vector<float> all;
  for (size_t first = 0; first < ids.size(); first += static_cast<size_t>(piece)) {
    const auto part = ids.subspan(first, std::min(static_cast<size_t>(piece), ids.size() - first));
    const auto logits =
        run(strategy, part, static_cast<int64_t>(first), static_cast<int64_t>(part.size()), seed + first);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

std::vector<float> WholeModel::last_logits(const std::string& strategy, std::span<const int32_t> ids, int64_t piece,
                                           uint64_t seed) {
  std::vector<float> logits;
  for (size_t first = 0; first < ids.size(); first += static_cast<size_t>(piece)) {
    const auto part = ids.subspan(first, std::min(static_cast<size_t>(piece), ids.size() - first));
    logits = run(strategy, part, static_cast<int64_t>(first), first + part.size() == ids.size() ? 1 : 0, seed + first);
  }
  return logits;
}

void WholeModel::look_at(const Plan& plan) {
  std::map<std::string, std::set<std::string>> devices_of, attend;  // by the name of the operator
  for (const Step& step : plan.steps) {
    for (const Operator& op : step.operators) {
      const std::string& device = plan.devices[static_cast<size_t>(step.device)];
      if (std::holds_alternative<Attention>(op.body)) attend[op.name].insert(device);
      if (!std::holds_alternative<MatMul>(op.body)) continue;
      devices_of[op.name].insert(device);
      if (std::ranges::count(seen_.multipliers, device) == 0) seen_.multipliers.push_back(device);
    }
  }
  for (const auto& [name, devices] : devices_of) seen_.cut_matmuls += devices.size() > 1;
  for (const auto& [name, devices] : attend) seen_.cut_attentions += devices.size() > 1;
}

WholeModel::Seen WholeModel::take_seen() {
  std::ranges::sort(seen_.multipliers);
  return std::exchange(seen_, {});
}

}  // namespace tandem::testing
