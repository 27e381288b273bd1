// A GPU joins in while a text is written, between any two passes. No bit of any logit changes.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "engine/run/machine/kernel_set.h"
#include "engine/run/machine/missing_kernels.h"
#include "engine/run/machine/warming.h"
#include "sync/affinity.h"
#include "tests/engine/run/golden.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/small_shape.h"

namespace tandem::testing {
namespace {

// A warming program that ends immediately and compiles nothing. The test marks kernels as compiled.
constexpr const char* kNoWarming = "/bin/true";

class Joining : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::ranges::count(available_devices(), "opencl:0") == 0)
      SKIP_FOR_WANT_OF(opencl, "there is no device opencl:0");
    setenv("XDG_CACHE_HOME", folder_.file("").c_str(), 1);
  }
  void TearDown() override { before_ ? setenv("XDG_CACHE_HOME", before_->c_str(), 1) : unsetenv("XDG_CACHE_HOME"); }

  EngineOptions options(const std::string& warming_program) const {
    EngineOptions options;
    options.model_path = model_;
    options.act = act_;
    options.context = 64;
    options.measurements = "";
    options.program_folder = before_program_folder_;
    options.warming_program = warming_program;
    return options;
  }
  void mark() const { mark(act_, KernelsFor::one_text); }
  void mark(ActType act, KernelsFor texts) const {
    const GgufFile file = GgufFile::open(model_);
    Warming(kernels_mark(file, read_config(file), KvType::f16, act, texts), kNoWarming).mark();
  }
  void unmark() const { std::filesystem::remove_all(folder_.file("tandem/warm")); }

  void expect_no_bit_changes() const;

  std::string model_ = repository_data("tiny-models/stories260K-F16.gguf");
  ActType act_ = ActType::f16;
  const std::optional<std::string> before_ =
      std::getenv("XDG_CACHE_HOME") ? std::optional<std::string>(std::getenv("XDG_CACHE_HOME")) : std::nullopt;
  const std::string before_program_folder_ = gpu::default_cache_folder();
  const testing::ScratchFolder folder_;
};

// Writes passes of one text on the NPU and the host, and lets the GPU join before a certain pass. All logits must have
// the bits of the host alone.
void Joining::expect_no_bit_changes() const {
  constexpr int kPasses = 12;
  EngineOptions alone = options("");
  alone.devices = {"host"};
  alone.plan = "host-only";
  const auto host = Engine::open(alone);
  std::vector<std::vector<int32_t>> passes;
  std::mt19937 random(7);
  for (int i = 0; i < kPasses; ++i) passes.push_back(some_ids(host->model().config().vocabulary, i % 4 == 0 ? 7 : 1));
  std::vector<std::vector<float>> expected;
  Sequence alone_text = host->cache().new_sequence();
  for (const auto& ids : passes) {
    const Logits logits = extend(*host, alone_text, ids);
    expected.emplace_back(logits.begin(), logits.end());
  }
  for (const int joins_at : {0, 1, static_cast<int>(random() % kPasses), kPasses - 1}) {
    unmark();
    const auto engine = Engine::open(options(kNoWarming));
    EXPECT_TRUE(engine->machine().waits_for_gpu());
    EXPECT_EQ(engine->machine().device_names(), "npu:0,host");
    EXPECT_EQ(engine->machine().infos().back()->cores, lay_out_cores(usable_cores()).gpu) << "the GPU's are free";
    Sequence text = engine->cache().new_sequence();
    for (int i = 0; i < kPasses; ++i) {
      if (i == joins_at) mark();
      const Logits logits = extend(*engine, text, passes[static_cast<size_t>(i)]);
      ASSERT_EQ(engine->machine().waits_for_gpu(), i < joins_at);
      ASSERT_TRUE(std::ranges::equal(logits, expected[static_cast<size_t>(i)]))
          << "pass " << i << ", joins at " << joins_at;
    }
    EXPECT_EQ(engine->machine().device_names(), "opencl:0,npu:0,host");
    EXPECT_EQ(engine->machine().infos().back()->cores, lay_out_cores(usable_cores()).npu) << "the GPU has its own now";
  }
}

