// Experts that move (--expert-budget, --host-budget): no bit changes, whatever the budget, the device and the plan.
// Damaged files are errors by name, and texts go on.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "engine/device/lab/lab.h"
#include "engine/model/loading.h"
#include "engine/run/machine/expert_budget.h"
#include "engine/run/machine/expert_store.h"
#include "engine/tensor/expert_source.h"
#include "tests/engine/run/divided_experts.h"
#include "tests/engine/run/expert_file.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"
#include "tests/engine/run/made_models.h"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using enum ExpertBudget::Unit;

// Those of the plans with lanes; a dense first layer, shared experts and latent attention.
const MadeModel kMixtures[] = {
    kDivided[0],
    kDivided[1],
    {"deepseek2",
     R"({"schema": 1, "architecture": "deepseek2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "vocabulary": 320, "context_length": 256, "experts": 8, "experts_used": 3, "expert_feed_forward": 32,
         "shared_feed_forward": 64, "dense_layers": 1, "kv_lora_rank": 32, "nope_dim": 24, "rope_dim": 16,
         "value_dim": 24})",
     [](ModelConfig&) {}},
};

class MovingExpertsTest : public ::testing::Test {
 protected:
  EngineOptions options(const std::string& model, const Way& way, const ExpertBudget& budget = {}) const {
    EngineOptions options = options_for(model, way);
    options.chunk = 100;
    options.logit_rows = 100;
    options.context = 250;
    options.expert_budget = budget;
    options.expert_folder = folder_.file("packed");
    return options;
  }
  std::unique_ptr<Engine> open(const std::string& model, const ExpertBudget& budget = {}) const {
    return Engine::open(options(model, host(), budget));
  }
  static Way host() { return {"host-only", {}, "", ActType::f32, KvType::f16, false, "predict", {"host"}}; }
  static const ExpertStore& store_of(const Engine& engine) { return *engine.model().expert_store(); }
  // Whether experts were read: by prompts, or in the background before any prompt needed them.
  static bool has_moved(const Engine& engine) {
    const ExpertStore& store = store_of(engine);
    return store.of_prompts().loads + store.of_hot().taken > 0;
  }
  std::string packed() const { return packed_file_in(folder_.file("packed")); }

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

  const ScratchFolder folder_;
};

TEST_F(MovingExpertsTest, change_no_bit_under_any_budget_on_the_host) {
  for (const MadeModel& mixture : kMixtures) {
    SCOPED_TRACE(mixture.name);
    const std::string file = mixture.file();
    const auto plain = open(file);
    ASSERT_EQ(plain->model().expert_store(), nullptr);
    const std::vector<float> expected = logits_of(*plain);
    const double E = static_cast<double>(plain->model().config().experts->count);
    for (double slots = 1; slots < E; ++slots) {
      const auto engine = open(file, {percent, 100 * (slots + 0.5) / E});
      ASSERT_EQ(store_of(*engine).slots(), static_cast<int64_t>(slots));
      EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u) << slots << " slots";
      EXPECT_TRUE(has_moved(*engine)) << slots << " slots";
    }
    EXPECT_EQ(open(file, {percent, 100})->model().expert_store(), nullptr);
  }
}

TEST_F(MovingExpertsTest, get_the_biases_of_their_numbers_in_every_wave) {
  const auto made = std::ranges::find(made_models(), std::string("gpt-oss"), &MadeModel::name);
  const std::string file = made->file();
  const std::vector<float> expected = logits_of(*open(file));
  const double E = static_cast<double>(open(file)->model().config().experts->count);
  for (double slots = 1; slots < E; ++slots)
    EXPECT_EQ(different_bits(logits_of(*open(file, {percent, 100 * (slots + 0.5) / E})), expected), 0u) << slots;
}

// Every plan on the GPU, NPU and host. A plan without the host gets it, because it fetches.
class MovingExpertsOn : public MovingExpertsTest, public ::testing::WithParamInterface<Way> {};

