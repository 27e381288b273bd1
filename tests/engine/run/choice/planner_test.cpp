// The planner over devices that compute nothing. The times that the tests report to it decide.
#include "engine/run/choice/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/model/loading.h"
#include "engine/model/weights.h"
#include "engine/plan/prediction/predict.h"
#include "engine/run/choice/machine_rates.h"
#include "sync/error.h"
#include "tests/engine/run/host_engine.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

class IdleProgram final : public Program {};

class IdleDevice final : public Device {
 public:
  IdleDevice(const char* id, DeviceKind kind, bool discrete = false, bool shares_memory = true) {
    info_.discrete = discrete;
    info_.id = info_.name = id;
    info_.kind = kind;
    info_.cores = {kind == DeviceKind::npu ? 1 : 0};
    info_.zero_copy = shares_memory;
    info_.rounds_to_f16 = info_.static_graphs = kind == DeviceKind::npu;
    info_.cuts_rows = kind != DeviceKind::host;
    info_.queued = kind == DeviceKind::gpu;
  }
  const DeviceInfo& info() const override { return info_; }
  Support supports(const Operator& op) const override {
    const bool only_matmul = info_.kind == DeviceKind::npu;
    if (only_matmul && !std::holds_alternative<MatMul>(op.body)) return {false, "not a matmul"};
    return {};
  }
  std::unique_ptr<Program> prepare(std::span<const Operator>) override { return std::make_unique<IdleProgram>(); }
  void launch(std::shared_ptr<const LaunchSequence>, uint32_t) override { FAIL() << "a planner runs nothing"; }
  Cost estimate(std::span<const Operator>) const override { return {}; }
  void finish(std::chrono::milliseconds) override {}
  DeviceLab& lab() override { throw Error("a planner measures nothing", info_.id); }

 private:
  DeviceInfo info_;
};

// The spans of a pass in which each operator takes `seconds`, one after another on each device.
PassSpans spans_of(const Plan& plan, const std::function<double(int device, const Operator& op)>& seconds) {
  PassSpans spans(plan.devices.size());
  std::vector<double> at(plan.devices.size(), 0);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto d = static_cast<size_t>(plan.steps[i].device);
    for (size_t op = 0; op < plan.steps[i].operators.size(); ++op) {
      const double start = at[d];
      at[d] += seconds(plan.steps[i].device, plan.steps[i].operators[op]);
      spans[d].push_back({static_cast<int>(i), static_cast<int>(op), start, at[d], false});
    }
  }
  return spans;
}

std::vector<std::unique_ptr<Device>> idle_devices(bool card = false) {
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<IdleDevice>("opencl:9", DeviceKind::gpu, card));
  devices.push_back(std::make_unique<IdleDevice>("npu:9", DeviceKind::npu));
  return devices;
}

class Planning : public ::testing::Test {
 protected:
  explicit Planning(bool card = false) : devices_(idle_devices(card)) {}
  Planner planner(const std::string& plan, PlannerOptions options = {}) {
    options.plan = chosen_strategy(plan);
    options.text.graph_tokens = {};  // any number of tokens
    return Planner(PlannedModel{model_, activations_, devices_, rates()}, std::move(options));
  }
  // Rates that begin with the content of the cache, for one planner.
  MachineRates& rates() { return rates_.emplace_back(devices_, cache_); }
  // The rows of the model's matmuls on each device.
  static std::array<int64_t, 2> rows_of(const Plan& plan, std::string_view only = "") {
    std::array<int64_t, 2> rows{};
    for (const Step& step : plan.steps) {
      for (const Operator& op : step.operators) {
        const auto* matmul = std::get_if<MatMul>(&op.body);
        if (matmul && (only.empty() || op.name == only)) rows[step.device] += matmul->row_end - matmul->row_begin;
      }
    }
    return rows;
  }
  // Runs passes of the batch until the planner has learnt `times` times.
  static void learn(Planner& planner, const Batch& batch, int times,
                    const std::function<double(int device, const Operator& op)>& seconds, double weight = 1) {
    for (int i = 0; i < times; ++i) {
      const Plan plan = planner.plan_for(batch, 0);
      const PassSpans spans = spans_of(plan, seconds);
      double longest = 0;
      for (const auto& of : spans) longest = std::max(longest, of.empty() ? 0 : of.back().end_seconds);
      planner.learn(plan, batch, 0, spans, longest, weight);
    }
  }

