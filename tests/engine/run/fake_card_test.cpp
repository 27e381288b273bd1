// Texts on a machine with a fast discrete card (tests/engine/run/fake_card.h). The card alone runs them, from the first
// text on if that is faster.
#include "tests/engine/run/fake_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "engine/device/registry.h"
#include "engine/run/machine/kernel_set.h"
#include "engine/run/machine/warming.h"
#include "tests/engine/run/divided_experts.h"
#include "tests/engine/run/host_engine.h"
#include "tests/support/requirements.h"

namespace tandem::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// A warming program that ends immediately and compiles nothing.
constexpr const char* kNoWarming = "/bin/true";

class OnACard : public ::testing::Test {
 protected:
  void SetUp() override {
    available_devices();  // tries drivers once, not for each of these folders
    setenv("XDG_CACHE_HOME", folder_.file("").c_str(), 1);
  }
  void TearDown() override { before_ ? setenv("XDG_CACHE_HOME", before_->c_str(), 1) : unsetenv("XDG_CACHE_HOME"); }

  // The options of `tandem run` without --device and --plan.
  EngineOptions options(const std::string& warming_program = "") const {
    EngineOptions options;
    options.model_path = files_.path();
    options.context = 128;
    options.warming_program = warming_program;
    options.measurements = folder_.file("measured.json");
    return options;
  }
  // tokens: -1 if the length is unknown. A few tokens are far too short to pay for a compiler.
  EngineOptions first_text(int64_t tokens) const {
    EngineOptions options = this->options(kNoWarming);
    options.first_text = {8, tokens};
    return options;
  }
  Warming warming(ActType act) const {
    const GgufFile file = GgufFile::open(files_.path());
    return {kernels_mark(file, read_config(file), KvType::f16, act, KernelsFor::one_text), kNoWarming};
  }
  // Marks the kernels of one text and of many.
  void mark_compiled() const {
    const GgufFile file = GgufFile::open(files_.path());
    for (const KernelsFor texts : {KernelsFor::one_text, KernelsFor::many_texts})
      Warming(kernels_mark(file, read_config(file), KvType::f16, ActType::f32, texts), kNoWarming).mark();
  }
  static std::vector<std::string> plans_of(Engine& engine, std::initializer_list<int64_t> tokens) {
    std::vector<std::string> plans;
    for (const int64_t each : tokens) plans.push_back(engine.plans().planner().plan_for({each, 1}, 0).name);
    return plans;
  }
  static size_t weight_bytes(const Engine& engine) {
    size_t bytes = 0;
    for (const sync::Slot* slot : engine.model().model().weights.slots) bytes += slot->size_bytes();
    return bytes;
  }
  static void write(Engine& engine, Sequence& text, int tokens) {
    for (const int32_t id : some_ids(tokens)) extend(engine, text, std::span(&id, 1));
  }
  static void write(Engine& engine, int tokens) {
    Sequence text = engine.cache().new_sequence();
    write(engine, text, tokens);
  }
  static std::vector<float> logits_of(Engine& engine, std::span<const int32_t> ids) {
    Sequence text = engine.cache().new_sequence();
    const Logits logits = extend(engine, text, ids);
    return {logits.begin(), logits.end()};
  }

  // Who names the card, or a plan for it, is told why it cannot be had.
  void expect_error_where_it_is_named(const std::string& device, const std::string& message) {
    EngineOptions named = options(), plan = options();
    named.devices = {device};
    plan.plan = "gpu-only";
    for (const EngineOptions& asked : {named, plan})
      EXPECT_THAT(message_of([&] { Engine::open(asked); }), HasSubstr(message));
  }

  const test::FakeCard card_;
  const HostEngines files_{"fake_card"};
  const ScratchFolder folder_;
  const std::optional<std::string> before_ =
      std::getenv("XDG_CACHE_HOME") ? std::optional<std::string>(std::getenv("XDG_CACHE_HOME")) : std::nullopt;
};

