// Texts on a GPU with near-memory units: equal bits for every plan and number of units, and what does not fit.
#include <gmock/gmock.h>

#include <algorithm>

#include "engine/run/pass_plans.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"
#include "tests/engine/run/made_models.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

// Four panels of features; features that end within a panel, with fewer panels than units; shared experts and a dense
// first layer.
const MadeModel kMixturesOfUnits[] = {
    {"units-mixtral",
     R"({"schema": 1, "architecture": "llama", "layers": 3, "hidden": 128, "feed_forward": 256, "heads": 4,
         "kv_heads": 2, "vocabulary": 320, "context_length": 256, "experts": 8, "experts_used": 2,
         "expert_feed_forward": 256})",
     [](ModelConfig&) {}},
    {"units-qwen2moe",
     R"({"schema": 1, "architecture": "qwen2moe", "layers": 2, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 320, "context_length": 256, "experts": 12, "experts_used": 4,
         "expert_feed_forward": 96, "shared_feed_forward": 128})",
     [](ModelConfig&) {}},
    {"units-deepseek2",
     R"({"schema": 1, "architecture": "deepseek2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "vocabulary": 320, "context_length": 256, "experts": 8, "experts_used": 3, "expert_feed_forward": 32,
         "shared_feed_forward": 64, "dense_layers": 1, "kv_lora_rank": 32, "nope_dim": 24, "rope_dim": 16,
         "value_dim": 24})",
     [](ModelConfig&) {}},
};

const char* const kPlansOfUnits[] = {"gpu-ndp",   "ndp-tp",      "ndp-tp-lb",    "ndp-tp-pre",
                                     "ndp-monde", "ndp-fiddler", "ndp-on-demand"};

class NearMemoryUnits : public ::testing::Test {
 protected:
  static EngineOptions options(const std::string& model, const std::string& plan, std::vector<std::string> devices,
                               ActType act = ActType::f32) {
    EngineOptions options =
        options_for(model, {plan, {}, "simd", act, KvType::f16, false, "predict", std::move(devices)});
    options.chunk = 100, options.logit_rows = 100, options.context = 250;
    return options;
  }
  // The first device, and so many units behind it.
  static std::vector<std::string> with_units(const std::string& first, int units, const std::string& parameters = "") {
    std::vector<std::string> devices{first};
    for (int u = 0; u < units; ++u) devices.push_back("ndp:" + std::to_string(u) + parameters);
    return devices;
  }

  // Logits of all tokens of a prompt, then of passes of so many tokens.
  static std::vector<float> logits_of(Engine& engine) {
    std::vector<float> all;
    Sequence text = engine.cache().new_sequence();
    int first = 0;
    for (const int count : {120, 1, 1, 3, 1, 17, 1}) {
      const std::vector<int32_t> ids = tandem::testing::some_ids(first + count);
      const std::vector<float> logits = all_logits(engine, text, std::span(ids).subspan(static_cast<size_t>(first)));
      all.insert(all.end(), logits.begin(), logits.end());
      first += count;
    }
    return all;
  }
};

TEST_F(NearMemoryUnits, give_the_bits_of_one_device_in_every_plan_and_number) {
  for (const MadeModel& mixture : kMixturesOfUnits) {
    SCOPED_TRACE(mixture.name);
    const std::string file = mixture.file();
    const std::vector<float> expected = logits_of(*Engine::open(options(file, "host-only", {"host"})));
    for (const char* plan : kPlansOfUnits) {
      for (const int units : {1, 2, 3, 4, 5, 6}) {
        if (units % 3 != 0 && std::string(plan) != "gpu-ndp" && std::string(plan) != "ndp-tp") continue;
        const auto engine = Engine::open(options(file, plan, with_units("host", units)));
        EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u) << plan << " with " << units << " units";
      }
    }
  }
}

TEST_F(NearMemoryUnits, give_the_bits_of_the_gpu_beside_it) {
  need_devices({"gpu-only", {}, "simd", ActType::f32, KvType::f16, false, "predict", {"opencl:0"}});
  for (const ActType act : {ActType::f32, ActType::i8}) {
    const std::string file = kMixturesOfUnits[0].file();
    const std::vector<float> expected = logits_of(*Engine::open(options(file, "gpu-only", {"opencl:0"}, act)));
    for (const char* plan : {"gpu-ndp", "ndp-monde", "ndp-fiddler"}) {
      const auto engine = Engine::open(options(file, plan, with_units("opencl:0", 2), act));
      EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u) << plan;
    }
  }
}