  const testing::HostEngines files_{"planner"};
  const GgufFile file_ = GgufFile::open(files_.path());
  sync::Pool pool_;
  const Model model_ = load_model(file_, pool_, 1);
  const Activations activations_{model_.config, {64, 1, 8192, 8192, KvType::f16}, &pool_};
  const std::vector<std::unique_ptr<Device>> devices_;
  const testing::ScratchFolder folder_;
  DiskCache cache_{folder_.file("measured.json")};
  std::deque<MachineRates> rates_;
};

// A core begins with the same rates as any other core, so matmuls are shared. After a few passes an NPU that takes a
// hundred times as long gets no rows.
TEST_F(Planning, leaves_a_slow_device_alone_once_it_was_seen_to_be_slow) {
  Planner automatic = planner("auto");
  EXPECT_GT(rows_of(automatic.plan_for({64, 1}, 0))[1], 0);
  learn(automatic, {64, 1}, 4, [](int device, const Operator&) { return device == 0 ? 1e-5 : 1e-3; });
  EXPECT_EQ(rows_of(automatic.plan_for({64, 1}, 0))[1], 0);
}

TEST_F(Planning, leaves_the_inputs_of_passes_alone) {
  write_positions(activations_, 5, 64);
  Planner automatic = planner("auto");
  learn(automatic, {64, 1}, 2, [](int, const Operator&) { return 1e-5; });
  EXPECT_GT(automatic.shared_seconds({64, 1}, 1024), 0);
  for (int32_t s = 0; s < 64; ++s) ASSERT_EQ(activations_.positions.as<int32_t>()[s], 5 + s);
}

// Attention reads what is before it, so it takes longer at a depth; the positions in memory are the same.
TEST_F(Planning, predicts_attention_at_the_depth_that_it_is_asked_for) {
  const Planner automatic = planner("auto");
  const std::vector<Operator> operators = build_decoder(model_, activations_, {1, 1}, {});
  const auto attention =
      std::ranges::find_if(operators, [](const Operator& op) { return std::holds_alternative<Attention>(op.body); });
  ASSERT_NE(attention, operators.end());
  EXPECT_GT(automatic.costs(4096).seconds(0, *attention, false), automatic.costs(0).seconds(0, *attention, false));
}

TEST_F(Planning, learns_of_a_device_from_one_length_for_all_that_are_like_it) {
  Planner automatic = planner("auto");
  learn(automatic, {64, 1}, 4, [](int device, const Operator&) { return device == 0 ? 1e-5 : 1e-3; });
  EXPECT_EQ(rows_of(automatic.plan_for({40, 1}, 0))[1], 0);
}

TEST_F(Planning, keeps_what_it_has_learnt_for_the_next_start) {
  {
    Planner automatic = planner("auto");
    learn(automatic, {64, 1}, 4, [](int device, const Operator&) { return device == 0 ? 1e-5 : 1e-3; });
  }
  rates_.back().store();
  cache_.save();
  DiskCache again(folder_.file("measured.json"));
  MachineRates remembered(devices_, again);
  Planner later(PlannedModel{model_, activations_, devices_, remembered}, {});
  EXPECT_EQ(rows_of(later.plan_for({64, 1}, 0))[1], 0);
}

// The NPU was slow for a while because other work ran on its core. Then it is as fast as the GPU again.
TEST_F(Planning, forgets_that_a_device_was_slow) {
  Planner automatic = planner("rows");
  learn(automatic, {64, 1}, 30, [](int device, const Operator&) { return device == 0 ? 1e-5 : 4e-5; });
  const int64_t busy = rows_of(automatic.plan_for({64, 1}, 0))[1];
  learn(automatic, {64, 1}, 60, [](int, const Operator&) { return 1e-5; });
  EXPECT_GT(rows_of(automatic.plan_for({64, 1}, 0))[1], busy);
}