TEST_P(MovingExpertsOn, change_no_bit) {
  need_devices(GetParam());
  const bool is_slow = GetParam().devices.front() == "vulkan:0";
  for (const MadeModel& mixture : kMixtures) {
    SCOPED_TRACE(mixture.name);
    const std::string file = mixture.file();
    const std::vector<float> expected = logits_of(*Engine::open(options(file, GetParam())));
    for (const double share : is_slow ? std::vector<double>{40} : std::vector<double>{13, 40, 80}) {
      const auto engine = Engine::open(options(file, GetParam(), {percent, share}));
      EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u) << share << " %";
      EXPECT_GT(store_of(*engine).of_text().choices, 0);
      EXPECT_TRUE(has_moved(*engine)) << share << " %";
      // With more slots than a token chooses, experts loaded between passes may be all that its passes need.
      if (share < 20) {
        EXPECT_GT(store_of(*engine).of_text().loads, 0) << share << " %";
      }
    }
    if (is_slow) break;
  }
}

Way way(const std::string& plan, ActType act, std::vector<std::string> devices, const std::string& family = "simd") {
  return {plan,        plan == "tensor" ? std::vector<double>{0.5} : std::vector<double>{},
          family,      act,
          KvType::f16, false,
          "predict",   std::move(devices)};
}
// A card with memory of its own, which gets the experts that change.
Way card(const std::string& id, ActType act) {
  Way way{"gpu-only", {}, "simt", act, KvType::f16, true, "predict", {id}};
  return way;
}
INSTANTIATE_TEST_SUITE_P(Cards, MovingExpertsOn,
                         ::testing::Values(card("opencl:0", ActType::f32), card("opencl:0", ActType::i8),
                                           card("vulkan:0", ActType::f32)),
                         test_name);
INSTANTIATE_TEST_SUITE_P(
    Ways, MovingExpertsOn,
    ::testing::Values(way("host-only", ActType::i8, {"host"}, ""), way("gpu-only", ActType::f32, {"opencl:0"}),
                      way("gpu-only", ActType::i8, {"opencl:0"}), way("gpu-only", ActType::f32, {"opencl:0"}, "simt"),
                      way("gpu-only", ActType::f32, {"vulkan:0"}), way("gpu-only", ActType::f32, {"vulkan:0"}, "simt"),
                      way("layer", ActType::f16, {"opencl:0", "npu:0", "host"}),
                      way("tensor", ActType::f16, {"opencl:0", "npu:0", "host"}),
                      way("sequence", ActType::f16, {"opencl:0", "npu:0", "host"}),
                      way("staggered", ActType::f16, {"opencl:0", "npu:0", "host"}),
                      way("npumoe", ActType::f16, {"opencl:0", "npu:0", "host"}),
                      way("npu-only", ActType::f16, {"npu:0", "host"}, "")),
    test_name);

// `auto` may put experts that stay on the NPU. This model is exact there, so no plan changes a bit.
TEST_F(MovingExpertsTest, change_no_bit_of_a_trained_mixture_whatever_auto_chooses) {
  const auto file = test_data("moe-mix/moe-mix-Q4_0.gguf");
  if (!file) SKIP_FOR_WANT_OF(data, "no moe-mix");
  const Way automatic = way("auto", ActType::f16, {"opencl:0", "npu:0", "host"});
  need_devices(automatic);
  SKIP_WHERE_SUMS_DIFFER(ActType::f16);
  const std::vector<float> expected = logits_of(*Engine::open(options(*file, automatic)));
  for (const double share : {7, 30, 75}) {
    const auto engine = Engine::open(options(*file, automatic, {percent, share}));
    EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u) << share << " %";
  }
}

