// Only ids, positions and results cross the bus of a card with memory of its own. OpenCL's and Vulkan's devices here
// copy memory as such cards do, and run their kernels.
#include <gtest/gtest.h>

#include "engine/device/lab/lab.h"
#include "engine/run/machine/machine.h"
#include "sync/whole_file.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

class CardMemory : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { need_devices(card()); }
  Way card() const { return {"gpu-only", {}, "simt", ActType::f32, KvType::f16, true, "blocking", {GetParam()}}; }
  static uint64_t copied(Engine& engine) { return lab_of(*engine.machine().devices().front()).copied_bytes(); }
};

TEST_P(CardMemory, takes_ids_and_positions_and_gives_results_alone) {
  EngineOptions one = options_for(repository_data("tiny-models/stories260K-F16.gguf"), card()), many = one;
  many.drafts = true;
  many.sequences = many.logit_rows = 3;
  std::vector<int32_t> ids(24);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(7 * i % 300);
  for (const EngineOptions& options : {one, many}) {
    SCOPED_TRACE(options.sequences);
    const auto engine = Engine::open(options);
    const int64_t vocabulary = engine->model().config().vocabulary;
    Sequence text = engine->cache().new_sequence();
    extend(*engine, text, ids);
    uint64_t before = copied(*engine);
    ASSERT_GT(before, 0U) << "the device copies";
    const std::vector<int32_t> next = {11};
    extend(*engine, text, next);
    const uint64_t token = copied(*engine) - before;
    // The logits, and room for an id, a position and the numbers of pages.
    EXPECT_LE(token, static_cast<uint64_t>(vocabulary) * sizeof(float) + 256);
    EXPECT_GE(token, static_cast<uint64_t>(vocabulary) * sizeof(float));
    before = copied(*engine);
    extend(*engine, text, ids);
    EXPECT_LE(copied(*engine) - before, token + 2 * ids.size() * sizeof(int32_t))
        << "a prompt has the logits of one token";
  }
}

TEST_P(CardMemory, changes_no_bit) {
  const std::string path = repository_data("tiny-models/stories260K-F16.gguf");
  const std::vector<int32_t> ids = {1, 403, 407, 261, 378, 299, 100, 12, 9};
  const auto card_logits = all_logits(*open_engine(path, card()), ids);
  const auto host_logits = all_logits(*open_engine(path, {"host-only", {}, "", ActType::f32, KvType::f16}), ids);
  ASSERT_EQ(card_logits.size(), host_logits.size());
  if (GetParam() == "opencl:0") {
    EXPECT_EQ(card_logits, host_logits);
  } else {
    EXPECT_LE(largest_difference(card_logits, host_logits), 0.03) << "lavapipe's fma is not fused";
  }
}

// Rows of each product are divided between the card and an NPU, so most values are read by both.
TEST_P(CardMemory, is_copied_where_another_device_reads_or_writes) {
  const std::string path = repository_data("tiny-models/stories260K-F16.gguf");
  const std::vector<int32_t> ids = {1, 403, 407, 261, 378, 299, 100, 12, 9};
  Way both{"tensor", {0.5}, "simt", ActType::f16, KvType::f16, false, "blocking", {GetParam(), "npu:0"}};
  need_devices(both);
  const auto shared = all_logits(*open_engine(path, both), ids);
  both.copies = true;
  EXPECT_EQ(all_logits(*open_engine(path, both), ids), shared);
}

// The file of a text is the same, wherever its keys and values lie. Both devices continue the other one's.
TEST_P(CardMemory, gives_and_takes_texts_in_files) {
  const std::string path = repository_data("tiny-models/stories260K-F16.gguf");
  const Way host{"host-only", {}, "", ActType::f32, KvType::f16};
  const auto on_card = open_engine(path, card()), on_host = open_engine(path, host);
  const std::vector<int32_t> ids = {1, 403, 407, 261, 378, 299, 100, 12, 9}, next = {11};
  const ScratchFolder folder;
  const auto write = [&](Engine& engine, const std::string& name) {
    Sequence text = engine.cache().new_sequence();
    extend(engine, text, ids);
    engine.cache().save(folder.file(name), text);
    const Logits logits = extend(engine, text, next);
    return std::vector<float>(logits.begin(), logits.end());
  };
  const auto read = [&](Engine& engine, const std::string& name) {
    // Another text writes to the pages that the one of the file gets.
    const std::vector<int32_t> others(ids.rbegin(), ids.rend());
    for (Sequence other = engine.cache().new_sequence(); other.position() == 0;) extend(engine, other, others);
    Sequence text = engine.cache().load(folder.file(name));
    EXPECT_TRUE(std::ranges::equal(text.ids(), ids));
    const Logits logits = extend(engine, text, next);
    return std::vector<float>(logits.begin(), logits.end());
  };
  const std::vector<float> of_card = write(*on_card, "card"), of_host = write(*on_host, "host");
  EXPECT_EQ(read(*on_card, "card"), of_card);
  const auto reopened = open_engine(path, card());
  Sequence first = reopened->cache().load(folder.file("card"));
  EXPECT_TRUE(std::ranges::equal(extend(*reopened, first, next), of_card)) << "a text that comes before any pass";
  const double bound = GetParam() == "opencl:0" ? 0 : 0.03;  // lavapipe's fma is not fused
  EXPECT_LE(largest_difference(read(*on_card, "host"), of_host), bound);
  EXPECT_LE(largest_difference(read(*on_host, "card"), of_card), bound);
  if (bound == 0) {
    EXPECT_EQ(read_file_if_there(folder.file("card")), read_file_if_there(folder.file("host")));
  }
}

// A planner may give one pass to the card and another one to the host.
TEST_P(CardMemory, follows_plans_that_move_the_cache) {
  const std::string path = repository_data("tiny-models/stories260K-F16.gguf");
  EngineOptions both = options_for(path, card());
  both.plan = "auto";
  both.devices = {GetParam(), "host"};
  const auto engine = Engine::open(both);
  const auto alone = open_engine(path, {"host-only", {}, "", ActType::f32, KvType::f16});
  int passes = 0;
  engine->plans().plan_by([&](const WorkToPlace& work) {
    const size_t taker = static_cast<size_t>(passes++ % 2);
    std::vector<Shares> places;
    for (size_t i = 0; i < work.items.size(); ++i) {
      Shares shares(work.devices.size(), 0.0);
      shares[taker] = 1;
      places.push_back(shares);
    }
    return places;
  });
  Sequence text = engine->cache().new_sequence(), own = alone->cache().new_sequence();
  const std::vector<int32_t> ids = {1, 403, 407, 261, 378, 299, 100, 12, 9, 33, 4, 5};
  size_t at = 0;
  for (const size_t count : {3, 1, 2, 4, 1, 1}) {  // kinds of passes, each planned for the other device
    const auto piece = std::span(ids).subspan(at, count);
    at += count;
    const double bound = GetParam() == "opencl:0" ? 0 : 0.03;
    EXPECT_LE(largest_difference(extend(*engine, text, piece), extend(*alone, own, piece)), bound) << at;
  }
  EXPECT_GE(passes, 4);
}

INSTANTIATE_TEST_SUITE_P(Cards, CardMemory, ::testing::Values("opencl:0", "vulkan:0"),
                         [](const auto& test) { return test.param.substr(0, 6); });

}  // namespace
}  // namespace tandem::testing
