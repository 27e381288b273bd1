// Plans that divide experts between the GPU, the host and the link: no bit changes, whatever the plan, the budget and
// the device. A copy that fails ends its pass by name.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "engine/device/host/arithmetic.h"
#include "engine/run/machine/expert_store.h"
#include "tests/engine/run/divided_experts.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"
#include "tests/engine/run/made_models.h"

namespace tandem::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kLanePlans[] = {"hybrimoe",      "moe-schedule", "moe-fixed",       "moe-fixed-transfer",
                                      "moe-on-demand", "moe-lru",      "moe-layer-split", "moe-fiddler"};

class ExpertLanesTest : public DividedExpertsTest {
 protected:
  // on_card: the first device has memory of its own.
  void keep_their_bits(const MadeModel& model, const std::vector<std::string>& devices, ActType act,
                       const std::vector<double>& budgets, bool on_card = false) const {
    const auto options = [&](auto&&... each) {
      EngineOptions options = DividedExpertsTest::options(each...);
      options.device_hooks.force_copies = on_card;
      if (on_card) options.device_hooks.gpu_family = KernelFamily::simt;
      return options;
    };
    const std::string file = model.file();
    const std::string plain = devices.front() == "host" ? "host-only" : "gpu-only";
    const auto whole = Engine::open(options(file, plain, devices, 0, 1, act));
    const std::vector<float> expected = logits_of(*whole);
    const int64_t experts = whole->model().config().experts->count;
    for (const char* plan : kLanePlans)
      for (const double slots : budgets) {
        const auto engine = Engine::open(options(file, plan, devices, slots, experts, act));
        EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u) << plan << ", " << slots << " slots";
        EXPECT_EQ(engine->model().expert_store()->slots(), static_cast<int64_t>(slots));
        const bool decides = std::string(plan) != "moe-layer-split";
        EXPECT_EQ(lanes_of(*engine).of_text().choices > 0, decides) << plan;
      }
  }
};

TEST_F(ExpertLanesTest, change_no_bit_on_the_host) {
  for (const MadeModel& model : kDivided) {
    SCOPED_TRACE(model.name);
    keep_their_bits(model, {"host"}, ActType::f32, {1, 3, 7});
  }
}

TEST_F(ExpertLanesTest, add_the_biases_of_their_experts) {
  const auto made = std::ranges::find(made_models(), std::string("gpt-oss"), &MadeModel::name);
  keep_their_bits(*made, {"host"}, ActType::f32, {1, 4});
}

TEST_F(ExpertLanesTest, change_no_bit_between_opencl_and_the_host) {
  need_devices({"", {}, "simd", ActType::f32, KvType::f16, false, "predict", {"opencl:0", "host"}});
  keep_their_bits(kDivided[0], {"opencl:0", "host"}, ActType::f32, {1, 3, 7});
  keep_their_bits(kDivided[1], {"opencl:0", "host"}, ActType::i8, {2});
}

TEST_F(ExpertLanesTest, change_no_bit_between_a_card_and_the_host) {
  need_devices({"", {}, "simt", ActType::f32, KvType::f16, true, "predict", {"opencl:0", "host"}});
  keep_their_bits(kDivided[0], {"opencl:0", "host"}, ActType::f32, {1, 3}, true);
  keep_their_bits(kDivided[1], {"opencl:0", "host"}, ActType::i8, {2}, true);
}

// Sums that are not fused give other bits than the host's, as everywhere. They stay near.
TEST_F(ExpertLanesTest, change_no_bit_where_experts_are_copied_ahead_or_inserted) {
  for (const MadeModel& model : kDivided) {
    const std::string file = model.file();
    const std::vector<float> expected = logits_of(*Engine::open(options(file, "host-only", {"host"}, 0, 1)));
    for (const char* plan : {"hybrimoe", "moe-lru"})
      for (const double slots : {1, 3, 7})
        for (const bool inserts : {false, true}) {
          EngineOptions ahead = options(file, plan, {"host"}, slots, std::string(model.name) == "mixtral" ? 8 : 12);
          ahead.expert_prefetch = ExpertPrefetching::on;
          ahead.insert_misses = inserts;
          const auto engine = Engine::open(ahead);
          EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u) << model.name << ", " << plan << ", " << slots;
          const LaneTotals& text = lanes_of(*engine).of_text();
          const bool always = std::string(plan) == "moe-lru";
          EXPECT_GE(text.passes_with_prefetch, always ? 7 : 0) << "passes of text";
          EXPECT_EQ(text.passes_with_deep_prefetch, text.passes_with_prefetch);
          EXPECT_GE(lanes_of(*engine).of_prompts().passes_with_prefetch, always ? 2 : 0);
        }
  }
}