TEST_F(OnACard, two_interfaces_are_one_choice_and_the_faster_one_is_taken) {
  test::fake_cl().known.look_seconds = 60e-6;
  test::fake_vk().known.look_seconds = 40e-6;
  EXPECT_EQ(best_gpu(), "fakevk:0");
  std::swap(test::fake_cl().known.look_seconds, test::fake_vk().known.look_seconds);
  EXPECT_EQ(best_gpu(), "fakecl:0");
  EXPECT_EQ(Engine::open(options())->machine().device_names(), "fakecl:0");
  EXPECT_EQ(test::fake_vk().opened, 0) << "nobody opens the other one";
}

TEST_F(OnACard, of_two_interfaces_that_are_as_fast_the_one_that_shares_memory_is_taken) {
  test::fake_cl().known.look_seconds = 40e-6;
  test::fake_vk().known.look_seconds = 44e-6;
  test::fake_cl().known.shares_memory = false;
  test::fake_cl().known.policies = 2;
  EXPECT_EQ(best_gpu(), "fakevk:0");
  test::fake_cl().known.shares_memory = true;
  EXPECT_EQ(best_gpu(), "fakevk:0") << "it has more ways of waiting";
  test::fake_cl().known.policies = test::fake_vk().known.policies;
  EXPECT_EQ(best_gpu(), "fakecl:0") << "nothing tells them apart";
}

TEST_F(OnACard, two_cards_are_no_interfaces_to_one) {
  test::fake_vk().known.card = {"00000000000000000000000000000001", "0000:66:00.0"};
  test::fake_vk().known.look_seconds = 1e-6;
  test::fake_cl().known.look_seconds = 9e-6;
  EXPECT_EQ(best_gpu(), "fakecl:0") << "the first one";
  test::fake_vk().known.card.pci = test::fake_cl().known.card.pci;
  EXPECT_EQ(best_gpu(), "fakevk:0") << "one place on the bus is one card";
}

TEST_F(OnACard, nobody_who_names_no_devices_gets_an_npu_or_the_host_beside_it) {
  test::fake_cl().known.shares_memory = false;
  const auto engine = Engine::open(options());
  EXPECT_EQ(engine->machine().device_names(), "fakevk:0");
  EXPECT_EQ(engine->options().act, ActType::f32) << "nothing rounds";
  EXPECT_THAT(plans_of(*engine, {1, 40}), Each("gpu-only"));
  EXPECT_THAT(
      engine->diagnostics(),
      Contains(AllOf(HasSubstr("fakevk:0?copies=1 runs everything, without the NPU and the host"),
                     HasSubstr("fakecl:0 leads to the same card"), HasSubstr("it shares memory with the host"))));
  EXPECT_FALSE(engine->contract().bits_depend_on_passes);
}

TEST_F(OnACard, keys_and_values_lie_in_its_own_memory_unless_a_user_names_it) {
  EXPECT_FALSE(Engine::open(options())->machine().zero_copy()) << "nothing is read over the bus";
  EXPECT_EQ(test::fake_cl().copies, 1);
  EngineOptions alone = options();
  alone.plan = "gpu-only";
  Engine::open(alone);
  EXPECT_EQ(test::fake_cl().copies, 2);
  EngineOptions named = options();
  named.devices = {"fakecl:0"};
  EXPECT_TRUE(Engine::open(named)->machine().zero_copy());
  EXPECT_EQ(test::fake_cl().copies, 2);
  test::fake_cl().known.discrete = test::fake_vk().known.discrete = false;
  Engine::open(options());
  EXPECT_EQ(test::fake_cl().copies, 2) << "this memory is the host's";
}

TEST_F(OnACard, a_plan_that_needs_an_npu_has_one) {
  EngineOptions tensor = options();
  tensor.plan = "tensor";
  EXPECT_EQ(Engine::open(tensor)->machine().device_names(), "fakecl:0,npu:0,host");
}

TEST_F(OnACard, who_names_devices_gets_them_and_the_card_still_runs_alone_first) {
  EngineOptions named = options();
  named.devices = {"fakevk:0", "npu:0", "host"};
  const auto engine = Engine::open(named);
  EXPECT_EQ(engine->machine().device_names(), "fakevk:0,npu:0,host");
  EXPECT_THAT(plans_of(*engine, {1, 2, 40, 64}), Each("gpu-only"));
  write(*engine, 20);
  EXPECT_EQ(engine->plans().ran().list().front().plan, "gpu-only");
}