// The GPU was slow at matmuls while other work ran on its core. So the plan leaves matmuls to the NPU and the rest to
// the GPU. The rates still learn that the GPU is fast again.
TEST_F(Planning, forgets_that_a_device_was_slow_at_what_another_one_does_now) {
  Planner automatic = planner("rows");
  const auto is_matmul = [](const Operator& op) { return std::holds_alternative<MatMul>(op.body); };
  learn(automatic, {64, 1}, 30,
        [&](int device, const Operator& op) { return device == 0 && is_matmul(op) ? 2e-4 : 1e-5; });
  const Plan beside = automatic.plan_for({64, 1}, 0);
  ASSERT_EQ(rows_of(beside)[0], 0) << "it has none to be seen with";
  ASSERT_TRUE(std::ranges::any_of(beside.steps, [](const Step& step) { return step.device == 0; }))
      << "and is not left out";
  learn(automatic, {64, 1}, 1000, [](int, const Operator&) { return 1e-5; });
  EXPECT_GT(rows_of(automatic.plan_for({64, 1}, 0))[0], 0);
}

// Another plan, asked for by name, runs passes without the NPU. The NPU's exploration bonus grows because no plan tries
// it. Then a plan that may use the NPU gives it a large share. One such pass shows that the NPU is still slow.
TEST_F(Planning, drops_a_bonus_after_one_pass_that_does_not_confirm_it) {
  MachineRates& known = rates();
  const auto planner_of = [&](const char* plan) {
    PlannerOptions options;
    options.plan = chosen_strategy(plan);
    options.text.graph_tokens = {};
    return Planner(PlannedModel{model_, activations_, devices_, known}, std::move(options));
  };
  Planner rows = planner_of("rows"), only_gpu = planner_of("gpu-only");
  const auto slow_npu = [](int device, const Operator&) { return device == 0 ? 1e-5 : 8e-5; };
  learn(rows, {64, 1}, 30, slow_npu);
  const int64_t before = rows_of(rows.plan_for({64, 1}, 0))[1];
  learn(only_gpu, {64, 1}, 1000, slow_npu);
  ASSERT_GT(rows_of(rows.plan_for({64, 1}, 0))[1], before + 2 * kPanelRows) << "there was no bonus";
  const int64_t version = rows.version();
  learn(rows, {64, 1}, 1, slow_npu);
  EXPECT_GT(rows.version(), version) << "plans are made anew";
  EXPECT_NEAR(rows_of(rows.plan_for({64, 1}, 0))[1], before, kPanelRows);
}

// Other programs used the cores for a long while, the NPU's core more than the GPU's. A planner that starts afterwards
// chooses as before.
TEST_F(Planning, remembers_of_a_busy_machine_what_it_does_when_it_is_not) {
  constexpr double kBesideOthers = 0.25;
  int64_t before = 0, meanwhile = 0;
  {
    Planner rows = planner("rows");
    learn(rows, {64, 1}, 30, [](int, const Operator&) { return 1e-5; });
    before = rows_of(rows.plan_for({64, 1}, 0))[1];
    learn(
        rows, {64, 1}, 300, [](int device, const Operator&) { return device == 0 ? 2e-5 : 2e-4; }, kBesideOthers);
    meanwhile = rows_of(rows.plan_for({64, 1}, 0))[1];
  }
  ASSERT_GT(before, meanwhile + 2 * kPanelRows) << "it goes by what is so now";
  rates_.back().store();
  Planner later = planner("rows");
  EXPECT_NEAR(rows_of(later.plan_for({64, 1}, 0))[1], before, kPanelRows) << "a bonus moves a cut by a panel at most";
}

