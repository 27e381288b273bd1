// Experts that earlier runs used most (--hot-experts): the next run begins with them, and no bit changes. A file that
// is damaged or cannot be written changes nothing.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <thread>

#include "engine/model/loading.h"
#include "engine/run/machine/expert_store.h"
#include "engine/run/machine/hot_file.h"
#include "sync/whole_file.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"
#include "tests/engine/run/made_models.h"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kLayers = 3, kExperts = 8, kSlots = 3;
const MadeModel kMixture{
    "mixtral",
    R"({"schema": 1, "architecture": "llama", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4, "kv_heads": 2,
        "vocabulary": 320, "context_length": 256, "experts": 8, "experts_used": 2, "expert_feed_forward": 96})",
    [](ModelConfig&) {}};

class HotExpertsTest : public ::testing::Test {
 protected:
  EngineOptions options(double slots = kSlots) const {
    EngineOptions options =
        options_for(model_, {"host-only", {}, "", ActType::f32, KvType::f16, false, "predict", {std::string("host")}});
    options.chunk = 100;
    options.logit_rows = 100;
    options.context = 250;
    if (slots > 0) options.expert_budget = {ExpertBudget::Unit::percent, 100 * (slots + 0.5) / kExperts};
    options.expert_folder = folder_.file("packed");
    return options;
  }
  static ExpertStore& store_of(const Engine& engine) { return *engine.model().expert_store(); }
  std::string hot_file() const {
    for (const auto& entry : fs::directory_iterator(folder_.file("packed")))
      if (entry.path().extension() == ".packed") return hot_file_of(entry.path());
    return "";
  }
  static std::vector<float> logits_of(Engine& engine, int first_pass = 30) {
    std::vector<float> all;
    Sequence text = engine.cache().new_sequence();
    int first = 0;
    for (const int count : {first_pass, 1, 1, 3, 1, 1}) {
      const std::vector<int32_t> ids = some_ids(first + count);
      const std::vector<float> logits = all_logits(engine, text, std::span(ids).subspan(static_cast<size_t>(first)));
      all.insert(all.end(), logits.begin(), logits.end());
      first += count;
    }
    return all;
  }
  static void wait_for_the_background(const Engine& engine) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!store_of(engine).of_hot().has_ended && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(store_of(engine).of_hot().has_ended);
  }
  // The experts that the next run must hold in the slots of each layer, by falling use.
  std::vector<std::vector<int32_t>> most_used() const {
    const HotExperts hot = parse_hot_experts(read_file_if_there(hot_file()).value(), hot_file());
    std::vector<std::vector<int32_t>> most;
    for (const ExpertCounts& uses : hot.uses) {
      const std::vector<int64_t> order = by_popularity(uses);
      most.emplace_back(order.begin(), order.begin() + kSlots);
    }
    return most;
  }
  static std::vector<std::vector<int32_t>> in_slots(const Engine& engine) {
    std::vector<std::vector<int32_t>> all;
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      const std::span<const int32_t> slots = store_of(engine).in_slots(layer);
      all.emplace_back(slots.begin(), slots.end());
    }
    return all;
  }

  const ScratchFolder folder_;
  const std::string model_ = kMixture.file();
};

TEST_F(HotExpertsTest, are_in_memory_before_the_next_run_asks_for_them) {
  const std::vector<float> expected = logits_of(*Engine::open(options(0)));
  Engine::open(options()).reset();
  EXPECT_FALSE(fs::exists(hot_file())) << "no pass ran";
  auto first = Engine::open(options());
  EXPECT_THAT(first->diagnostics(), Not(Contains(HasSubstr("earlier runs"))));
  EXPECT_EQ(different_bits(logits_of(*first), expected), 0u);
  const int64_t choices = store_of(*first).of_text().choices + store_of(*first).of_prompts().choices;
  const HotExperts uses = store_of(*first).uses();
  int64_t sum = 0;
  for (const ExpertCounts& counts : uses.uses) sum += std::reduce(counts.begin(), counts.end());
  EXPECT_EQ(sum, choices) << "every choice is counted once";
  first.reset();
  const auto expected_slots = most_used();

  const auto next = Engine::open(options());
  EXPECT_THAT(next->diagnostics(), Contains(HasSubstr("earlier runs used most are read in the background")));
  wait_for_the_background(*next);
  EXPECT_EQ(in_slots(*next), expected_slots);
  EXPECT_EQ(store_of(*next).of_hot().taken, kLayers * kSlots);
  EXPECT_EQ(store_of(*next).of_text().loads + store_of(*next).of_prompts().loads, 0);
  EXPECT_EQ(different_bits(logits_of(*next), expected), 0u);
}

// Passes that run at once take slots while the background fills them.
TEST_F(HotExpertsTest, change_no_bit_of_a_text_that_does_not_wait_for_them) {
  for (const double slots : {1, 3, 7})
    for (const int first_pass : {1, 30}) {
      const std::vector<float> expected = logits_of(*Engine::open(options(0)), first_pass);
      for (int again = 0; again < 4; ++again)
        EXPECT_EQ(different_bits(logits_of(*Engine::open(options(slots)), first_pass), expected), 0u)
            << slots << " slots, run " << again;
    }
}