// Both sides work in prompts and in texts, otherwise equal bits would show little.
TEST_F(NearMemoryUnits, share_the_experts_with_the_gpu_in_prompts_and_texts) {
  const auto engine = Engine::open(options(kMixturesOfUnits[0].file(), "gpu-ndp", with_units("host", 2)));
  logits_of(*engine);
  const NearMemorySides& sides = *engine->plans().sides();
  for (const SideTotals& totals : {sides.of_prompts(), sides.of_text()}) {
    EXPECT_GT(totals.on_gpu, 0);
    EXPECT_GT(totals.on_units, 0);
    EXPECT_GT(totals.seconds, 0);
  }
  EXPECT_EQ(sides.of_prompts().on_gpu + sides.of_prompts().on_units, (100 + 20 + 17) * 2 * 3);
  EXPECT_EQ(sides.of_text().on_gpu + sides.of_text().on_units, (1 + 1 + 3 + 1 + 1) * 2 * 3);
  EXPECT_EQ(sides.of_text().prefetched, 2 * 2 * 3) << "two experts of each layer, behind two prompts";
}

// The last layer's router then chooses for all tokens of a prompt, and its experts compute those with logits alone.
TEST_F(NearMemoryUnits, divide_the_choices_that_are_used_where_all_tokens_are_routed) {
  const std::string file = kMixturesOfUnits[0].file();
  const auto last = [&](const std::string& plan, std::vector<std::string> devices, bool all) {
    EngineOptions some = options(file, plan, std::move(devices));
    some.route_every_token = all;
    const auto engine = Engine::open(some);
    Sequence text = engine->cache().new_sequence();
    const Logits logits = extend(*engine, text, some_ids(60));
    return std::vector<float>(logits.begin(), logits.end());
  };
  const std::vector<float> expected = last("host-only", {"host"}, false);
  for (const bool all : {false, true})
    EXPECT_EQ(different_bits(last("gpu-ndp", with_units("host", 2), all), expected), 0u);
}

TEST_F(NearMemoryUnits, with_inner_cuts_give_the_same_bits_on_every_first_device) {
  const std::string file = kMixturesOfUnits[0].file();
  const auto inner = [&](const std::string& first, int units, const char* plan = "ndp-tp") {
    EngineOptions some = options(file, plan, with_units(first, units));
    some.units.split = UnitSplit::inner;
    return logits_of(*Engine::open(some));
  };
  const std::vector<float> whole = logits_of(*Engine::open(options(file, "host-only", {"host"})));
  EXPECT_EQ(different_bits(inner("host", 1), whole), 0u) << "one unit has all columns";
  // The four panels of features are four runs of columns. Two units have two runs each, and their sums are added last.
  const std::vector<float> two = inner("host", 2), three = inner("host", 3);
  EXPECT_GT(different_bits(two, whole), 0u) << "partial sums round elsewhere";
  for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(two[i], whole[i], 1e-3);
  EXPECT_EQ(different_bits(three, whole), 0u) << "two runs, one and one: added one by one, as in the whole product";
  EXPECT_EQ(different_bits(inner("host", 5), inner("host", 4)), 0u) << "four panels of features: the fifth has none";
  need_devices({"gpu-only", {}, "simd", ActType::f32, KvType::f16, false, "predict", {"opencl:0"}});
  EXPECT_EQ(different_bits(inner("opencl:0", 2), two), 0u);
}

TEST_F(NearMemoryUnits, say_that_inner_cuts_have_bits_of_their_own) {
  EngineOptions some = options(kMixturesOfUnits[0].file(), "gpu-ndp", with_units("host", 2));
  EXPECT_TRUE(Engine::open(some)->contract().other_bits.empty() ||
              !Engine::open(some)->contract().bits_depend_on_passes);
  some.units.split = UnitSplit::inner;
  EXPECT_TRUE(Engine::open(some)->contract().bits_depend_on_passes);
}