TEST_F(Planning, chooses_as_before_as_soon_as_others_have_left_the_cores) {
  Planner rows = planner("rows");
  const auto quiet = [](int, const Operator&) { return 1e-5; };
  learn(rows, {64, 1}, 30, quiet);
  const int64_t before = rows_of(rows.plan_for({64, 1}, 0))[1];
  learn(
      rows, {64, 1}, 300, [](int device, const Operator&) { return device == 0 ? 2e-5 : 2e-4; }, 0.25);
  const int64_t version = rows.version();
  learn(rows, {64, 1}, 1, quiet);
  EXPECT_GT(rows.version(), version) << "plans are made anew";
  EXPECT_NEAR(rows_of(rows.plan_for({64, 1}, 0))[1], before, kPanelRows);
}

// On a machine that is always loaded, the rates under load are the only known ones.
TEST_F(Planning, keeps_what_was_only_seen_beside_others) {
  {
    Planner automatic = planner("auto");
    learn(
        automatic, {64, 1}, 20, [](int device, const Operator&) { return device == 0 ? 1e-5 : 1e-3; }, 0.25);
  }
  rates_.back().store();
  Planner later = planner("auto");
  EXPECT_EQ(rows_of(later.plan_for({64, 1}, 0))[1], 0);
}

// The prediction misses this cost: passes of one plan take 1.5 times as long as predicted.
TEST_F(Planning, leaves_a_plan_that_takes_longer_than_predicted) {
  Planner automatic = planner("auto");
  const Batch single{1, 1};
  const std::string first = automatic.plan_for(single, 0).name;
  for (int i = 0; i < 16 && automatic.plan_for(single, 0).name == first; ++i) {
    const Plan plan = automatic.plan_for(single, 0);
    automatic.learn(plan, single, 0, {}, 1.5 * predict(plan, automatic.costs(0)).seconds, 1);
  }
  EXPECT_NE(automatic.plan_for(single, 0).name, first);
}

// A prompt in two halves takes longer than the simulation says. One token has no halves. A pass of the expected time,
// 1.06 times the simulation, changes nothing.
TEST_F(Planning, expects_of_each_strategy_what_is_not_simulated_until_passes_show_it) {
  Planner automatic = planner("auto");
  MachineRates& rates = rates_.front();
  const double factor = find_strategy("staggered").beside_simulated;
  ASSERT_GT(factor, 1);
  for (const char* name : {"staggered", "tensor"}) {
    for (const int64_t S : {int64_t{1}, int64_t{15}, int64_t{16}, int64_t{64}}) {
      const Batch batch{S, 1};
      const Plan plan = automatic.make(find_strategy(name), batch, 0);
      const PlanCosts costs = automatic.costs(0);
      const bool halves = plan.name == "staggered" && S >= 16;
      EXPECT_DOUBLE_EQ(rates.predicted_seconds(plan, costs, {name, S, 0}),
                       predict(plan, costs).seconds * (halves ? factor : 1))
          << name << ", " << S << " tokens";
    }
  }
  const Batch prompt{64, 1};
  const Plan plan = automatic.make(find_strategy("staggered"), prompt, 0);
  const double simulated = predict(plan, automatic.costs(0)).seconds;
  automatic.learn(plan, prompt, 0, {}, factor * simulated, 1);
  EXPECT_NEAR(rates.predicted_seconds(plan, automatic.costs(0), {"staggered", 64, 0}), factor * simulated,
              1e-9 * simulated);
}