TEST_F(HotExpertsTest, have_slots_first_where_experts_are_copied) {
  const std::vector<float> expected = logits_of(*Engine::open(options(0)));
  EngineOptions copies = options();
  copies.expert_copies = true;
  copies.plan = "moe-fixed";
  auto lowest = Engine::open(copies);
  EXPECT_EQ(in_slots(*lowest), std::vector<std::vector<int32_t>>(kLayers, {0, 1, 2}));
  EXPECT_EQ(different_bits(logits_of(*lowest), expected), 0u);
  const LaneTotals before = store_of(*lowest).lanes()->of_text();
  lowest.reset();
  const auto learned = Engine::open(copies);
  EXPECT_EQ(in_slots(*learned), most_used());
  EXPECT_EQ(different_bits(logits_of(*learned), expected), 0u);
  const LaneTotals after = store_of(*learned).lanes()->of_text();
  EXPECT_EQ(after.choices, before.choices);
  EXPECT_GT(after.in_slots, before.in_slots) << "the fixed set is that of the same text";
}

TEST_F(HotExpertsTest, are_left_out_if_the_user_says_so) {
  EngineOptions off = options();
  off.hot_experts = false;
  logits_of(*Engine::open(off));
  EXPECT_FALSE(fs::exists(hot_file()));
  logits_of(*Engine::open(options()));
  EXPECT_TRUE(fs::exists(hot_file()));
  const auto engine = Engine::open(off);
  EXPECT_THAT(engine->diagnostics(), Not(Contains(HasSubstr("earlier runs"))));
  EXPECT_EQ(in_slots(*engine), std::vector<std::vector<int32_t>>(kLayers, std::vector<int32_t>(kSlots, -1)));
}

TEST_F(HotExpertsTest, of_a_damaged_or_foreign_file_are_ignored_with_one_sentence) {
  const std::vector<float> expected = logits_of(*Engine::open(options()));
  const std::string whole = read_file_if_there(hot_file()).value();
  std::string foreign = whole;
  foreign.replace(foreign.find(".packed"), 7, ".picked");
  for (const std::string& content : {whole.substr(0, whole.size() / 2), std::string("\0\1", 2), foreign}) {
    write_whole_file(hot_file(), content);
    const auto engine = Engine::open(options());
    EXPECT_EQ(std::ranges::count_if(engine->diagnostics(),
                                    [](const std::string& note) { return note.find("ignored") != std::string::npos; }),
              1);
    EXPECT_THAT(engine->diagnostics(), Contains(HasSubstr(hot_file())));
    EXPECT_EQ(store_of(*engine).of_hot().taken, 0);
    EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u);
  }
  EXPECT_NO_THROW(parse_hot_experts(read_file_if_there(hot_file()).value(), "")) << "the last run wrote it again";
}

// Whether a folder's permissions refuse depends on the user, so another folder stands in the file's place.
TEST_F(HotExpertsTest, that_cannot_be_written_leave_nothing_behind) {
  logits_of(*Engine::open(options()));
  const std::string file = hot_file();
  fs::remove(file);
  fs::create_directories(fs::path(file) / "a");
  EXPECT_NO_THROW(logits_of(*Engine::open(options())));
  EXPECT_TRUE(fs::is_directory(file));
  for (const auto& entry : fs::directory_iterator(folder_.file("packed")))
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".part")));
}

// Takes one expert after another. The first one waits until the test lets it through.
class SlowTaker : public HotTaker {
 public:
  bool needs(const HotExpert& hot) override { return hot.expert != 1; }
  bool take(const HotExpert& hot, std::span<const std::byte> record) override {
    std::unique_lock lock(mutex_);
    taken_.push_back(hot);
    bytes_ += record.size();
    changed_.notify_all();
    return changed_.wait_for(lock, std::chrono::minutes(1), [this] { return opens_; });
  }
  void wait_for_the_first() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(1), [this] { return !taken_.empty(); });
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    opens_ = true;
    changed_.notify_all();
  }
  std::vector<HotExpert> taken() {
    const std::scoped_lock lock(mutex_);
    return taken_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool opens_ = false;
  size_t bytes_ = 0;
  std::vector<HotExpert> taken_;
};

TEST_F(HotExpertsTest, are_not_read_while_a_pass_reads) {
  logits_of(*Engine::open(options()));
  const auto engine = Engine::open(options());
  const std::vector<ExpertRecords>& records = engine->model().model().weights.records;
  const std::string packed = hot_file().substr(0, hot_file().size() - std::string(".hot").size());
  std::string why;
  sync::Pool pool;
  const GgufFile file = GgufFile::open(model_);
  const std::vector<size_t> slots = ModelLoading(file, pool).slot_bytes();
  const auto opened = PackedFile::open(packed, file.identity().value(), slots, why);
  ASSERT_TRUE(opened) << why;
  SlowTaker taker;
  HotLoading loading(*opened, records, {{0, 3}, {0, 1}, {1, 2}, {2, 0}}, taker, 0, 1);
  taker.wait_for_the_first();
  loading.hold();
  taker.open();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a reader that goes on takes the next one meanwhile
  EXPECT_EQ(taker.taken(), (std::vector<HotExpert>{{0, 3}}));
  EXPECT_FALSE(loading.totals().has_ended);
  loading.go_on();
  while (!loading.totals().has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(taker.taken(), (std::vector<HotExpert>{{0, 3}, {1, 2}, {2, 0}})) << "expert 1 is not needed";
  EXPECT_EQ(loading.totals().taken, 3);
  EXPECT_EQ(loading.totals().read_bytes, 3 * records[0].bytes);
}

}  // namespace
}  // namespace tandem::testing