TEST_F(MovingExpertsTest, write_the_text_that_all_experts_write_for_one_text_and_for_many) {
  const std::string file = kMixtures[0].file();
  EngineOptions plain = options(file, host()), moving = options(file, host(), {percent, 30});
  plain.sequences = moving.sequences = 4;
  plain.drafts = moving.drafts = true;
  const auto expected = Engine::open(plain), engine = Engine::open(moving);
  for (const int prompt : {3, 60})
    EXPECT_EQ(generate(*engine, some_ids(prompt), so_many(40)).ids,
              generate(*expected, some_ids(prompt), so_many(40)).ids);
  for (Engine* each : {expected.get(), engine.get()}) ASSERT_EQ(each->options().sequences, 4);
  // Four texts of other lengths in one pass.
  std::vector<Sequence> a, b;
  for (int text = 0; text < 4; ++text) {
    a.push_back(expected->cache().new_sequence());
    b.push_back(engine->cache().new_sequence());
  }
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<std::vector<int32_t>> ids;
    for (int text = 0; text < 4; ++text) ids.push_back(some_ids(1 + 7 * text * (pass == 0)));
    const auto run = [&](Engine& on, std::vector<Sequence>& texts) {
      std::vector<Extension> extensions;
      for (size_t text = 0; text < 4; ++text) extensions.push_back({.sequence = &texts[text], .ids = ids[text]});
      const Logits logits = on.extend(extensions);
      return std::vector<float>(logits.begin(), logits.end());
    };
    EXPECT_EQ(different_bits(run(*engine, b), run(*expected, a)), 0u);
  }
}

TEST_F(MovingExpertsTest, are_counted_for_prompts_and_text_apart) {
  const auto engine = open(kMixtures[0].file(), {percent, 50});  // 3 layers, 2 of 8 experts, 4 slots
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(60));
  const ExpertStore& store = store_of(*engine);
  const ExpertStore::Totals prompt = store.of_prompts();
  EXPECT_EQ(prompt.choices, (60 + 60 + 1) * 2) << "the last layer runs for the token with logits alone";
  EXPECT_GE(prompt.loads, 2 * 8 - 2);
  EXPECT_EQ(prompt.read_bytes % static_cast<uint64_t>(prompt.loads), 0u);
  EXPECT_EQ(store.of_text().choices, 0);
  for (int i = 0; i < 10; ++i) extend(*engine, text, some_ids(1));
  EXPECT_EQ(store.of_prompts().choices, prompt.choices);
  EXPECT_EQ(store.of_text().choices, 10 * 3 * 2);
  EXPECT_LE(store.of_text().hits, store.of_text().choices);
  EXPECT_GT(store.of_text().hits, 0) << "one token again and again";
  EXPECT_GT(store.evictions(), 0);
  EXPECT_EQ(store.bytes(), 3 * 4 * (prompt.read_bytes / static_cast<uint64_t>(prompt.loads)));
}

// A prompt may be shorter than the drafts of a text, and twelve texts have more tokens in a pass than a short prompt.
TEST_F(MovingExpertsTest, are_counted_by_what_a_pass_reads_and_not_by_its_length) {
  EngineOptions many = options(kMixtures[0].file(), host(), {percent, 50});
  many.sequences = 12;
  const auto engine = Engine::open(many);
  const ExpertStore& store = store_of(*engine);
  std::vector<Sequence> texts;
  std::vector<Extension> prompts, tokens;
  const std::vector<int32_t> prompt = some_ids(2), token = some_ids(1);
  for (int text = 0; text < 12; ++text) texts.push_back(engine->cache().new_sequence());
  for (Sequence& text : texts) {
    prompts.push_back({.sequence = &text, .ids = prompt});
    tokens.push_back({.sequence = &text, .ids = token});
  }
  engine->extend(std::span(prompts).first(1));
  EXPECT_EQ(store.of_text().choices, 0) << "a prompt of two tokens";
  engine->extend(std::span(prompts).subspan(1));
  const int64_t read = store.of_prompts().choices;
  EXPECT_EQ(read, 12 * (2 + 2 + 1) * 2);
  engine->extend(tokens);
  EXPECT_EQ(store.of_prompts().choices, read);
  EXPECT_EQ(store.of_text().choices, 12 * 3 * 2);
}