TEST_F(NearMemoryUnits, write_the_texts_of_one_device_for_many_texts_and_drafts) {
  const std::string file = kMixturesOfUnits[0].file();
  EngineOptions plain = options(file, "host-only", {"host"}), shared = options(file, "gpu-ndp", with_units("host", 3));
  plain.sequences = shared.sequences = 4;
  plain.drafts = shared.drafts = true;
  const auto expected = Engine::open(plain), engine = Engine::open(shared);
  for (const int prompt : {3, 60})
    EXPECT_EQ(generate(*engine, some_ids(prompt), so_many(30)).ids,
              generate(*expected, some_ids(prompt), so_many(30)).ids);
}

TEST_F(NearMemoryUnits, must_hold_all_experts) {
  const std::string file = kMixturesOfUnits[0].file();
  // 3 layers of 8 experts with 3 * 128 * 256 weights of 4 bytes: 9,437,184 bytes. A unit of 0.004 GiB holds 4,294,967.
  const std::string small = "?gib=0.004";
  const std::string message = message_of([&] { Engine::open(options(file, "gpu-ndp", with_units("host", 2, small))); });
  EXPECT_THAT(message, HasSubstr("Not supported"));
  EXPECT_THAT(message, HasSubstr("experts of 9437184 bytes"));
  EXPECT_THAT(message, HasSubstr("2 units"));
  EXPECT_NO_THROW(Engine::open(options(file, "gpu-ndp", with_units("host", 3, small))));
  EXPECT_NO_THROW(Engine::open(options(file, "ndp-on-demand", with_units("host", 1, small))));
}

TEST_F(NearMemoryUnits, are_asked_for_by_name) {
  const std::string file = kMixturesOfUnits[0].file();
  EXPECT_THAT(message_of([&] { Engine::open(options(file, "gpu-ndp", {"host"})); }),
              HasSubstr("needs near-memory units"));
  EXPECT_THAT(message_of([&] {
                Engine::open(options(file, "gpu-ndp", {"host", "ndp:0", "ndp:0?gib=8"}));
              }),
              HasSubstr("named twice"));
  // Other plans leave units alone, and the host joins units that stand alone.
  const std::vector<float> expected = logits_of(*Engine::open(options(file, "host-only", {"host"})));
  EXPECT_EQ(different_bits(logits_of(*Engine::open(options(file, "host-only", {"ndp:0", "ndp:1"}))), expected), 0u);
  EXPECT_EQ(different_bits(logits_of(*Engine::open(options(file, "auto", with_units("host", 2)))), expected), 0u);
}

TEST_F(NearMemoryUnits, refuse_experts_with_biases) {
  const auto made = std::ranges::find(made_models(), std::string("gpt-oss"), &MadeModel::name);
  const auto engine_of = [&] {
    const auto engine = Engine::open(options(made->file(), "gpu-ndp", with_units("host", 2)));
    logits_of(*engine);
  };
  EXPECT_THAT(message_of(engine_of), HasSubstr("near-memory units compute no biases of experts"));
}

TEST_F(NearMemoryUnits, refuse_experts_that_move) {
  EngineOptions some = options(kMixturesOfUnits[0].file(), "gpu-ndp", with_units("host", 2));
  const ScratchFolder folder;
  some.expert_budget = {ExpertBudget::Unit::percent, 50};
  some.expert_folder = folder.file("packed");
  EXPECT_THAT(message_of([&] { Engine::open(some); }), HasSubstr("experts that move"));
}

TEST_F(NearMemoryUnits, leave_a_model_without_experts_as_it_is) {
  const HostEngines engines("dense");
  EngineOptions some = engines.options();
  const std::vector<int32_t> ids = some_ids(20);
  const auto logits = [&](Engine& engine) {
    Sequence text = engine.cache().new_sequence();
    return all_logits(engine, text, ids);
  };
  some.logit_rows = 20;
  const std::vector<float> expected = logits(*Engine::open(some));
  some.plan = "gpu-ndp", some.devices = with_units("host", 2);
  const auto engine = Engine::open(some);
  EXPECT_EQ(engine->plans().sides(), nullptr);
  EXPECT_EQ(different_bits(logits(*engine), expected), 0u);
}

}  // namespace
}  // namespace tandem::testing