TEST_F(Joining, in_the_middle_of_a_text_changes_no_bit) { expect_no_bit_changes(); }

TEST_F(Joining, in_the_middle_of_a_text_changes_no_bit_of_8_bit_activations) {
  model_ = folder_.file("integers.gguf");
  write_file(model_, test::bytes_of(RandomModel(test::small_shape("llama-3.2-1b"), StorageType::q4_1, 1)));
  act_ = ActType::f16;
  mark();  // f16 and 8-bit activations have different kernels
  act_ = ActType::i8;
  EXPECT_TRUE(Engine::open(options(kNoWarming))->machine().waits_for_gpu());
  expect_no_bit_changes();
}

// The GPU joins between any two passes of two texts with drafts, in chains and trees.
TEST_F(Joining, in_the_middle_of_drafted_texts_changes_no_token) {
  constexpr size_t kTexts = 2;
  EngineOptions alone = options("");
  alone.devices = {"host"};
  alone.plan = "host-only";
  const auto host = Engine::open(alone);
  GenerateOptions plain;
  plain.predict = 40;
  plain.ignore_end = true;
  plain.sampler.temperature = 1;
  plain.spec.mode = SpecMode::none;
  std::vector<std::vector<int32_t>> prompts, written;
  for (size_t i = 0; i < kTexts; ++i) {
    prompts.push_back(some_ids(host->model().config().vocabulary, 7 + static_cast<int>(i)));
    prompts[i].front() += static_cast<int32_t>(i);
    written.push_back(generate(*host, prompts[i], plain).ids);
  }
  for (const int joins_at : {1, 2, 5, 9}) {
    unmark();
    EngineOptions drafting = options(kNoWarming);
    drafting.sequences = kTexts;
    drafting.logit_rows = 16;
    drafting.drafts = true;
    const auto engine = Engine::open(drafting);
    ASSERT_TRUE(engine->machine().waits_for_gpu());
    Batcher batcher(*engine, kTexts);
    std::vector<Batcher::Result> results(kTexts);
    for (size_t i = 0; i < kTexts; ++i) {
      GenerateOptions drafted = plain;
      drafted.spec.mode = i == 0 ? SpecMode::sdnpu : SpecMode::sam;
      drafted.spec.history = std::make_shared<TextHistory>();
      std::vector<int32_t> earlier = prompts[i];
      for (size_t at = 0; at < written[i].size(); ++at) earlier.push_back(written[i][at] ^ (at % 6 == 5 ? 1 : 0));
      drafted.spec.history->add(earlier);
      drafted.spec.predictions = {written[i]};
      batcher.add(prompts[i], drafted, [&results, i](Batcher::Result result) { results[i] = std::move(result); });
    }
    for (int pass = 0; pass == 0 || batcher.active() > 0; ++pass) {
      if (pass == joins_at) {
        mark(act_, KernelsFor::one_text);
        mark(act_, KernelsFor::many_texts);
      }
      batcher.step();
    }
    EXPECT_FALSE(engine->machine().waits_for_gpu());
    for (size_t i = 0; i < kTexts; ++i) {
      SCOPED_TRACE("text " + std::to_string(i) + ", joins at " + std::to_string(joins_at));
      ASSERT_EQ(results[i].error, nullptr);
      EXPECT_EQ(results[i].generation.ids, written[i]);
      EXPECT_GT(results[i].generation.drafts.accepted, 0);
    }
  }
}

// The bits of f32 logits would show when the GPU joined.
TEST_F(Joining, is_not_for_f32_activations) {
  act_ = ActType::f32;
  EXPECT_FALSE(Engine::open(options(kNoWarming))->machine().waits_for_gpu());
}