// C10: whatever `auto` chooses and tries, also while it changes between plans.
TEST_F(ExpertLanesTest, change_no_bit_where_the_plan_is_chosen) {
  const std::string file = kDivided[0].file();
  const auto plain = Engine::open(options(file, "host-only", {"host"}, 0, 1));
  const auto engine = Engine::open(options(file, "auto", {"host"}, 3, 8));
  EXPECT_EQ(different_bits(logits_of(*engine), logits_of(*plain)), 0u);
  Sequence text = engine->cache().new_sequence(), other = plain->cache().new_sequence();
  for (int pass = 0; pass < 120; ++pass) {
    const std::vector<int32_t> ids{17 + pass % 50};
    const Logits logits = extend(*engine, text, ids), expected = extend(*plain, other, ids);
    ASSERT_EQ(different_bits(logits, expected), 0u) << "token " << pass << " by " << engine->plans().ran().last();
  }
  const std::vector<LanePlans::Row> rows = lanes_of(*engine).plans().rows(true);
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows.front().name, "hybrimoe") << "it runs first";
  EXPECT_EQ(engine->plans().ran().list()[0].plan, "hybrimoe");
  for (const LanePlans::Row& row : rows) EXPECT_GT(row.offer.predicted, 0) << row.name;
  EXPECT_TRUE(std::ranges::any_of(rows, [](const auto& row) { return row.offer.measured.has_value(); }));
  EXPECT_FALSE(lanes_of(*Engine::open(options(file, "hybrimoe", {"host"}, 3, 8))).plans().is_open());
}

TEST_F(ExpertLanesTest, stay_in_their_slots_where_the_policy_is_static) {
  const std::string file = kDivided[0].file();
  EngineOptions still = options(file, "moe-lru", {"host"}, 3, 8);
  still.expert_policy = "static";
  still.expert_prefetch = ExpertPrefetching::on;
  still.insert_misses = true;
  const auto engine = Engine::open(still), plain = Engine::open(options(file, "host-only", {"host"}, 0, 1));
  EXPECT_EQ(different_bits(logits_of(*engine), logits_of(*plain)), 0u);
  for (int64_t layer = 0; layer < 3; ++layer)
    EXPECT_THAT(engine->model().expert_store()->in_slots(layer), ::testing::ElementsAre(0, 1, 2)) << layer;
  EXPECT_EQ(lanes_of(*engine).of_text().evictions, 0);
  EXPECT_GT(lanes_of(*engine).of_text().landed, 0) << "misses are copied all the same";
}

TEST_F(ExpertLanesTest, copy_nothing_ahead_where_that_is_off_or_slots_never_change) {
  const auto totals = [&](const char* plan, ExpertPrefetching mode) {
    EngineOptions options = this->options(kDivided[0].file(), plan, {"host"}, 3, 8);
    options.expert_prefetch = mode;
    const auto engine = Engine::open(options);
    logits_of(*engine);
    return lanes_of(*engine).of_text();
  };
  for (const auto& [plan, mode] : {std::pair{"moe-lru", ExpertPrefetching::off},
                                   {"moe-on-demand", ExpertPrefetching::on},
                                   {"moe-fixed", ExpertPrefetching::on}}) {
    const LaneTotals text = totals(plan, mode);
    EXPECT_EQ(text.passes_with_prefetch, 0) << plan;
    EXPECT_EQ(text.useful_bytes + text.late_bytes + text.wasted_bytes, 0u) << plan;
  }
}

