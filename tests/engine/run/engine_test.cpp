// The engine on a random model that the test writes itself. The tests need no data and no driver.
#include "engine/run/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>

#include "engine/device/operators/kv_cache.h"
#include "engine/run/serve/generate.h"
#include "sync/error.h"
#include "tests/engine/run/golden.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/message_of.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {
namespace {

using test::message_of;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TinyEngine : public ::testing::Test {
 protected:
  TinyEngine() {
    TinyModel model;
    model.type = StorageType::f16;
    write_file(path_, write_gguf(model));
  }

  EngineOptions options(const std::string& plan, std::vector<std::string> devices, int64_t chunk = 64) const {
    EngineOptions o;
    o.model_path = path_;
    o.plan = plan;
    o.devices = std::move(devices);
    o.act = ActType::f16;
    o.chunk = o.logit_rows = chunk;
    o.measurements = "";
    return o;
  }
  std::unique_ptr<Engine> host() const { return Engine::open(options("host-only", {"host"})); }
  static std::vector<int32_t> ids(int count) {
    std::vector<int32_t> list;
    for (int i = 0; i < count; ++i) list.push_back(3 + (i * i + 5 * i) % 300);
    return list;
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.file("tiny.gguf");
};

TEST_F(TinyEngine, gives_the_same_bits_on_every_plan_and_in_every_piece_size) {
  const auto prompt = ids(50);
  const auto expected = all_logits(*host(), prompt);
  ASSERT_EQ(expected.size(), 50u * 320u);
  for (const char* plan : {"layer", "tensor", "npu-only", "staggered"}) {
    for (int64_t chunk : {1, 7, 64}) {
      EngineOptions o = options(plan, {"npu:0", "host"}, chunk);
      o.split = {0.5};
      EXPECT_EQ(different_bits(all_logits(*Engine::open(o), prompt), expected), 0u)
          << plan << " in pieces of " << chunk;
    }
  }
}

// H7: batches of several tokens follow the NPU, and single tokens are queued ahead.
TEST_F(TinyEngine, submits_in_the_order_it_was_asked_for) {
  for (const auto& [submit, prompt, token] : {std::tuple{Submit::ahead, Dominant::gpu, Dominant::gpu},
                                              {Submit::follow, Dominant::npu, Dominant::npu},
                                              {Submit::dominant, Dominant::npu, Dominant::gpu}}) {
    EngineOptions o = options("layer", {"npu:0", "host"});
    o.submit = submit;
    const auto engine = Engine::open(o);
    EXPECT_EQ(engine->plans().planner().plan_for({8, 1}, 0).dominant, prompt) << to_string(submit);
    EXPECT_EQ(engine->plans().planner().plan_for({1, 1}, 0).dominant, token) << to_string(submit);
  }
}

TEST_F(TinyEngine, opens_the_host_beside_the_npu_only_where_a_plan_may_use_it) {
  if (!std::ranges::count(available_devices(), "opencl:0")) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  EXPECT_THAT(Engine::open(options("tensor", {}))->machine().device_names(), ::testing::EndsWith(",npu:0,host"));
  EXPECT_THAT(Engine::open(options("layer", {}))->machine().device_names(), ::testing::EndsWith(",npu:0"));
}

TEST_F(TinyEngine, gives_the_same_bits_with_the_host_on_the_npus_thread) {
  if (!std::ranges::count(available_devices(), "opencl:0")) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  const auto prompt = ids(50);
  const auto expected = all_logits(*host(), prompt);
  for (int64_t chunk : {7, 24, 64}) {
    const auto engine = Engine::open(options("sequence", {}, chunk));
    EXPECT_THAT(engine->machine().device_names(), ::testing::EndsWith("npu:0,host"));
    EXPECT_EQ(different_bits(all_logits(*engine, prompt), expected), 0u) << "in pieces of " << chunk;
  }
}

TEST_F(TinyEngine, goes_on_from_where_it_was_rewound_to) {
  const auto engine = host();
  const auto prompt = ids(20);
  Sequence text = engine->cache().new_sequence();
  const Logits expected = extend(*engine, text, prompt);
  EXPECT_EQ(text.position(), 20);
  extend(*engine, text, ids(9));
  text.rewind(12);
  EXPECT_TRUE(std::ranges::equal(extend(*engine, text, std::span(prompt).subspan(12)), expected));
  EXPECT_THROW(text.rewind(21), Error);
}

// A caller may compare the logits of several passes, and of engines that are gone.
TEST_F(TinyEngine, gives_logits_that_later_passes_and_its_end_leave_alone) {
  EngineOptions o = options("host-only", {"host"});
  o.context = 2 * kCachePage;  // room for two texts
  auto engine = Engine::open(o);
  Sequence text = engine->cache().new_sequence(), same = engine->cache().new_sequence();
  const Logits first = extend(*engine, text, ids(5)), second = extend(*engine, text, ids(3));
  EXPECT_FALSE(std::ranges::equal(first, second));
  EXPECT_TRUE(std::ranges::equal(extend(*engine, same, ids(5)), first));
  const Logits again = extend(*engine, same, ids(3));
  EXPECT_NE(again.data(), second.data()) << "two passes have two results";
  engine.reset();
  EXPECT_TRUE(std::ranges::equal(again, second));
}

// A copy is made only if somebody refers to the logits when the next pass overwrites them.
TEST_F(TinyEngine, gives_logits_without_a_copy_if_they_are_dropped_in_time) {
  const auto engine = host();
  Sequence text = engine->cache().new_sequence();
  const float* first = extend(*engine, text, ids(5)).data();
  const Logits kept = extend(*engine, text, ids(3));
  EXPECT_EQ(kept.data(), first) << "both lie in the engine's buffer";
  extend(*engine, text, ids(1));
  EXPECT_NE(kept.data(), first);
}

// Two results stay where their passes wrote them, and a third one is copied. Every plan's programs can write elsewhere.
TEST_F(TinyEngine, keeps_logits_in_place_while_later_passes_write_elsewhere) {
  std::vector<std::pair<std::string, std::vector<std::string>>> ways = {{"host-only", {"host"}}};
  const std::vector<std::string> present = available_devices();
  if (std::ranges::count(present, "opencl:0")) ways.push_back({"tensor", {"opencl:0", "npu:0"}});
  if (std::ranges::count(present, "vulkan:0")) ways.push_back({"gpu-only", {"vulkan:0"}});
  for (const auto& [plan, devices] : ways) {
    SCOPED_TRACE(plan);
    EngineOptions o = options(plan, devices);
    o.context = 4 * kCachePage;
    auto engine = Engine::open(o);
    const auto row = [&](int32_t id) {
      Sequence text = engine->cache().new_sequence();
      return extend(*engine, text, std::vector<int32_t>{1, id});
    };
    const float* buffer = row(7).data();
    std::vector<std::vector<float>> expected;
    for (const int32_t id : {5, 6, 7, 8}) {
      const Logits logits = row(id);
      EXPECT_EQ(logits.data(), buffer) << "nothing is kept yet";
      expected.emplace_back(logits.begin(), logits.end());
    }
    Logits first = row(5);
    EXPECT_TRUE(engine->keep_in_place(first));
    EXPECT_TRUE(engine->keep_in_place(first)) << "a second time";
    EXPECT_EQ(first.data(), buffer) << "without a copy";
    Logits second = row(6);
    EXPECT_TRUE(engine->keep_in_place(second));
    EXPECT_NE(second.data(), buffer);
    const Logits third = row(7);
    const float* shared = third.data();
    EXPECT_FALSE(engine->keep_in_place(third)) << "passes need one buffer";
    EXPECT_NE(third.data(), shared);
    const float* copied = third.data();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(row(8).data(), shared);
    EXPECT_EQ(first.data(), buffer);
    EXPECT_EQ(third.data(), copied);
    EXPECT_TRUE(std::ranges::equal(first, expected[0]));
    EXPECT_TRUE(std::ranges::equal(second, expected[1]));
    EXPECT_TRUE(std::ranges::equal(third, expected[2]));
    first = {};
    EXPECT_EQ(row(8).data(), buffer) << "the first buffer is free again";
    const float* place = second.data();
    engine.reset();
    EXPECT_EQ(second.data(), place);
    EXPECT_TRUE(std::ranges::equal(second, expected[1])) << "behind the engine's end";
  }
}

TEST_F(TinyEngine, refuses_what_does_not_fit_before_anything_runs) {
  EngineOptions o = options("host-only", {"host"});
  o.context = 16;
  const auto engine = Engine::open(o);
  Sequence text = engine->cache().new_sequence();
  EXPECT_THAT(message_of([&] { extend(*engine, text, ids(17)); }), HasSubstr("context"));
  EXPECT_EQ(text.position(), 0);
  extend(*engine, text, ids(16));
  EXPECT_THAT(message_of([&] { extend(*engine, text, ids(1)); }), HasSubstr("--ctx-size"));
  text.rewind(0);
  const std::vector<int32_t> wrong = {3, 320};
  EXPECT_THAT(message_of([&] { extend(*engine, text, wrong); }), HasSubstr("vocabulary"));
}

TEST_F(TinyEngine, names_what_is_wrong_with_its_options) {
  EXPECT_THAT(message_of([&] { Engine::open(options("magic", {"host"})); }), HasSubstr("magic"));
  EXPECT_THAT(message_of([&] { Engine::open(options("host-only", {"host", "host"})); }), HasSubstr("twice"));
  EXPECT_THAT(message_of([&] { Engine::open(options("host-only", {"tpu:0"})); }), HasSubstr("tpu"));
  EXPECT_THAT(message_of([&] { Engine::open(options("gpu-only", {"host"})); }), HasSubstr("GPU"));
  EngineOptions file = options("host-only", {"host"});
  file.model_path = "/nowhere.gguf";
  EXPECT_THAT(message_of([&] { Engine::open(file); }), HasSubstr("/nowhere.gguf"));
}

// A llama file may name a window as long as its trained context, here 128 tokens. Within that context the window
// changes nothing.
TEST_F(TinyEngine, refuses_a_context_that_would_feel_a_window_which_is_not_computed) {
  GgufWriter writer = tiny_writer({});
  write_file(path_, writer.set("llama.attention.sliding_window", uint32_t{128}).bytes());
  EngineOptions wide = options("host-only", {"host"});
  wide.context = 128;
  EXPECT_EQ(Engine::open(wide)->sizes().context, 128);
  wide.context = 129;
  EXPECT_THAT(message_of([&] { Engine::open(wide); }), HasSubstr("129 tokens. Take at most 128 (--ctx-size)"));
}

TEST_F(TinyEngine, says_which_operators_of_an_npu_plan_fall_back_and_refuses_when_strict) {
  const auto engine = Engine::open(options("npu-only", {"npu:0", "host"}));
  ASSERT_FALSE(engine->diagnostics().empty());
  EXPECT_THAT(engine->diagnostics().front(), HasSubstr("npu:0 does not run"));
  EngineOptions strict = options("npu-only", {"npu:0", "host"});
  strict.strict_device = true;
  EXPECT_THAT(message_of([&] { Engine::open(strict); }), HasSubstr("--strict-device"));
}

// The engine runs only passes that the caller asked for: a prompt in pieces and single tokens. It keeps their times.
TEST_F(TinyEngine, auto_runs_no_pass_but_those_it_is_asked_for_and_keeps_what_they_took) {
  EngineOptions o = options("auto", {"npu:0", "host"});
  o.measurements = path_ + ".measured.json";
  o.chunk = 8;
  {
    const auto engine = Engine::open(o);
    EXPECT_EQ(engine->plans().name(), "auto");
    Timeline timeline;
    engine->machine().record(&timeline);
    engine->prewarm(0, 20, true);
    EXPECT_TRUE(timeline.spans().empty());
    Sequence text = engine->cache().new_sequence();
    extend(*engine, text, ids(20));
    for (int i = 0; i < 5; ++i) extend(*engine, text, ids(1));
    engine->machine().record(nullptr);
    EXPECT_EQ(std::ranges::count(timeline.spans(), kPassTrack, &Span::track), 3 + 5);
    EXPECT_THAT(engine->plans().name(), HasSubstr("auto: "));
  }
  std::ifstream file(*o.measurements);
  const std::string kept(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(kept, HasSubstr("rates 2|npu:0"));
  EXPECT_THAT(kept, HasSubstr("matmul"));
  EXPECT_THAT(kept, HasSubstr("passes 3|npu:0"));
  std::filesystem::remove(*o.measurements);
}

// Plans change while the engine learns from passes. Values do not change.
TEST_F(TinyEngine, auto_has_the_same_logits_whatever_plans_it_changes_to) {
  const auto bits = [&](const std::string& plan, const std::vector<std::string>& devices) {
    EngineOptions o = options(plan, devices);
    o.act = ActType::f16;
    const auto engine = Engine::open(o);
    Sequence text = engine->cache().new_sequence();
    std::vector<float> all;
    for (int i = 0; i < 40; ++i) {
      const Logits logits = extend(*engine, text, ids(i % 10 == 0 ? 9 : 1));
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  };
  EXPECT_EQ(bits("auto", {"npu:0", "host"}), bits("host-only", {"host"}));
}

// H12: each shape of matrix compiles one graph. A length with existing graphs compiles none.
TEST_F(TinyEngine, counts_what_the_plan_online_compiles_for_lengths_that_have_no_graphs) {
  for (const std::string plan : {"online", "pipe", "padding"}) {
    const auto engine = Engine::open(options(plan, {"npu:0", "host"}));
    Sequence text = engine->cache().new_sequence();
    extend(*engine, text, ids(8));
    EXPECT_EQ(engine->plans().online_compiles().graphs, 0) << plan;
    text.rewind(0);
    extend(*engine, text, ids(11));
    EXPECT_EQ(engine->plans().online_compiles().graphs, plan == "online" ? 4 : 0)
        << plan;  // qkv, output, gate and up, down
    EXPECT_EQ(engine->plans().online_compiles().seconds > 0, plan == "online") << plan;
  }
}

// The passes were prepared and run before. The calls that recording makes on a device must not wait for work that the
// same pass launches later.
TEST_F(TinyEngine, recorded_passes_show_each_device_at_work_and_give_the_same_logits) {
  const auto present = available_devices();
  for (const std::string gpu : {"host", "opencl:0"}) {
    if (!std::ranges::count(present, gpu)) continue;
    EngineOptions o = options("tensor", {gpu, "npu:0"});
    o.split = {0.5};
    const auto engine = Engine::open(o);
    std::vector<std::vector<float>> logits;
    for (const bool recorded : {false, true}) {
      Timeline timeline;
      engine->machine().record(recorded ? &timeline : nullptr);
      Sequence text = engine->cache().new_sequence();
      extend(*engine, text, ids(8));
      const Logits last = extend(*engine, text, ids(1));
      logits.emplace_back(last.begin(), last.end());
      engine->machine().record(nullptr);
      EXPECT_EQ(timeline.busy_seconds(gpu) > 0, recorded) << gpu;
      EXPECT_EQ(timeline.busy_seconds("npu:0") > 0, recorded) << gpu;
    }
    EXPECT_EQ(logits[0], logits[1]) << gpu;
  }
}

class Generating : public TinyEngine {
 protected:
  static Generation run(Engine& engine, const GenerateOptions& o) { return generate(engine, ids(5), o); }
};

TEST_F(Generating, stops_after_the_asked_number_of_tokens) {
  const auto engine = host();
  GenerateOptions o;
  o.predict = 7;
  o.ignore_end = true;
  std::string streamed;
  o.on_text = [&](std::string_view text) { streamed += text; };
  Sequence text = engine->cache().new_sequence();
  const Generation g = generate(*engine, text, ids(5), o);
  EXPECT_EQ(g.ids.size(), 7u);
  EXPECT_EQ(g.reason, StopReason::length);
  EXPECT_EQ(streamed, g.text);
  EXPECT_EQ(g.prompt_tokens, 5);
  EXPECT_EQ(text.position(), 5 + 6) << "the last token needs no pass";
  text.rewind(0);  // the cache has room for one text
  o.predict = 0;
  EXPECT_TRUE(run(*engine, o).ids.empty());
}

TEST_F(Generating, stops_when_the_context_is_full) {
  EngineOptions small = options("host-only", {"host"});
  small.context = 12;
  const auto engine = Engine::open(small);
  GenerateOptions o;
  o.predict = -1;
  o.ignore_end = true;
  const Generation g = run(*engine, o);
  EXPECT_EQ(g.reason, StopReason::context_full);
  EXPECT_EQ(g.ids.size(), 12u - 5u + 1u)
      << "every place of the context is used, and the last logits give one more token";
}

TEST_F(Generating, stops_before_a_stop_string) {
  const auto engine = host();
  GenerateOptions o;
  o.predict = 30;
  o.ignore_end = true;
  const std::string whole = run(*engine, o).text;
  ASSERT_GT(whole.size(), 8u);
  o.stop = {whole.substr(4, 3)};
  const Generation g = run(*engine, o);
  EXPECT_EQ(g.reason, StopReason::stop_string);
  EXPECT_EQ(g.text, whole.substr(0, whole.find(o.stop[0])));
}

TEST_F(Generating, ends_cleanly_with_the_text_so_far_when_interrupted) {
  const auto engine = host();
  GenerateOptions o;
  o.predict = 30;
  o.ignore_end = true;
  int asked = 0;
  o.interrupted = [&] { return ++asked > 4; };
  const Generation g = run(*engine, o);
  EXPECT_EQ(g.reason, StopReason::interrupted);
  EXPECT_LT(g.ids.size(), 30u);
  EXPECT_GT(g.ids.size(), 0u);
}

TEST_F(Generating, repeats_itself_for_a_seed) {
  const auto engine = host();
  GenerateOptions o;
  o.predict = 20;
  o.ignore_end = true;
  o.sampler.temperature = 2;
  o.sampler.seed = 11;
  const auto first = run(*engine, o).ids;
  EXPECT_EQ(run(*engine, o).ids, first);
  o.sampler.seed = 12;
  EXPECT_NE(run(*engine, o).ids, first);
}

}  // namespace
}  // namespace tandem::testing