TEST_F(OnACard, texts_go_on_without_it_if_it_cannot_be_opened) {
  test::fake_cl().fails = test::fake_vk().fails = "Restart the machine";
  const auto engine = Engine::open(options());
  EXPECT_EQ(engine->machine().device_names(), "npu:0,host");
  EXPECT_THAT(engine->diagnostics(), Contains(AllOf(HasSubstr("is left out, because it cannot be opened: "),
                                                    HasSubstr("a card does not answer: fakecl:0"))));
  expect_error_where_it_is_named("fakecl:0", "a card does not answer");
}

// The card opens, and then its driver makes no program. Its other interface is tried first.
TEST_F(OnACard, texts_go_on_without_it_if_it_fails_at_the_start) {
  test::fake_vk().known.look_seconds = 1e-6;
  test::fake_vk().prepares_nothing = "Update the driver";
  test::fake_cl().known.look_seconds = 9e-6;
  const auto other = Engine::open(options());
  EXPECT_EQ(other->machine().device_names(), "fakecl:0");
  const auto left_out = AllOf(HasSubstr("fakevk:0 (a fake card) is left out: it failed at the start: "),
                              HasSubstr("a card compiles no kernel"), HasSubstr("Update the driver"));
  EXPECT_THAT(other->diagnostics(), Contains(left_out));

  test::fake_cl().prepares_nothing = "Update the driver";
  const auto without = Engine::open(options()), host = files_.open();
  EXPECT_EQ(without->machine().device_names(), "npu:0,host");
  EXPECT_THAT(without->diagnostics(), Contains(left_out));
  write(*without, 2);

  expect_error_where_it_is_named("fakevk:0", "a card compiles no kernel");
}

// Compiling takes seconds, and a plan that cannot be made needs no kernels.
TEST_F(OnACard, a_plan_that_cannot_be_made_is_refused_before_kernels_are) {
  test::fake_vk().prepares_nothing = "Update the driver";
  EngineOptions asked = options();
  asked.devices = {"fakevk:0"};
  asked.plan = "layer";
  EXPECT_THAT(message_of([&] { Engine::open(asked); }), AllOf(HasSubstr("layer"), Not(HasSubstr("kernel"))));
}

// Without the card the same is wrong, so the first message stays.
TEST_F(OnACard, is_not_left_out_for_what_others_refuse_too) {
  EngineOptions asked = options();
  asked.split = {0.7, 0.7};
  const std::string message = message_of([&] { Engine::open(asked); });
  EXPECT_THAT(message, Not(HasSubstr("left out")));
  EXPECT_GT(message.size(), 0u);
}

TEST_F(OnACard, an_operator_that_it_refuses_is_the_hosts) {
  test::fake_cl().refuses = test::fake_vk().refuses = "swiglu";
  const auto engine = Engine::open(options()), host = files_.open();
  EXPECT_EQ(engine->machine().device_names(), "fakecl:0,host");
  EXPECT_THAT(engine->diagnostics(), Contains(HasSubstr("does not run swiglu: the fake card was told to")));
  const Plan plan = engine->plans().planner().plan_for({1, 1}, 0);
  EXPECT_EQ(plan.name, "gpu-only");
  for (const Step& step : plan.steps)
    for (const Operator& op : step.operators)
      EXPECT_EQ(plan.devices[static_cast<size_t>(step.device)],
                kind_name(op) == std::string("swiglu") ? "host" : "fakecl:0");
  const std::vector<int32_t> ids = some_ids(9);
  EXPECT_EQ(logits_of(*engine, ids), logits_of(*host, ids));
}