TEST_F(ExpertLanesTest, measure_experts_and_stalls) {
  EngineOptions learning = options(kDivided[0].file(), "moe-on-demand", {"host"}, 2, 8);
  learning.plan_hooks.learns = true;
  const auto engine = Engine::open(learning);
  logits_of(*engine);
  const LaneTotals& text = lanes_of(*engine).of_text();
  EXPECT_GT(text.measured_passes, 0);
  EXPECT_GT(text.measured.experts, 0);
  EXPECT_GT(text.measured.link, 0);
  EXPECT_GE(text.measured.stalls, 0);
  EXPECT_LE(text.measured.stalls, 2 * text.measured.experts);
}

// The slots of moe-fixed then have the two experts that the calibration counts most.
TEST_F(ExpertLanesTest, begin_with_the_most_used_experts_of_a_calibration) {
  const auto engine = Engine::open(options(kDivided[0].file(), "moe-fixed", {"host"}, 2, 8));
  ExpertStore& store = *engine->model().expert_store();
  RoutingCounts counts = empty_counts(8, 2, {0, 1, 2});
  counts.tokens = 4;
  for (ExpertCounts& layer : counts.counts) layer = {0, 0, 1, 0, 0, 4, 3, 0};
  store.hold_most_used(counts);
  const auto plain = Engine::open(options(kDivided[0].file(), "host-only", {"host"}, 0, 1));
  EXPECT_EQ(different_bits(logits_of(*engine), logits_of(*plain)), 0u);
  for (int64_t layer = 0; layer < 3; ++layer)
    EXPECT_THAT(store.in_slots(layer), ::testing::ElementsAre(5, 6)) << "layer " << layer;
}

TEST_F(ExpertLanesTest, keep_the_contract_between_vulkan_and_the_host) {
  need_devices({"", {}, "simd", ActType::f32, KvType::f16, false, "predict", {"vulkan:0", "host"}});
  const std::string file = kDivided[0].file();
  const std::vector<float> expected = logits_of(*Engine::open(options(file, "gpu-only", {"vulkan:0", "host"}, 0, 1)));
  const auto engine = Engine::open(options(file, "hybrimoe", {"vulkan:0", "host"}, 3, 8));
  const std::vector<float> divided = logits_of(*engine);
  ASSERT_EQ(divided.size(), expected.size());
  for (size_t i = 0; i < divided.size(); ++i) ASSERT_NEAR(divided[i], expected[i], 2e-3);
}

TEST_F(ExpertLanesTest, change_no_bit_of_eight_texts_in_one_pass) {
  const std::string file = kDivided[0].file();
  EngineOptions plain = options(file, "host-only", {"host"}, 0, 1), divided = options(file, "hybrimoe", {"host"}, 3, 8);
  plain.sequences = divided.sequences = 8;
  const auto expected = Engine::open(plain), engine = Engine::open(divided);
  std::vector<Sequence> a, b;
  for (int text = 0; text < 8; ++text) {
    a.push_back(expected->cache().new_sequence());
    b.push_back(engine->cache().new_sequence());
  }
  for (int pass = 0; pass < 4; ++pass) {
    std::vector<std::vector<int32_t>> ids;
    for (int text = 0; text < 8; ++text) ids.push_back(some_ids(1 + 3 * text * (pass == 0)));
    const auto run = [&](Engine& on, std::vector<Sequence>& texts) {
      std::vector<Extension> extensions;
      for (size_t text = 0; text < 8; ++text) extensions.push_back({.sequence = &texts[text], .ids = ids[text]});
      const Logits logits = on.extend(extensions);
      return std::vector<float>(logits.begin(), logits.end());
    };
    EXPECT_EQ(different_bits(run(*engine, b), run(*expected, a)), 0u) << "pass " << pass;
  }
}

