// A trained mixture of experts whose routing is as uneven as in real models: golden logits, the same bits on every
// plan, and counts of its choices.

#include <sstream>

#include "engine/moe/routing_counts.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/near_ties.h"

namespace tandem::testing {
namespace {

std::optional<std::string> mix(const std::string& type) { return test_data("moe-mix/moe-mix-" + type + ".gguf"); }

struct Golden {
  std::string type, text;
  std::vector<int32_t> prompt, greedy, all;
};

std::vector<Golden> golden_texts() {
  std::vector<Golden> texts;
  const auto json = read_json(*test_data("moe-mix/moe-mix-golden.json"));
  for (const auto& [name, entry] : json.at("prompts").items()) {
    const size_t dot = name.find('.');
    Golden text{name.substr(0, dot), name.substr(dot + 1), entry.at("prompt"), entry.at("greedy"), {}};
    text.all = text.prompt;
    text.all.insert(text.all.end(), text.greedy.begin(), text.greedy.end());
    texts.push_back(std::move(text));
  }
  return texts;
}

class MoeMix : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    need_devices(GetParam());
    if (!mix("F16")) SKIP_FOR_WANT_OF(data, "no moe-mix");
  }
};

TEST_P(MoeMix, has_golden_logits_and_greedy_runs) {
  const bool rounds = promised(rounded_by(GetParam())) > promised({});
  int64_t compared = 0;
  for (const Golden& text : golden_texts()) {
    SCOPED_TRACE(text.type + " " + text.text + " " + GetParam().name());
    const auto engine = open_engine(*mix(text.type), GetParam());
    if (!rounds) {
      EXPECT_EQ(greedy(*engine, text.prompt, text.greedy.size()), text.greedy);
    }
    const auto expected = read_floats(*test_data("moe-mix/moe-mix-" + text.type + "." + text.text + ".logits.f32"));
    const auto logits = all_logits(*engine, text.all);
    const int64_t clear = rounds ? first_near_tie(*engine, text.all) : static_cast<int64_t>(text.all.size());
    compared += clear;
    if (clear == 0) continue;
    const int64_t V = engine->model().config().vocabulary;
    EXPECT_LE(largest_difference(rows(logits, 0, clear, V), rows(expected, 0, clear, V)),
              promised(rounded_by(GetParam())));
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, MoeMix,
    ::testing::Values(Way{"host-only", {}}, Way{"gpu-only", {}, "simd"}, Way{"gpu-only", {}, "simt"},
                      Way{"gpu-only", {}, "simd", {}, KvType::f16}, Way{"tensor", {0.5}}, Way{"layer", {}},
                      Way{"npumoe-tg", {}},
                      Way{"gpu-only", {}, "simd", {}, KvType::f32, false, "predict", {"vulkan:0"}},
                      Way{"gpu-only", {}, "simt", {}, KvType::f32, false, "predict", {"vulkan:0"}},
                      Way{"npumoe-tg", {}, "simd", {}, KvType::f32, false, "predict", {"vulkan:0", "npu:0", "host"}},
                      Way{"gpu-only", {}, "simd", {}, KvType::f32, true}),
    test_name);

// All plans that keep the contract give one result, for all cuts, in pieces of any length and token by token.
TEST(MoeMixBits, are_the_same_on_every_plan_and_in_pieces_of_every_length) {
  if (!mix("Q4_0")) SKIP_FOR_WANT_OF(data, "no moe-mix");
  const std::vector<int32_t> ids = golden_texts().front().all;
  const bool has_opencl = std::ranges::count(available_devices(), std::string("opencl:0")) > 0;
  for (const char* type : {"Q4_0", "Q8_0", "F16"}) {
    std::vector<float> first;
    for (const Way& way : {Way{"host-only", {}, "", ActType::f16}, Way{"gpu-only", {}, "simd", ActType::f16},
                           Way{"tensor", {0.5}, "simd"}, Way{"layer", {}, "simd"}, Way{"sequence", {}, "simd"},
                           Way{"staggered", {}, "simd"}, Way{"rows", {}, "simd"}, Way{"npumoe", {}, "simd"},
                           Way{"npumoe-tg", {}, "simd"}, Way{"npumoe-t", {}, "simd"}, Way{"npumoe-base", {}, "simd"},
                           Way{"moe-naive", {}, "simd"}, Way{"moe-dense-only", {}, "simd"}}) {
      if (way.plan != "host-only" && !has_opencl) continue;
      for (const int64_t piece : {96, 37, 5, 1}) {
        SCOPED_TRACE(std::string(type) + " " + way.name() + " pieces of " + std::to_string(piece));
        const auto engine = open_engine(*mix(type), way, piece);
        for (const std::string& reason : engine->contract().other_bits) {
          EXPECT_EQ(reason.find("rounds"), std::string::npos) << "only the router is F32, which no NPU is given";
        }
        if (!engine->contract().other_bits.empty()) continue;  // the driver has reasons of its own
        const auto logits = all_logits(*engine, ids);
        if (first.empty()) first = logits;
        EXPECT_EQ(largest_difference(logits, first), 0);
      }
    }
    EXPECT_FALSE(first.empty());
  }
}

// 8-bit activations: groups of experts on the NPU multiply the same integers as all other devices.
TEST(MoeMixBits, are_the_same_on_every_plan_with_8_bit_activations) {
  if (!mix("Q4_0")) SKIP_FOR_WANT_OF(data, "no moe-mix");
  const std::vector<int32_t> ids = golden_texts().front().all;
  if (std::ranges::count(available_devices(), std::string("opencl:0")) == 0)
    SKIP_FOR_WANT_OF(opencl, "no OpenCL driver is installed");
  for (const char* type : {"Q4_0", "Q8_0"}) {
    const auto logits_on = [&](const Way& way) {
      const auto engine = open_engine(*mix(type), way, 96);
      return all_logits(*engine, ids);
    };
    const auto expected = logits_on({"host-only", {}, "", ActType::i8});
    for (const char* plan :
         {"tensor", "layer", "rows", "npumoe", "npumoe-tg", "npumoe-t", "npumoe-base", "moe-naive"}) {
      const Way way{plan, plan == std::string("tensor") ? std::vector<double>{0.5} : std::vector<double>{}, "simd",
                    ActType::i8};
      EXPECT_EQ(largest_difference(logits_on(way), expected), 0) << type << " " << plan;
    }
  }
}

// N1: sixteen windows of each of three texts, with F16 weights. The counts must be those of the trained model's
// own code.
TEST(MoeMixCounts, are_those_of_the_models_own_code) {
  const auto routing_path = test_data("moe-mix/moe-mix-routing.json");
  if (!routing_path) SKIP_FOR_WANT_OF(data, "no moe-mix");
  const auto routing = read_json(*routing_path);
  const auto engine = open_engine(*mix("F16"), Way{"host-only", {}}, 256);
  for (const auto& [name, text] : routing.at("texts").items()) {
    RoutingCounts counts = empty_counts(32, 4, {0, 1, 2, 3, 4, 5});
    for (const auto& window : text.at("ids")) {
      const auto ids = window.get<std::vector<int32_t>>();
      Sequence sequence = engine->cache().new_sequence();
      extend_all(*engine, sequence, ids, [&](int64_t, std::span<const float>) {
        const auto layers = engine->routing();
        ASSERT_EQ(layers.size(), 6u);
        for (size_t l = 0; l < layers.size(); ++l) count_choices(counts, l, layers[l].ids);
      });
    }
    const auto expected = text.at("expert_counts").get<std::vector<ExpertCounts>>();
    EXPECT_EQ(counts.counts, expected) << name;
  }
}

}  // namespace
}  // namespace tandem::testing