// Short prompts take 1.4 times the simulated time, and long ones the simulated time. `tensor` ran with short prompts
// only. For long ones it is expected to take what `rows` took, not what short ones took.
TEST_F(Planning, expects_of_a_strategy_with_other_numbers_of_tokens_what_others_took_with_them) {
  Planner automatic = planner("auto");
  MachineRates& rates = rates_.front();
  const Batch few{16, 1}, many{64, 1};
  const auto learn = [&](const char* name, const Batch& batch, double ratio) {
    const Plan plan = automatic.make(find_strategy(name), batch, 0);
    automatic.learn(plan, batch, 0, {}, ratio * predict(plan, automatic.costs(0)).seconds, 1);
  };
  for (int i = 0; i < 12; ++i) learn("tensor", few, 1.4), learn("rows", many, 1);
  const auto ratio_of = [&](const char* name, const Batch& batch) {
    const Plan plan = automatic.make(find_strategy(name), batch, 0);
    const PlanCosts costs = automatic.costs(0);
    return rates.predicted_seconds(plan, costs, {name, batch.S, 0}) / predict(plan, costs).seconds;
  };
  EXPECT_LT(ratio_of("tensor", many), 1.1);
  EXPECT_GT(ratio_of("rows", few), 1.15) << "1.4, less a small bonus";
}

// A wrong rate may make a plan look far too slow. So its predicted time falls by one per cent a pass until it is tried,
// by a factor of 1.5 at most.
TEST_F(Planning, explores_a_strategy_that_never_ran_with_so_many_tokens) {
  Planner automatic = planner("auto");
  MachineRates& rates = rates_.front();
  const Batch batch{64, 1};
  const auto learn = [&](const char* name, int times) {
    const Plan plan = automatic.make(find_strategy(name), batch, 0);
    for (int i = 0; i < times; ++i) automatic.learn(plan, batch, 0, {}, predict(plan, automatic.costs(0)).seconds, 1);
  };
  const auto ratio_of = [&](const char* name) {
    const Plan plan = automatic.make(find_strategy(name), batch, 0);
    const PlanCosts costs = automatic.costs(0);
    return rates.predicted_seconds(plan, costs, {name, 64, 0}) / predict(plan, costs).seconds;
  };
  learn("rows", 20);
  EXPECT_NEAR(ratio_of("tensor"), std::exp(-0.2), 0.01);
  learn("rows", 200);
  EXPECT_NEAR(ratio_of("tensor"), std::exp(-0.4), 0.01);
  learn("tensor", 1);
  EXPECT_NEAR(ratio_of("tensor"), 1, 0.05) << "what was tried is known";
}

TEST_F(Planning, tells_apart_how_steps_are_submitted) {
  PlannerOptions follow;
  follow.text.submit = Submit::follow;
  Planner ahead = planner("rows"), following = planner("rows", follow);
  const Plan plan = following.plan_for({1, 1}, 0);
  for (Planner* one : {&ahead, &following}) one->learn(plan, {1, 1}, 0, {}, 1e-3, 1);
  EXPECT_GT(rates_[1].seen({"rows+follow", 1, 0}), 0);
  EXPECT_EQ(rates_[1].seen({"rows", 1, 0}), 0);
  EXPECT_GT(rates_[0].seen({"rows", 1, 0}), 0);
}

TEST_F(Planning, changes_a_plan_that_runs_only_for_one_that_is_clearly_faster) {
  Planner automatic = planner("auto");
  const Plan plan = automatic.plan_for({64, 1}, 0);
  EXPECT_FALSE(automatic.better_than(plan, {64, 1}, 0));
  learn(automatic, {64, 1}, 4, [](int device, const Operator&) { return device == 0 ? 1e-5 : 1e-3; });
  const auto better = automatic.better_than(plan, {64, 1}, 0);
  ASSERT_TRUE(better);
  EXPECT_EQ(rows_of(*better)[1], 0);
}