TEST_F(ExpertLanesTest, divide_choices_as_their_plans_say) {
  const std::string file = kDivided[0].file();
  const auto totals = [&](const char* plan) {
    const auto engine = Engine::open(options(file, plan, {"host"}, 3, 8));
    logits_of(*engine);
    return std::pair(lanes_of(*engine).of_prompts(), lanes_of(*engine).of_text());
  };
  const auto [fixed_prompts, fixed_text] = totals("moe-fixed");
  EXPECT_GT(fixed_text.in_slots, 0);
  EXPECT_GT(fixed_text.on_host, 0);
  EXPECT_EQ(fixed_prompts.landed + fixed_text.landed, 0);
  const auto [transfer_prompts, transfer_text] = totals("moe-fixed-transfer");
  EXPECT_EQ(transfer_prompts.on_host, 0);
  EXPECT_GT(transfer_prompts.landed, 0);
  EXPECT_EQ(transfer_text.landed, 0);
  EXPECT_EQ(transfer_text.in_slots, fixed_text.in_slots) << "the same experts have slots";
  const auto [demand_prompts, demand_text] = totals("moe-on-demand");
  EXPECT_EQ(demand_prompts.on_host, 0);
  EXPECT_EQ(demand_text.kept, 0);
  const auto [lru_prompts, lru_text] = totals("moe-lru");
  EXPECT_GT(lru_text.kept, 0);
  for (const LaneTotals& each : {fixed_prompts, fixed_text, transfer_prompts, demand_text, lru_text})
    EXPECT_EQ(each.choices, each.in_slots + each.landed + each.on_host);
}

// Every copy of a run fails in turn. The pass ends by name, the text stays, and the same pass then has its bits.
TEST_F(ExpertLanesTest, whose_copy_fails_end_their_pass_by_name) {
  const std::string file = kDivided[0].file();
  const auto plain = Engine::open(options(file, "host-only", {"host"}, 0, 1));
  for (const int64_t copy : {1, 2, 5}) {
    EngineOptions failing = options(file, "moe-lru", {"host"}, 2, 8);
    failing.device_hooks.link_fails_after = copy;
    const auto engine = Engine::open(failing);
    Sequence text = engine->cache().new_sequence(), other = plain->cache().new_sequence();
    const std::string message = message_of([&] {
      for (int pass = 0; pass < 20; ++pass) extend(*engine, text, some_ids(2 + pass));
    });
    EXPECT_THAT(message, HasSubstr("a copy of experts failed"));
    EXPECT_THAT(message, HasSubstr("link:0"));
    const int64_t done = text.position();
    EXPECT_LT(done, 200);
    int64_t position = 0;
    for (int pass = 0; position < done; ++pass) {
      extend(*plain, other, some_ids(2 + pass));
      position = other.position();
    }
    ASSERT_EQ(other.position(), done);
    const Logits logits = extend(*engine, text, some_ids(9)), expected = extend(*plain, other, some_ids(9));
    EXPECT_EQ(different_bits(logits, expected), 0u) << "copy " << copy;
  }
}

TEST_F(ExpertLanesTest, keep_what_the_text_copied_and_nothing_of_a_prompt) {
  const auto engine = Engine::open(options(kDivided[0].file(), "moe-lru", {"host"}, 4, 8));
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(90));
  EXPECT_GT(lanes_of(*engine).of_prompts().landed, 0);
  const LaneTotals before = lanes_of(*engine).of_text();
  for (int i = 0; i < 6; ++i) extend(*engine, text, std::vector<int32_t>{17});
  const LaneTotals after = lanes_of(*engine).of_text();
  EXPECT_GT(after.kept, before.kept);
  EXPECT_GT(after.in_slots - before.in_slots, (after.choices - before.choices) / 2) << "one token again and again";
}

TEST_F(ExpertLanesTest, take_so_long_as_a_slow_link_takes) {
  EngineOptions slow = options(kDivided[0].file(), "moe-on-demand", {"host"}, 2, 8);
  slow.link_gbps = 0.001;
  const auto engine = Engine::open(slow);
  Sequence text = engine->cache().new_sequence();
  const auto start = std::chrono::steady_clock::now();
  extend(*engine, text, some_ids(60));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const ExpertStore& store = *engine->model().expert_store();
  const double bytes = static_cast<double>(store.bytes()) / (3 * 2);
  EXPECT_GE(seconds, static_cast<double>(lanes_of(*engine).of_prompts().landed_experts) * bytes / 1e6);
  EXPECT_THAT(engine->diagnostics(), Contains(HasSubstr("slowed down to 0.001 GB/s")));
}