TEST_F(OnACard, an_engine_that_was_here_before_goes_on_beside_the_host_of_a_later_one) {
  test::fake_cl().refuses = test::fake_vk().refuses = "bias";
  TinyModel model;
  model.architecture = "qwen2", model.qkv_bias = true;
  const HostEngines biased("biased", model);
  const std::vector<int32_t> ids = some_ids(9);
  const auto first = Engine::open(options()), host = files_.open(), host_of_biased = biased.open();
  EXPECT_EQ(first->machine().device_names(), "fakecl:0");
  Sequence of_first = first->cache().new_sequence(), of_host = host->cache().new_sequence();
  EXPECT_TRUE(std::ranges::equal(extend(*first, of_first, ids), extend(*host, of_host, ids)));
  EngineOptions more = options();
  more.model_path = biased.path();
  Engine later(std::make_shared<LoadedModel>(first->model().machine(), more), more);
  EXPECT_EQ(later.machine().device_names(), "fakecl:0,host");
  EXPECT_EQ(logits_of(later, ids), logits_of(*host_of_biased, ids));
  EXPECT_TRUE(std::ranges::equal(extend(*first, of_first, ids), extend(*host, of_host, ids)));
}

// The text's keys and values are on the card.
TEST_F(OnACard, the_host_does_not_go_on_with_a_text_of_a_card_that_shares_no_memory) {
  EngineOptions named = options();
  named.devices = {"fakecl:0", "host"};
  const auto sharing = Engine::open(named);
  test::fake_cl().known.shares_memory = false;
  const auto copying = Engine::open(named);
  EXPECT_TRUE(sharing->machine().zero_copy());
  EXPECT_FALSE(copying->machine().zero_copy());
  write(*copying, 40);
  for (const PlanRan& ran : copying->plans().ran().list()) EXPECT_EQ(ran.plan, "gpu-only");
}

TEST_F(OnACard, a_first_text_that_is_long_enough_waits_for_its_kernels) {
  {
    const auto engine = Engine::open(first_text(-1));
    EXPECT_FALSE(engine->machine().waits_for_gpu());
    EXPECT_EQ(engine->machine().device_names(), "fakecl:0");
    EXPECT_THAT(engine->diagnostics(), Contains(HasSubstr("waits until the kernels of fakecl:0 are compiled")));
    EXPECT_FALSE(warming(ActType::f32).done());
    engine->prewarm(0, 5, true);
    logits_of(*engine, some_ids(5));
    EXPECT_FALSE(warming(ActType::f32).done()) << "single tokens have kernels of their own";
    write(*engine, 1);
    EXPECT_TRUE(warming(ActType::f32).done());
    for (const PlanRan& ran : engine->plans().ran().list()) EXPECT_EQ(ran.plan, "gpu-only");
  }
  const auto second = Engine::open(first_text(1));
  EXPECT_EQ(second->machine().device_names(), "fakecl:0");
  EXPECT_THAT(second->diagnostics(), Each(Not(HasSubstr("compile"))));
}

TEST_F(OnACard, a_first_text_that_is_too_short_for_that_begins_on_the_host_and_goes_on_on_the_card) {
  const auto engine = Engine::open(first_text(4)), host = files_.open();
  EXPECT_TRUE(engine->machine().waits_for_gpu());
  EXPECT_EQ(engine->machine().device_names(), "host") << "an NPU would round, and the card does not";
  EXPECT_EQ(engine->options().act, ActType::f32);
  EXPECT_THAT(engine->diagnostics(), Contains(HasSubstr("begins without fakecl:0, which joins when its kernels are")));
  Sequence text = engine->cache().new_sequence(), alone = host->cache().new_sequence();
  const auto expect_same = [&](int tokens) {
    for (const int32_t id : some_ids(tokens))
      EXPECT_TRUE(
          std::ranges::equal(extend(*engine, text, std::span(&id, 1)), extend(*host, alone, std::span(&id, 1))));
  };
  expect_same(3);
  EXPECT_EQ(test::fake_cl().opened, 0);
  warming(ActType::f32).mark();
  expect_same(3);
  EXPECT_EQ(engine->machine().device_names(), "fakecl:0");
  EXPECT_FALSE(engine->machine().waits_for_gpu());
  EXPECT_EQ(engine->plans().planner().plan_for({1, 1}, 0).name, "gpu-only");
  EXPECT_EQ(engine->contract().other_bits, host->contract().other_bits) << "a card has the sums of all devices";
}

