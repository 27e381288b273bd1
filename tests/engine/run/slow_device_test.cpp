// Plans on a device that the engine does not know (tests/engine/device/slow_device.cpp). Its kind is NPU, so it has the
// NPU's part in all plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "engine/device/registry.h"
#include "engine/device/thread_device.h"
#include "engine/run/choice/machine_rates.h"
#include "tandem/generate.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"
#include "tests/support/program_folder.h"

namespace tandem::testing {
namespace {

// A device of the host's kind that computes nothing.
class IdleProcessor final : public Processor {
 public:
  Support supports(const Operator&) const override { return {false, "it computes nothing"}; }
  Cost estimate(std::span<const Operator>) const override { return {}; }
  std::unique_ptr<ThreadWork> prepare(std::span<const Operator>) override { throw Error("it computes nothing", ""); }
};

std::unique_ptr<Device> open_idle_device(int index, const DeviceOptions& options) {
  DeviceInfo info;
  info.id = "idle:" + std::to_string(index);
  info.kind = DeviceKind::host;
  return std::make_unique<ThreadDevice>(std::move(info), std::make_unique<IdleProcessor>(), options, options.npu_cores);
}
DeviceCount one_idle_device() { return {1, 0}; }

TEST(AddedDevice, of_the_hosts_kind_is_opened_itself_beside_a_gpu_and_an_npu) {
  const std::string gpu = best_gpu();
  if (gpu.empty()) GTEST_SKIP() << "skipped: there is no GPU, whose cores the host would leave alone";
  add_device_factory({"idle", DeviceKind::host, "a toy", one_idle_device, open_idle_device});
  const HostEngines engines("added_device");
  EngineOptions options = engines.options();
  options.devices = {gpu, "npu:0", "idle:0"};
  options.plan = "gpu-only";
  // The test between devices refuses a device that computes nothing. The host itself would pass it.
  EXPECT_THAT(message_of([&] { Engine::open(options); }), ::testing::HasSubstr("idle:0. it computes nothing"));
}

class SlowDevice : public ::testing::Test {
 protected:
  // The logits of a prompt and of one token behind it. Empty if these devices cannot run the plan.
  std::vector<float> logits(const std::vector<std::string>& devices, const std::string& plan) const {
    EngineOptions options = engines_.options();
    options.devices = devices;
    options.plan = plan;
    options.act = ActType::f16;
    options.device_hooks.gpu_family = KernelFamily::simd;
    options.logit_rows = kTokens;
    options.program_folder = test::program_folder();
    try {
      const auto engine = Engine::open(options);
      Sequence text = engine->cache().new_sequence();
      std::vector<float> all = all_logits(*engine, text, some_ids(kTokens));
      const int32_t id = 17;
      const Logits next = extend(*engine, text, std::span(&id, 1));
      all.insert(all.end(), next.begin(), next.end());
      return all;
    } catch (const Error& error) {
      std::cout << plan << ": " << error.what() << "\n";
      return {};
    }
  }

  // Compares the logits of every plan that the emulated NPU runs with these other devices.
  void expect_every_plan(const std::vector<std::string>& before, const std::vector<std::string>& behind, size_t most) {
    const auto with = [&](const std::string& npu) {
      std::vector<std::string> devices = before;
      devices.push_back(npu);
      devices.insert(devices.end(), behind.begin(), behind.end());
      return devices;
    };
    size_t ran = 0;
    for (const Strategy& strategy : strategies_for_any_model()) {
      if (strategy.only && strategy.only != DeviceRole::graphs) continue;
      SCOPED_TRACE(strategy.name);
      const std::vector<float> expected = logits(with("npu:0"), strategy.name);
      if (expected.empty()) continue;
      const std::vector<float> actual = logits(with("slow:0?delay_us=20"), strategy.name);
      ASSERT_EQ(actual.size(), expected.size());
      EXPECT_LE(largest_difference(actual, expected), kLargestDifference);
      ++ran;
    }
    EXPECT_GE(ran, most);
  }