// One engine's passes find that the GPU is ready. Then the other engine also prepares its programs again.
TEST_F(Joining, takes_along_every_engine_of_the_machine) {
  EngineOptions alone = options("");
  alone.devices = {"host"};
  alone.plan = "host-only";
  const auto host = Engine::open(alone);
  const std::vector<int32_t> ids = some_ids(host->model().config().vocabulary, 9);
  std::vector<std::vector<float>> expected;
  Sequence alone_text = host->cache().new_sequence();
  for (const int32_t id : ids) {
    const Logits logits = extend(*host, alone_text, std::span(&id, 1));
    expected.emplace_back(logits.begin(), logits.end());
  }
  unmark();
  const auto first = Engine::open(options(kNoWarming));
  Engine second(std::make_shared<LoadedModel>(first->model().machine(), options("")), options(""));
  Sequence of_first = first->cache().new_sequence(), of_second = second.cache().new_sequence();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i == 4) mark();
    ASSERT_TRUE(std::ranges::equal(extend(*first, of_first, std::span(&ids[i], 1)), expected[i])) << i;
    ASSERT_TRUE(std::ranges::equal(extend(second, of_second, std::span(&ids[i], 1)), expected[i])) << i;
    EXPECT_EQ(second.machine().waits_for_gpu(), i < 4);
  }
  EXPECT_EQ(second.machine().device_names(), "opencl:0,npu:0,host");
}

// A user of the devices between two engines cannot be prepared beside the GPU. All users go on without the GPU, and no
// bit changes.
TEST_F(Joining, is_undone_for_all_where_one_cannot_be_prepared) {
  struct Unready : DeviceUser {
    explicit Unready(Machine& on) : machine(on) { machine.add_user(*this); }
    ~Unready() override { machine.remove_user(*this); }
    bool accepts(std::span<const DeviceInfo* const>) const override { return true; }
    bool fits(const DeviceInfo&) const override { return true; }
    bool has_text() const override { return true; }
    void release_prepared() noexcept override { holds = false; }
    void rebuild() override {
      if (machine.first_with(&DeviceInfo::queued)) throw Error("no room", "beside the GPU");
      holds = true;
    }
    Machine& machine;
    bool holds = true;
  };
  const auto first = Engine::open(options(kNoWarming));
  Unready unready(first->machine());
  Engine second(std::make_shared<LoadedModel>(first->model().machine(), options("")), options(""));
  const std::vector<int32_t> ids = some_ids(first->model().config().vocabulary, 6);
  Sequence of_first = first->cache().new_sequence(), of_second = second.cache().new_sequence();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i == 2) mark();
    const Logits logits = extend(*first, of_first, std::span(&ids[i], 1));
    ASSERT_TRUE(std::ranges::equal(extend(second, of_second, std::span(&ids[i], 1)), logits)) << i;
    EXPECT_TRUE(unready.holds);
  }
  EXPECT_FALSE(first->machine().waits_for_gpu());
  EXPECT_EQ(first->machine().device_names(), "npu:0,host");
  EXPECT_THAT(first->diagnostics(), ::testing::Contains(::testing::HasSubstr("no GPU has joined in")));
}

TEST_F(Joining, looks_for_no_engine_that_could_not_be_made) {
  const auto first = Engine::open(options(kNoWarming));
  EngineOptions wrong = options("");
  wrong.plan = "gpu-only";
  EXPECT_THROW(Engine(std::make_shared<LoadedModel>(first->model().machine(), wrong), wrong), Error);
  mark();
  const std::vector<int32_t> ids = some_ids(first->model().config().vocabulary, 2);
  Sequence text = first->cache().new_sequence();
  extend(*first, text, ids);
  EXPECT_EQ(first->machine().device_names(), "opencl:0,npu:0,host");
}

TEST_F(Joining, is_not_waited_for_where_all_is_compiled) {
  mark();
  const auto engine = Engine::open(options(kNoWarming));
  EXPECT_FALSE(engine->machine().waits_for_gpu());
  EXPECT_EQ(engine->machine().device_names(), "opencl:0,npu:0,host");
}