class PlanningOfManyLayers : public ::testing::Test {
 protected:
  static testing::TinyModel twelve_layers() {
    testing::TinyModel shape;
    shape.layers = 12;
    return shape;
  }
  // A planner that has learnt these times: a matmul takes 40 us on the GPU, times `scale`, and other operators 2 us.
  // The NPU takes `npu_per_gpu` times as long.
  struct Experienced {
    const testing::ScratchFolder folder;
    DiskCache cache{folder.file("measured.json")};
    MachineRates rates;
    Planner planner;
    explicit Experienced(const PlanningOfManyLayers& test)
        : rates(test.devices_, cache),
          planner(PlannedModel{test.model_, test.activations_, test.devices_, rates}, {}) {}
    void learn(const Batch& batch, double npu_per_gpu, double scale) {
      const auto seconds = [&](int device, const Operator& op) {
        const double each = scale * (std::holds_alternative<MatMul>(op.body) ? 4e-5 : 2e-6);
        return device == 0 ? each : each * npu_per_gpu;
      };
      for (const char* strategy : {"rows", "tensor"}) {
        const Plan plan = planner.make(find_strategy(strategy), batch, 0);
        planner.learn(plan, batch, 0, spans_of(plan, seconds), 1e-3, 0.01);
      }
    }
    double predicted(const Plan& plan, const Batch& batch) {
      return rates.predicted_seconds(plan, planner.costs(0), {plan.name, batch.S, 0});
    }
    double least(const Batch& batch) {
      double least = std::numeric_limits<double>::infinity();
      for (const char* other : {"gpu-only", "layer", "rows", "tensor", "staggered"})
        least = std::min(least, predicted(planner.make(find_strategy(other), batch, 0), batch));
      return least;
    }
  };
  const testing::HostEngines files_{"layers", twelve_layers()};
  const GgufFile file_ = GgufFile::open(files_.path());
  sync::Pool pool_;
  const Model model_ = load_model(file_, pool_, 1);
  const Activations activations_{model_.config, {64, 1, 256, 256, KvType::f16}, &pool_};
  const std::vector<std::unique_ptr<Device>> devices_ = idle_devices();
};

// Plans of many layers are compared on some of their layers. The chosen plan is the best of whole plans, as far as
// predictions can tell. The learnt speed of the NPU makes different plans the best.
TEST_F(PlanningOfManyLayers, chooses_by_few_layers_what_is_the_best_of_all) {
  std::set<std::string> chosen;
  for (const double npu_per_gpu : {0.02, 0.3, 1.0, 3.0, 50.0}) {
    Experienced of(*this);
    for (const Batch& batch : {Batch{1, 1}, Batch{5, 1}, Batch{64, 1}}) {
      of.learn(batch, npu_per_gpu, 100);
      const Plan plan = of.planner.plan_for(batch, 0);
      chosen.insert(plan.name);
      EXPECT_LE(of.predicted(plan, batch), 1.02 * of.least(batch))
          << plan.name << ", " << batch.S << " tokens, " << npu_per_gpu;
    }
  }
  EXPECT_GT(chosen.size(), 1u) << "there was nothing to choose";
}

// 64 tokens are twice as many as the class of 5 tokens has. If a pass takes some milliseconds, comparing plans takes
// longer than a tenth of it. So the planner uses its choice for 5 tokens. A planner without a choice compares all
// plans. Plans of a pass that is a hundred times as long are compared.
TEST_F(PlanningOfManyLayers, takes_for_a_short_pass_what_was_chosen_for_a_length_like_it) {
  const Batch few{5, 1}, many{64, 1};
  int others = 0;
  for (const double npu_per_gpu : {0.02, 0.3, 1.0, 3.0, 50.0}) {
    Experienced chose(*this), compares(*this), has_time(*this);
    std::string first;
    for (const Batch& batch : {Batch{1, 1}, few, many}) {
      chose.learn(batch, npu_per_gpu, 1);
      compares.learn(batch, npu_per_gpu, 1);
      has_time.learn(batch, npu_per_gpu, 100);
      if (batch == few) first = chose.planner.plan_for(few, 0).name, has_time.planner.plan_for(few, 0);
    }
    EXPECT_EQ(chose.planner.plan_for(many, 0).name, first);
    others += compares.planner.plan_for(many, 0).name != first;
    EXPECT_LE(has_time.predicted(has_time.planner.plan_for(many, 0), many), 1.02 * has_time.least(many));
  }
  EXPECT_GT(others, 0) << "there was nothing to compare";
}