  static constexpr int kTokens = 40;
  // The device sums in double precision, which may round halves the other way. The logits are about one.
  static constexpr double kLargestDifference = 0.05;
  const HostEngines engines_{"slow_device"};
};

TEST_F(SlowDevice, runs_every_plan_that_the_npu_runs_beside_the_host) { expect_every_plan({"host"}, {}, 6); }

TEST_F(SlowDevice, runs_every_plan_that_the_npu_runs_with_the_host_on_its_thread) {
  const std::string gpu = best_gpu();
  if (gpu.empty()) GTEST_SKIP() << "skipped: there is no GPU, whose cores the host would leave alone";
  expect_every_plan({gpu}, {"host"}, 9);
}

// A pass has 15 products of 120 ms each. It ends when its time is over, and the error does not suggest another way to
// wait. The self-test of the pair has a deadline of its own, because each of its hand-overs takes longer than the
// deadline here.
TEST_F(SlowDevice, is_told_from_one_that_hangs_where_a_deadline_is_too_short_for_it) {
  EngineOptions options = engines_.options();
  options.devices = {"slow:0?delay_us=120000", "host"};
  options.plan = "npu-only";
  options.wait_deadline = std::chrono::milliseconds(100);
  const auto engine = Engine::open(options);
  using ::testing::HasSubstr;
  Sequence text = engine->cache().new_sequence();
  EXPECT_THAT([&] { extend(*engine, text, some_ids(8)); },
              ::testing::ThrowsMessage<Error>(AllOf(HasSubstr("passed its deadline"), HasSubstr("slow:0"),
                                                    HasSubstr("more to do than that"), HasSubstr("--deadline"),
                                                    Not(HasSubstr("--sync")))));
}

// The test refuses each program of a prompt in pieces in turn. The text stays the same.
TEST_F(SlowDevice, that_cannot_be_made_ready_leaves_the_text_where_it_was) {
  const auto open = [&](int refuses_at) {
    EngineOptions options = engines_.options(20);
    options.devices = {"slow:0?refuses_at=" + std::to_string(refuses_at), "host"};
    options.plan = "npu-only";
    return Engine::open(options);
  };
  const std::vector<int32_t> first = some_ids(3), rest = some_ids(50);
  const auto logits = [&](Engine& engine, Sequence& text) {
    const Logits found = extend(engine, text, rest);
    return std::vector<float>(found.begin(), found.end());
  };
  const auto sound = open(0);
  Sequence text = sound->cache().new_sequence();
  extend(*sound, text, first);
  const std::vector<float> expected = logits(*sound, text);
  int refused = 0;
  for (int at = 1; at <= 200; at += 7) {
    std::unique_ptr<Engine> engine;
    std::optional<Sequence> beside;
    try {
      engine = open(at);  // the self-test also prepares programs
      extend(*engine, beside.emplace(engine->cache().new_sequence()), first);
    } catch (const Error&) {
      continue;  // it fails before the test begins
    }
    try {
      engine->prewarm(3, 50, true);
      break;  // every program is prepared
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("the toy has no room"));
      ++refused;
    }
    ASSERT_EQ(beside->position(), 3) << at;
    ASSERT_EQ(logits(*engine, *beside), expected) << at;
  }
  EXPECT_GT(refused, 2);
}

// A pass of this model has 15 products, and the fourth pass fails. The four texts in that pass end with the error. The
// waiting texts have the words that they have on other devices.
TEST_F(SlowDevice, that_fails_ends_the_texts_of_that_pass_and_no_others) {
  constexpr int64_t kWidth = 4, kTexts = 7;
  const auto results_on = [&](const std::string& device, int64_t width) {
    EngineOptions options = engines_.options();
    options.devices = {device, "host"};
    options.plan = "npu-only";
    options.sequences = kWidth;
    const auto engine = Engine::open(options);
    Batcher batcher(*engine, width);
    std::vector<std::optional<Batcher::Result>> results(kTexts);
    for (int64_t i = 0; i < kTexts; ++i) {
      GenerateOptions generate;
      generate.predict = 12;
      generate.ignore_end = true;
      std::vector<int32_t> prompt = some_ids(static_cast<int>(3 + i));
      prompt.front() += static_cast<int32_t>(i);  // each begins differently, so none waits for another one
      batcher.add(std::move(prompt), generate,
                  [&results, i](Batcher::Result result) { results[static_cast<size_t>(i)] = std::move(result); });
    }
    while (batcher.step()) {
    }
    EXPECT_EQ(batcher.active() + batcher.waiting(), 0);
    return results;
  };
  const auto expected = results_on("slow:0", 1), found = results_on("slow:0?fails_at=50", kWidth);
  for (size_t i = 0; i < kTexts; ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(expected[i] && found[i]);
    ASSERT_EQ(expected[i]->error, nullptr);
    if (i >= kWidth) {
      ASSERT_EQ(found[i]->error, nullptr);
      EXPECT_EQ(found[i]->generation.ids, expected[i]->generation.ids);
      continue;
    }
    ASSERT_NE(found[i]->error, nullptr);
    const std::string why = message_of([&] { std::rethrow_exception(found[i]->error); });
    EXPECT_THAT(why, ::testing::AllOf(::testing::HasSubstr("the toy broke"), ::testing::HasSubstr("slow:0")));
    const auto& ids = found[i]->generation.ids;
    ASSERT_LT(ids.size(), expected[i]->generation.ids.size());
    EXPECT_TRUE(std::ranges::equal(ids, std::span(expected[i]->generation.ids).first(ids.size())));
  }
}

// Any pass fails, with chains and trees of drafts. The texts then have the tokens that they had before it, and go on
// from there with the bits of texts that never failed.
TEST_F(SlowDevice, that_fails_in_a_pass_with_drafts_leaves_the_texts_as_they_were) {
  constexpr size_t kTexts = 2;
  const auto open = [&](int fails_at) {
    EngineOptions options = engines_.options();
    options.devices = {"slow:0?fails_at=" + std::to_string(fails_at), "host"};
    options.plan = "npu-only";
    options.sequences = kTexts;
    options.logit_rows = 16;
    options.drafts = true;
    return Engine::open(options);
  };
  const auto logits_behind = [](Engine& engine, Sequence& text) {
    const int32_t id = 7;
    const Logits logits = extend(engine, text, std::span(&id, 1));
    return std::vector<float>(logits.begin(), logits.end());
  };
  const auto sound = open(0);
  GenerateOptions options = so_many(40);
  options.spec.mode = SpecMode::none;
  std::vector<std::vector<int32_t>> whole(kTexts);  // prompts, and what plain decoding writes
  for (size_t i = 0; i < kTexts; ++i) {
    whole[i] = some_ids(static_cast<int>(5 + i));
    whole[i].front() += static_cast<int32_t>(i);
    const std::vector<int32_t> written = generate(*sound, whole[i], options).ids;
    whole[i].insert(whole[i].end(), written.begin(), written.end());
  }
  int chains = 0, trees = 0, fails_at = 40;
  for (int round = 0; round < 12; ++round, fails_at += 17) {
    const auto engine = open(fails_at);
    std::vector<Sequence> texts;
    std::vector<Batcher::Result> results(kTexts);
    for (size_t i = 0; i < kTexts; ++i) texts.push_back(engine->cache().new_sequence());
    Batcher batcher(*engine, kTexts);
    for (size_t i = 0; i < kTexts; ++i) {
      // Two earlier texts are wrong at different places, so there are branches.
      GenerateOptions drafted = so_many(40);
      drafted.spec.mode = round % 2 ? SpecMode::sdnpu : SpecMode::sam;
      drafted.spec.history = std::make_shared<TextHistory>();
      const auto wrong_at_each = [&](size_t step) {
        std::vector<int32_t> other = whole[i];
        for (size_t at = step - 1; at < other.size(); at += step) other[at] ^= 1;
        return other;
      };
      drafted.spec.predictions = {wrong_at_each(4)};
      drafted.spec.history->add(wrong_at_each(5));
      const auto prompt = std::span(whole[i]).first(5 + i);
      batcher.add(texts[i], {prompt.begin(), prompt.end()}, drafted,
                  [&results, i](Batcher::Result result) { results[i] = std::move(result); });
    }
    while (batcher.step()) {
    }
    for (size_t i = 0; i < kTexts; ++i) {
      SCOPED_TRACE("operator " + std::to_string(fails_at) + ", text " + std::to_string(i));
      if (!results[i].error) continue;  // this text had ended
      EXPECT_THAT(message_of([&] { std::rethrow_exception(results[i].error); }), ::testing::HasSubstr("the toy broke"));
      const DraftTotals& drafts = results[i].generation.drafts;
      chains += drafts.passes > drafts.tree_passes;
      trees += drafts.tree_passes > 0;
      const std::span<const int32_t> tokens = texts[i].ids();
      ASSERT_LT(tokens.size(), whole[i].size());
      ASSERT_TRUE(std::ranges::equal(tokens, std::span(whole[i]).first(tokens.size())));
      Sequence plain = sound->cache().new_sequence();
      if (!tokens.empty()) extend(*sound, plain, tokens);
      ASSERT_EQ(logits_behind(*engine, texts[i]), logits_behind(*sound, plain));
    }
  }
  EXPECT_GT(chains, 3);
  EXPECT_GT(trees, 3);
}

// The planner knows this device from a first measurement only, and leaves it out from the first pass on. Without that
// measurement the device would get a share of the products. A panel of 64 rows costs it 20 times what the whole product
// costs the host, which may be that much slower when other programs use the cores.
TEST_F(SlowDevice, gets_nothing_to_do_from_the_first_pass_on_where_plans_are_chosen) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: with a sanitizer in its loops the host takes as long";
#endif
  const HostEngines wide("wide", {.hidden = 256, .feed_forward = 768});
  EngineOptions options = wide.options();
  options.devices = {"slow:0?delay_us=300000", "host"};
  options.plan = "auto";
  const auto engine = Engine::open(options);
  for (const int64_t tokens : {64, 40, 9, 1}) {
    const Plan plan = engine->plans().planner().plan_for({tokens, 1}, 0);
    for (const Step& step : plan.steps)
      EXPECT_EQ(plan.devices[static_cast<size_t>(step.device)], "host") << plan.name << ", " << step.name();
  }
}

TEST_F(SlowDevice, is_one_device_whatever_it_is_told) {
  EngineOptions options = engines_.options();
  options.devices = {"host", "slow:0", "slow:0?delay_us=1"};
  options.plan = "layer";
  EXPECT_THAT([&] { Engine::open(options); }, ::testing::ThrowsMessage<Error>(::testing::HasSubstr("named twice")));
}

TEST_F(SlowDevice, is_measured_apart_for_each_of_its_parameters) {
  const auto plain = open_device("slow:0", {}), slow = open_device("slow:0?delay_us=100", {});
  EXPECT_EQ(measurement_key(plain->info()), measurement_key(open_device("slow", {})->info()));
  EXPECT_NE(measurement_key(plain->info()), measurement_key(slow->info()));
}

}  // namespace
}  // namespace tandem::testing