// One text uses the GPU when the text's own kernels are there. The kernels for many texts take as long again.
TEST_F(Joining, of_one_text_does_not_wait_for_the_kernels_of_many) {
  mark();
  EngineOptions many = options(kNoWarming);
  many.sequences = 2;
  EXPECT_FALSE(Engine::open(options(kNoWarming))->machine().waits_for_gpu());
  EXPECT_TRUE(Engine::open(many)->machine().waits_for_gpu());
}

// Passes with drafts are lists only where that needs no compiler. A plan or devices that are named may run with f32.
TEST_F(Joining, of_drafts_has_lists_if_the_kernels_of_their_activations_are_there) {
  const GgufFile file = GgufFile::open(model_);
  EngineOptions usual = options(kNoWarming), plan = usual, devices = usual, no_program = usual;
  usual.act = plan.act = devices.act = no_program.act = std::nullopt;
  plan.plan = "gpu-only";
  devices.devices = {"opencl:0"};
  no_program.warming_program = "";
  EXPECT_FALSE(has_kernels_of_many(usual, file));
  mark(ActType::f16, KernelsFor::many_texts);
  EXPECT_TRUE(has_kernels_of_many(usual, file));
  EXPECT_FALSE(has_kernels_of_many(plan, file));
  EXPECT_FALSE(has_kernels_of_many(devices, file));
  EXPECT_FALSE(has_kernels_of_many(no_program, file));
  plan.act = ActType::f16;
  EXPECT_TRUE(has_kernels_of_many(plan, file));
  mark(ActType::f32, KernelsFor::many_texts);
  EXPECT_TRUE(has_kernels_of_many(devices, file));
}

// The engine runs the devices and the plan that the user names, for any compile time.
TEST_F(Joining, is_no_matter_where_devices_or_a_plan_are_named) {
  EngineOptions plan = options(kNoWarming), devices = options(kNoWarming);
  plan.plan = "gpu-only";
  devices.devices = {"opencl:0", "npu:0"};
  for (const EngineOptions& named : {plan, devices}) EXPECT_FALSE(Engine::open(named)->machine().waits_for_gpu());
}

TEST_F(Joining, of_a_program_that_cannot_be_started_is_not_waited_for) {
  EXPECT_FALSE(Engine::open(options("/no/such/program"))->machine().waits_for_gpu());
}

TEST_F(Joining, takes_place_after_another_process_has_compiled) {
  const GgufFile file = GgufFile::open(model_);
  const std::string set = kernels_mark(file, read_config(file), KvType::f16, ActType::f16, KernelsFor::one_text);
  Warming first(set, kNoWarming), second(set, kNoWarming), other(set + " of another type", kNoWarming);
  EXPECT_TRUE(first.lock());
  EXPECT_FALSE(second.lock()) << "one at a time";
  EXPECT_TRUE(other.lock());
  EXPECT_FALSE(second.done());
  first.mark();
  EXPECT_TRUE(second.done());
  EXPECT_FALSE(other.done());
  other.mark();
  first.unmark_all();
  EXPECT_FALSE(second.done());
  EXPECT_FALSE(other.done());
}

// A few layers need every kernel. The rest of the file is not read.
TEST_F(Joining, needs_the_kernels_of_a_few_layers) {
  EngineOptions few = options("");
  few.devices = {"host"};
  few.plan = "host-only";
  few.only_layers_of_every_kind = true;
  const auto engine = Engine::open(few);
  EXPECT_EQ(engine->model().config().layers, 2) << "all layers are of one kind; the last one of a pass is cut";
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(engine->model().config().vocabulary, 3));
  const GgufFile other = GgufFile::open(model_);
  const GgufFile mixed = GgufFile::open(repository_data("mixed-models/first.gguf"));
  const ModelConfig config = read_config(mixed);
  EXPECT_EQ(layers_of_every_kind(mixed, config), config.layers) << "the second layer's types are others";
  EXPECT_NE(kernel_set_of(mixed, config), kernel_set_of(other, read_config(other)));
}

}  // namespace
}  // namespace tandem::testing