TEST_F(Planning, plans_may_change_after_the_first_passes_and_then_ever_more_seldom) {
  Planner rows = planner("rows");
  std::vector<int> at;
  for (int i = 1; i <= 200; ++i) {
    const int64_t before = rows.version();
    learn(rows, {8, 1}, 1, [](int, const Operator&) { return 1e-5; });
    if (rows.version() > before) at.push_back(i);
  }
  EXPECT_EQ(at, (std::vector<int>{1, 2, 4, 8, 16, 32, 64, 128, 192}));
}

// A damaged file counts as no file.
TEST_F(Planning, does_not_trust_what_it_finds_on_disk) {
  {
    Planner automatic = planner("auto");
    learn(automatic, {64, 1}, 1, [](int, const Operator&) { return 1e-5; });
  }
  const std::vector<nlohmann::json> broken = {1,
                                              "x",
                                              nlohmann::json::array(),
                                              {{"all", 1}},
                                              {{"all", {1, 2, 3}}},
                                              {{"all", {"a", 1}}},
                                              {{"all", {1e9, 1}}},
                                              {{"all", {1, -1}}},
                                              {{"all", {1, 1e9}}},
                                              {{"all", {nullptr, nullptr}}}};
  std::vector<std::string> keys;
  for (const nlohmann::json& value : broken) {
    for (const auto& device : devices_) cache_.set("rates 2|" + measurement_key(device->info()), value);
    cache_.set("passes 3|" + measurement_key(devices_[0]->info()) + "|" + measurement_key(devices_[1]->info()) + "|",
               value);
    Planner automatic = planner("auto");
    EXPECT_EQ(rates_.back().seen({"tensor", 64, 0}), 0) << value;
    EXPECT_GT(predict(automatic.plan_for({64, 1}, 0), automatic.costs(0)).seconds, 0) << value;
  }
}

TEST_F(Planning, makes_plans_anew_as_the_context_grows_and_fewer_the_deeper_it_is) {
  Planner staggered = planner("staggered");
  for (const auto& [position, past] : {std::pair<int64_t, int64_t>{0, 0},
                                       {255, 0},
                                       {256, 256},
                                       {700, 512},
                                       {1023, 768},
                                       {1024, 1024},
                                       {2047, 1024},
                                       {2048, 2048},
                                       {8000, 4096}})
    EXPECT_EQ(staggered.planned_past({8, 8}, position), past) << position;
  Planner layer = planner("layer");
  EXPECT_EQ(layer.planned_past({8, 8}, 8000), 0) << "a plan that does not weigh attention";
  const Batch of_sequences{8, 8, 8};
  for (const auto& [position, past] :
       {std::pair<int64_t, int64_t>{63, 0}, {64, 64}, {200, 192}, {255, 192}, {256, 256}, {700, 512}, {2047, 1024}})
    EXPECT_EQ(staggered.planned_past(of_sequences, position), past) << position << ", eight sequences";
}

TEST_F(Planning, gives_the_npu_the_share_that_the_user_names) {
  PlannerOptions options;
  options.text.split = {0.8};  // the vocabulary has 320 rows in 5 panels: 4
  const auto rows = rows_of(planner("rows", options).make(find_strategy("rows"), {1, 1}, 0), "output");
  EXPECT_EQ(rows[0], 64);
  EXPECT_EQ(rows[1], 256);
}

// A discrete card beside an NPU. Nothing is known of the NPU, and the prior rates make it fast. The card's spans say
// that its products take the whole pass. Only the end of a shared pass shows that it takes longer than its spans.
class PlanningBesideACard : public Planning {
 protected:
  PlanningBesideACard() : Planning(true) {}
  std::string run(Planner& planner, const Batch& batch, double seconds_alone, double seconds_shared) {
    std::optional<Plan> plan = planner.plan_for(batch, 0);
    if (auto better = planner.better_than(*plan, batch, 0)) plan = std::move(better);
    constexpr double kProducts = 15;
    const PassSpans spans = spans_of(*plan, [&](int device, const Operator& op) {
      return device == 0 && std::holds_alternative<MatMul>(op.body) ? seconds_alone / kProducts : 1e-7;
    });
    planner.learn(*plan, batch, 0, spans, plan->name == "gpu-only" ? seconds_alone : seconds_shared, 1);
    return plan->name;
  }
};