TEST_F(MovingExpertsTest, read_the_file_that_another_engine_kept_from_its_memory) {
  const std::string file = kMixtures[1].file();
  const std::vector<float> expected = logits_of(*open(file));
  EngineOptions keeping = options(file, host());
  keeping.pack_cache_folder = keeping.expert_folder;
  Engine::open(keeping).reset();
  const std::string kept = content(packed());
  EXPECT_EQ(different_bits(logits_of(*open(file, {percent, 30})), expected), 0u);
  EXPECT_EQ(content(packed()), kept) << "it is not written again";
  fs::remove_all(folder_.file("packed"));
  EXPECT_EQ(different_bits(logits_of(*open(file, {percent, 30})), expected), 0u);
  EXPECT_EQ(content(packed()), kept) << "written piece by piece";
  EXPECT_EQ(different_bits(logits_of(*Engine::open(keeping)), expected), 0u) << "mapped";
}

TEST_F(MovingExpertsTest, that_are_damaged_end_their_pass_by_name_and_leave_the_text) {
  const std::string file = kMixtures[0].file();
  const auto engine = open(file, {percent, 50}), plain = open(file);
  const std::vector<ExpertRecords>& records = engine->model().model().weights.records;
  ASSERT_EQ(records.size(), 3u);
  // The records of layer 1 lie behind each other, and its slot ends with them.
  Sequence text = engine->cache().new_sequence(), other = plain->cache().new_sequence();
  extend(*engine, text, some_ids(1));
  extend(*plain, other, some_ids(1));
  const std::string whole = content(packed());
  const uint64_t first = first_record(file, packed(), records[1]);
  flip_experts(packed(), first, records[1]);
  const std::string message = message_of([&] { extend(*engine, text, some_ids(50)); });
  EXPECT_THAT(message, HasSubstr(packed() + ": layer 1, expert"));
  EXPECT_THAT(message, HasSubstr("damaged"));
  EXPECT_EQ(text.position(), 1);
  flip_experts(packed(), first, records[1]);
  ASSERT_EQ(content(packed()), whole);
  const Logits logits = extend(*engine, text, some_ids(50)), expected = extend(*plain, other, some_ids(50));
  EXPECT_EQ(different_bits(logits, expected), 0u);
}

TEST_F(MovingExpertsTest, whose_file_is_cut_end_their_pass_by_name) {
  const auto engine = open(kMixtures[0].file(), {percent, 50});
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(1));
  const auto whole = fs::file_size(packed());
  for (const uintmax_t bytes : {whole / 2, uintmax_t{0}}) {
    fs::resize_file(packed(), bytes);
    EXPECT_THAT(message_of([&] { extend(*engine, text, some_ids(90)); }), HasSubstr(packed()));
    EXPECT_EQ(text.position(), 1);
  }
}

TEST_F(MovingExpertsTest, need_a_folder_and_stay_off_graphs) {
  const std::string file = kMixtures[0].file();
  EngineOptions nowhere = options(file, host(), {percent, 50});
  nowhere.expert_folder.clear();
  EXPECT_THAT(message_of([&] { Engine::open(nowhere); }), HasSubstr("no place for packed weights"));
  EngineOptions unwritable = options(file, host(), {percent, 50});
  unwritable.expert_folder = "/proc/nowhere";
  EXPECT_THAT(message_of([&] { Engine::open(unwritable); }), HasSubstr("/proc/nowhere"));
  EngineOptions with_graphs = options(file, host(), {percent, 50});
  with_graphs.npu_memory_bytes = uint64_t{1} << 30;
  EXPECT_THAT(message_of([&] { Engine::open(with_graphs); }), HasSubstr("experts that move have no graphs"));
}