// The card's memory holds nothing of the texts before it joins. Two texts share a part of a page. Devices that copy
// memory as cards do compute for the card.
class OnACardOfAnInterface : public OnACard, public ::testing::WithParamInterface<std::string> {};

TEST_P(OnACardOfAnInterface, texts_go_on_in_its_own_memory) {
  if (std::ranges::count(available_devices(), GetParam()) == 0)
    SKIP_OR_FAIL(test::needs_of(GetParam()), "there is no " + GetParam());
  test::fake_cl().runs_on = test::fake_vk().runs_on = GetParam();
  EngineOptions two = first_text(4), named = options();
  two.sequences = two.logit_rows = named.sequences = named.logit_rows = 3;
  named.plan = "host-only";
  const auto engine = Engine::open(two), host = Engine::open(named);
  const std::vector<int32_t> ids = some_ids(40), next = {7, 9};
  const auto read = [&](Engine& reader) {
    std::vector<Sequence> texts;
    texts.push_back(reader.cache().new_sequence());
    extend(reader, texts[0], ids);
    texts.push_back(reader.cache().fork(texts[0], 33));
    return texts;
  };
  const auto write = [&](Engine& writer, std::vector<Sequence>& texts) {
    const auto one = std::span(next).first(1);
    const Logits logits = writer.extend(std::vector<Extension>{{&texts[0], one}, {&texts[1], next}});
    return std::vector<float>(logits.begin(), logits.end());
  };
  std::vector<Sequence> texts = read(*engine), alone = read(*host);
  mark_compiled();
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(write(*engine, texts), write(*host, alone)) << "pass " << pass;
    const bool waits = GetParam() == "vulkan:0";  // lavapipe's fma is not fused, so a text would change its bits
    EXPECT_EQ(engine->machine().device_names(), waits ? "host" : "fakecl:0");
    EXPECT_EQ(engine->machine().waits_for_gpu(), waits);
  }
  texts.clear();
  OnACard::write(*engine, 1);
  EXPECT_EQ(engine->machine().device_names(), "fakecl:0");
  EXPECT_FALSE(engine->machine().zero_copy());
}

INSTANTIATE_TEST_SUITE_P(Interfaces, OnACardOfAnInterface, ::testing::Values("opencl:0", "vulkan:0"),
                         [](const auto& test) { return test.param.substr(0, 6); });

// These texts are shorter than a page.
TEST_F(OnACard, texts_that_are_continued_do_not_run_again) {
  warming(ActType::f32).mark();
  EngineOptions two = options();
  two.sequences = 2;
  const auto engine = Engine::open(two);
  ASSERT_EQ(engine->machine().device_names(), "fakecl:0");
  Batcher batcher(*engine, 1);
  Generation written;
  const auto write = [&](const std::vector<int32_t>& prompt) {
    batcher.add(prompt, so_many(3), [&](Batcher::Result result) { written = std::move(result.generation); });
    while (batcher.step()) {
    }
  };
  std::vector<int32_t> text = some_ids(40);
  write(text);
  text.insert(text.end(), written.ids.begin(), written.ids.end());
  text.push_back(7);
  write(text);
  EXPECT_EQ(written.cached_prefix_tokens, 42);
  EXPECT_EQ(written.ids, generate(*engine, text, so_many(3)).ids);
}

TEST_F(OnACard, what_compiling_took_is_known_the_next_time) {
  const KnownGpu card = test::fake_cl().known;
  {
    const auto engine = Engine::open(first_text(-1));
    EXPECT_EQ(engine->machine().last_compile_seconds(card), 0);
    engine->prewarm(0, 5, true);
    write(*engine, 1);
    EXPECT_GT(engine->machine().last_compile_seconds(card), 0);
  }
  EXPECT_GT(Engine::open(options())->machine().last_compile_seconds(card), 0) << "on disk";
}