TEST_F(PlanningBesideACard, runs_on_the_card_alone_first_whatever_is_predicted) {
  Planner automatic = planner("auto");
  for (const Batch& batch : {Batch{64, 1}, Batch{1, 1}, Batch{40, 1}})
    EXPECT_EQ(automatic.plan_for(batch, 0).name, "gpu-only") << batch.S;
  EXPECT_NE(planner("tensor").plan_for({64, 1}, 0).name, "gpu-only") << "what was asked for by name";
}

TEST_F(PlanningBesideACard, stays_there_where_no_other_plan_is_predicted_to_be_far_faster) {
  Planner automatic = planner("auto");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(run(automatic, {64, 1}, 1e-5, 1e-9), "gpu-only") << i;
}

// The shared plan was predicted to take microseconds. It took ten times as long as the card alone, so each such plan
// runs once.
TEST_F(PlanningBesideACard, leaves_a_plan_that_took_longer_than_the_card_alone) {
  Planner automatic = planner("auto");
  EXPECT_EQ(run(automatic, {64, 1}, 1.0, 10.0), "gpu-only");
  EXPECT_NE(run(automatic, {64, 1}, 1.0, 10.0), "gpu-only") << "predicted to be far faster than a second";
  int others = 0;
  for (int i = 0; i < 12; ++i) others += run(automatic, {64, 1}, 1.0, 10.0) != "gpu-only";
  EXPECT_LE(others, 5) << "each of the other plans once";
  EXPECT_EQ(automatic.plan_for({64, 1}, 0).name, "gpu-only");
}

TEST_F(PlanningBesideACard, keeps_a_plan_that_took_less_than_the_card_alone) {
  Planner automatic = planner("auto");
  EXPECT_EQ(run(automatic, {64, 1}, 1.0, 0.5), "gpu-only");
  const std::string shared = run(automatic, {64, 1}, 1.0, 0.5);
  EXPECT_NE(shared, "gpu-only");
  EXPECT_NE(automatic.plan_for({64, 1}, 0).name, "gpu-only");
}

// The rates say that the host is a thousand times as fast as the card.
TEST_F(PlanningBesideACard, leaves_no_text_to_the_host_where_the_card_keeps_it) {
  for (const bool shares_memory : {true, false}) {
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(std::make_unique<IdleDevice>("opencl:9", DeviceKind::gpu, true, shares_memory));
    devices.push_back(std::make_unique<IdleDevice>("host", DeviceKind::host));
    DiskCache nowhere("");
    MachineRates rates(devices, nowhere);
    Planner automatic(PlannedModel{model_, activations_, devices, rates}, PlannerOptions{});
    std::set<std::string> ran;
    for (int i = 0; i < 6; ++i) ran.insert(run(automatic, {1, 1}, 1.0, 1e-3));
    EXPECT_EQ(ran.contains("host-only"), shares_memory);
    EXPECT_TRUE(ran.contains("gpu-only"));
  }
}

TEST_F(PlanningBesideACard, counts_a_join_behind_a_bus_as_what_it_takes_there) {
  EXPECT_GE(rates().costs({}).sync_seconds, 10e-6);
  const auto cores = idle_devices();
  EXPECT_LT(MachineRates(cores, cache_).costs({}).sync_seconds, 10e-6);
}

TEST(LengthClass, is_named_by_its_longest_length) {
  for (const auto& [S, longest] : {std::pair<int64_t, int64_t>{1, 4},
                                   {4, 4},
                                   {5, 32},
                                   {32, 32},
                                   {33, 64},
                                   {256, 256},
                                   {257, 384},
                                   {384, 384},
                                   {385, 512}})
    EXPECT_EQ(length_class(S), longest) << S;
}

}  // namespace
}  // namespace tandem