// A pass of a token copies the experts that it misses, and not the slots of whole layers.
TEST_F(MovingExpertsTest, cross_the_bus_of_a_card_only_if_they_change) {
  for (const char* id : {"opencl:0", "vulkan:0"}) {
    SCOPED_TRACE(id);
    need_devices(card(id, ActType::f32));
    if (IsSkipped()) return;
    EngineOptions options = this->options(kMixtures[0].file(), card(id, ActType::f32), {percent, 63});
    options.hot_experts = false;
    const auto engine = Engine::open(options);
    const ExpertStore& store = store_of(*engine);
    ASSERT_EQ(store.slots(), 5) << "of 8";
    Sequence text = engine->cache().new_sequence();
    const DeviceLab& lab = lab_of(*engine->machine().devices().front());
    extend(*engine, text, some_ids(30));
    const size_t expert = store.expert_bytes(), layers = store.moving().size();
    bool quiet = false, moved = false;
    for (int token = 0; token < 40; ++token) {
      const uint64_t before = lab.copied_bytes();
      const int64_t loads = store.of_text().loads;
      const std::vector<int32_t> ids = {7 + token % 3};
      extend(*engine, text, ids);
      const auto loaded = static_cast<uint64_t>(store.of_text().loads - loads);
      const uint64_t copied = lab.copied_bytes() - before;
      EXPECT_GE(copied, loaded * expert);
      EXPECT_LT(copied, loaded * expert + layers * expert) << "what else a token needs is less than its experts";
      quiet = quiet || loaded == 0;
      moved = moved || loaded > 0;
    }
    EXPECT_TRUE(moved);
    EXPECT_TRUE(quiet) << "a token that finds all of its experts";
  }
}

// A text of 144 tokens may be looked at once in two of its runs.
TEST_F(MovingExpertsTest, give_slots_back_when_memory_runs_short_and_take_them_again) {
  const std::string file = kMixtures[0].file();
  const std::vector<float> expected = logits_of(*open(file));
  sync::Pool pool;
  const GgufFile opened = GgufFile::open(file);
  const ModelLoading loading(opened, pool);
  const std::vector<size_t> slot_bytes = loading.slot_bytes();
  const PackedSizes sizes = packed_sizes(loading.records(), slot_bytes);
  const auto whole = static_cast<uint64_t>(
      (static_cast<double>(sizes.other_bytes) + 4.5 * static_cast<double>(sizes.layer_bytes())) / 0.85);
  uint64_t free = whole;
  EngineOptions automatic = options(file, host());
  automatic.free_memory = [&free] { return free; };
  automatic.hot_experts = false;
  const auto engine = Engine::open(automatic);
  ASSERT_NE(engine->model().expert_store(), nullptr);
  const ExpertStore& store = store_of(*engine);
  ASSERT_EQ(store.slots(), 4);
  free = 0;
  for (int text = 0; text < 8; ++text) ASSERT_EQ(different_bits(logits_of(*engine), expected), 0u) << store.slots();
  EXPECT_EQ(store.slots(), 1);
  EXPECT_EQ(store.slot_changes().given_back, 3);
  for (const MovingExperts& moving : engine->model().model().weights.moving) {
    EXPECT_EQ(moving.given_back, 3);
    const auto* memory = moving.experts.as<const std::byte>();
    EXPECT_TRUE(std::all_of(memory + moving.slot_bytes, memory + 4 * moving.slot_bytes, [](std::byte each) {
      return each == std::byte{0};
    })) << "the system has the pages";
  }
  free = whole;
  for (int text = 0; text < 4; ++text) ASSERT_EQ(different_bits(logits_of(*engine), expected), 0u) << store.slots();
  EXPECT_EQ(store.slots(), 4);
  EXPECT_EQ(store.slot_changes().taken_again, 3);
}

TEST_F(MovingExpertsTest, keep_the_slots_that_the_user_asked_for) {
  EngineOptions asked = options(kMixtures[0].file(), host(), {percent, 50});
  asked.free_memory = [] { return uint64_t{0}; };
  const auto engine = Engine::open(asked);
  for (int text = 0; text < 4; ++text) logits_of(*engine);
  EXPECT_EQ(store_of(*engine).slots(), 4);
}

TEST_F(MovingExpertsTest, are_announced) {
  const auto engine = open(kMixtures[0].file(), {percent, 50});
  EXPECT_THAT(engine->diagnostics(), ::testing::Contains(HasSubstr("4 of 8 experts of each layer are in memory")));
}

}  // namespace
}  // namespace tandem::testing