// The host fetches what the card's memory does not hold.
TEST_F(OnACard, experts_move_if_they_do_not_fit_its_memory) {
  test::fake_cl().refuses = test::fake_vk().refuses = "expert_fetch";
  const std::string file = kDivided[0].file();
  EngineOptions mixture = options(), host = files_.options(64);
  mixture.model_path = host.model_path = file;
  mixture.expert_folder = folder_.file("packed");
  const auto fits = Engine::open(mixture), alone = Engine::open(host);
  EXPECT_EQ(fits->model().expert_store(), nullptr);
  EXPECT_EQ(fits->machine().device_names(), "fakecl:0");
  const std::vector<int32_t> ids = some_ids(9);
  const std::vector<float> expected = logits_of(*alone, ids);
  EXPECT_EQ(logits_of(*fits, ids), expected);
  test::fake_cl().memory_bytes = test::fake_vk().memory_bytes = static_cast<int64_t>(weight_bytes(*fits)) * 3 / 4;
  const auto engine = Engine::open(mixture);
  ASSERT_NE(engine->model().expert_store(), nullptr);
  EXPECT_EQ(engine->machine().device_names(), "fakecl:0,host");
  EXPECT_EQ(logits_of(*engine, ids), expected);
  EXPECT_GT(engine->model().expert_store()->of_prompts().choices, 0);
  test::fake_cl().memory_bytes = test::fake_vk().memory_bytes = 1000;
  const auto without = Engine::open(mixture);
  EXPECT_EQ(without->machine().device_names(), "npu:0,host");
  EXPECT_THAT(without->diagnostics(), Contains(HasSubstr("the memory of fakecl:0")));
}

TEST_F(OnACard, works_in_the_hosts_memory_or_not_at_all_if_weights_do_not_fit_its_own) {
  const std::vector<int32_t> ids = some_ids(9);
  const std::vector<float> expected = logits_of(*files_.open(), ids);
  test::fake_cl().memory_bytes = test::fake_vk().memory_bytes = 1000;
  EngineOptions exact = options();
  exact.act = ActType::f32;
  const auto sharing = Engine::open(exact);
  EXPECT_EQ(sharing->machine().device_names(), "fakecl:0");
  EXPECT_TRUE(sharing->machine().zero_copy());
  EXPECT_THAT(sharing->diagnostics(), Contains(HasSubstr("fakecl:0 works in the host's memory: ")));
  EXPECT_EQ(logits_of(*sharing, ids), expected);
  test::fake_cl().known.shares_memory = test::fake_vk().known.shares_memory = false;
  const auto without = Engine::open(exact);
  EXPECT_EQ(without->machine().device_names(), "npu:0,host");
  EXPECT_THAT(without->diagnostics(), Contains(HasSubstr("fakecl:0 is left out: ")));
  write(*without, 2);
  EngineOptions named = exact;
  named.devices = {"fakecl:0"};
  EXPECT_EQ(Engine::open(named)->machine().device_names(), "fakecl:0") << "the user has named it";
}

TEST_F(OnACard, joins_no_text_whose_weights_do_not_fit_its_memory) {
  test::fake_cl().memory_bytes = test::fake_vk().memory_bytes = 1000;
  const auto engine = Engine::open(first_text(4));
  Sequence text = engine->cache().new_sequence();
  write(*engine, text, 2);
  warming(ActType::f32).mark();
  write(*engine, text, 2);
  EXPECT_EQ(engine->machine().device_names(), "host");
  EXPECT_FALSE(engine->machine().waits_for_gpu());
  EXPECT_THAT(engine->diagnostics(), Contains(HasSubstr("fakecl:0 takes no part, because its memory does not hold")));
  write(*engine, text, 2);
  EXPECT_EQ(test::fake_cl().opened, 1) << "it is not tried again";
}

TEST_F(OnACard, is_no_card_where_it_has_no_memory_of_its_own) {
  test::fake_cl().known.discrete = test::fake_vk().known.discrete = false;
  EXPECT_FALSE(default_card());
  EXPECT_EQ(Engine::open(options())->machine().device_names(), "fakecl:0,npu:0,host");
  test::fake_vk().known.discrete = true;
  ASSERT_TRUE(default_card()) << "one of its interfaces may not know";
  EXPECT_EQ(default_card()->id, "fakecl:0");
}

}  // namespace
}  // namespace tandem::testing