// Runs the steps of a plan on this thread, in a random order that its waits allow.
void run_in_random_order(const Plan& plan, std::mt19937& random) {
  host::Workers workers(1, {});
  std::vector<std::vector<size_t>> queues(plan.devices.size());
  for (size_t step = 0; step < plan.steps.size(); ++step)
    queues[static_cast<size_t>(plan.steps[step].device)].push_back(step);
  std::vector<size_t> next(queues.size());
  std::vector<bool> ended(plan.steps.size());
  for (size_t count = 0; count < plan.steps.size(); ++count) {
    std::vector<size_t> ready;
    for (size_t d = 0; d < queues.size(); ++d) {
      if (next[d] == queues[d].size()) continue;
      const auto is_there = [&](int wait) { return ended[static_cast<size_t>(wait)]; };
      if (std::ranges::all_of(plan.steps[queues[d][next[d]]].waits, is_there)) ready.push_back(d);
    }
    ASSERT_FALSE(ready.empty());
    const size_t d = ready[random() % ready.size()], step = queues[d][next[d]++];
    for (const Operator& op : plan.steps[step].operators) host::run_contract(op, host::best_loops(), workers);
    ended[step] = true;
  }
}

std::vector<float> logits_behind(const Plan& plan, size_t count) {
  for (const Step& step : plan.steps)
    for (const Operator& op : step.operators)
      if (op.name == "output") {
        const float* logits = std::get<MatMul>(op.body).y.as<float>();
        return {logits, logits + count};
      }
  return {};
}

// A pass is repeated: its inputs are still in their buffers, and the cache gets the same keys and values again.
TEST_F(ExpertLanesTest, need_no_order_but_that_of_their_waits) {
  need_devices({"", {}, "simd", ActType::f32, KvType::f16, false, "predict", {"opencl:0", "host"}});
  std::mt19937 random(49);
  for (const char* name : {"hybrimoe", "moe-lru"}) {
    EngineOptions ahead = options(kDivided[0].file(), name, {"opencl:0", "host"}, 3, 8);
    ahead.expert_prefetch = ExpertPrefetching::on;
    ahead.insert_misses = true;
    const auto engine = Engine::open(ahead);
    Sequence text = engine->cache().new_sequence();
    for (const int64_t tokens : {40, 1, 5, 1}) {
      const int64_t position = text.position();
      const std::vector<int32_t> ids = some_ids(static_cast<int>(position + tokens));
      const Logits logits = extend(*engine, text, std::span(ids).subspan(static_cast<size_t>(position)));
      const std::vector<float> expected(logits.begin(), logits.end());
      const Plan plan =
          engine->plans().planner().make(find_strategy(name), {.S = tokens, .prefetch = tokens <= 8 ? 3 : 1}, position);
      ASSERT_EQ(plan.devices.size(), 3u);
      for (int order = 0; order < 20; ++order) {
        run_in_random_order(plan, random);
        ASSERT_EQ(different_bits(logits_behind(plan, expected.size()), expected), 0u)
            << name << ", " << tokens << " tokens, order " << order;
      }
    }
    const uint64_t useful = lanes_of(*engine).of_text().useful_bytes;
    EXPECT_TRUE(useful > 0 || std::string(name) != "moe-lru") << "experts were copied ahead and chosen";
  }
}

TEST_F(ExpertLanesTest, are_refused_without_copies_and_without_experts) {
  const std::string file = kDivided[0].file();
  for (const char* plan : kLanePlans) {
    EXPECT_THAT(message_of([&] { Engine::open(options(file, plan, {"host"}, 0, 1)); }),
                HasSubstr("needs experts that are copied into slots"))
        << plan;
    EngineOptions moving = options(file, plan, {"host"}, 3, 8);
    moving.expert_copies = false;
    EXPECT_THAT(message_of([&] { Engine::open(moving); }), HasSubstr("needs experts that are copied into slots"));
  }
}

}  // namespace
}  // namespace tandem::testing
