// The host's memory between a GPU's slots and the packed file (Y6): no bit changes, whatever it holds, and it never
// holds more than its budget.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "engine/run/machine/expert_store.h"
#include "tests/engine/run/divided_experts.h"
#include "tests/engine/run/expert_file.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

class HostTierTest : public DividedExpertsTest {
 protected:
  static EngineOptions with_host(EngineOptions options, double in_host, double experts) {
    options.host_budget = {ExpertBudget::Unit::percent, 100 * (in_host + 0.5) / experts};
    return options;
  }
  EngineOptions mixtral(const std::string& plan, double slots, double in_host) const {
    return with_host(options(kDivided[0].file(), plan, {"host"}, slots, 8), in_host, 8);
  }
  static const ExpertStore& store_of(const Engine& engine) { return *engine.model().expert_store(); }

  // Bytes of a layer's addresses that have memory.
  static size_t resident_bytes(const MovingExperts& moving) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const sync::Slot& slot = *moving.host.slot;
    std::vector<unsigned char> pages(slot.size_bytes() / page);
    if (mincore(slot.data(), slot.size_bytes(), pages.data()) != 0) throw Error("mincore failed", slot.label());
    return page * static_cast<size_t>(std::ranges::count_if(pages, [](unsigned char each) { return (each & 1) != 0; }));
  }
};

TEST_F(HostTierTest, changes_no_bit_whatever_it_holds) {
  for (const MadeModel& model : kDivided) {
    const std::string file = model.file();
    const auto plain = Engine::open(options(file, "host-only", {"host"}, 0, 1));
    const std::vector<float> expected = logits_of(*plain);
    const int64_t experts = plain->model().config().experts->count;
    for (const char* plan :
         {"hybrimoe", "moe-schedule", "moe-fixed", "moe-lru", "moe-on-demand", "moe-fiddler", "auto"})
      for (const auto& [slots, in_host] : {std::pair{1.0, 1.0}, {2.0, 5.0}, {3.0, 4.0}, {1.0, 7.0}}) {
        const auto engine = Engine::open(
            with_host(options(file, plan, {"host"}, slots, experts), in_host, static_cast<double>(experts)));
        ASSERT_NE(store_of(*engine).host_tier(), nullptr);
        EXPECT_EQ(store_of(*engine).host_tier()->places(), static_cast<int64_t>(in_host));
        EXPECT_EQ(different_bits(logits_of(*engine), expected), 0u)
            << model.name << ", " << plan << ", " << slots << " slots, " << in_host << " in the host's memory";
      }
  }
}

TEST_F(HostTierTest, changes_no_bit_between_opencl_and_the_host) {
  need_devices({"", {}, "simd", ActType::f32, KvType::f16, false, "predict", {"opencl:0", "host"}});
  for (const MadeModel& model : kDivided) {
    const std::string file = model.file();
    const double experts = std::string(model.name) == "mixtral" ? 8 : 12;
    const auto of = [&](const std::string& plan, double slots) {
      return options(file, plan, {"opencl:0", "host"}, slots, static_cast<int64_t>(experts), ActType::i8);
    };
    const std::vector<float> expected = logits_of(*Engine::open(of("gpu-only", 0)));
    for (const char* plan : {"hybrimoe", "moe-lru"}) {
      EngineOptions ahead = with_host(of(plan, 2), 5, experts);
      ahead.expert_prefetch = ExpertPrefetching::on;
      ahead.insert_misses = true;
      EXPECT_EQ(different_bits(logits_of(*Engine::open(ahead)), expected), 0u) << model.name << ", " << plan;
    }
  }
}

// Passes of one and three tokens are divided, because their experts fit. Prompts fetch experts into slots.
TEST_F(HostTierTest, divides_passes_whose_experts_fit_and_fetches_those_of_others) {
  const auto engine = Engine::open(mixtral("hybrimoe", 1, 6));
  logits_of(*engine);
  const ExpertStore& store = store_of(*engine);
  EXPECT_EQ(lanes_of(*engine).of_prompts().decisions, 0);
  EXPECT_GT(store.of_prompts().loads, 0);
  EXPECT_GT(lanes_of(*engine).of_text().decisions, 0);
  EXPECT_GT(store.host_tier()->of_text().asked, 0);
  EXPECT_LE(store.host_tier()->of_text().reads, store.host_tier()->of_text().asked);
  EXPECT_EQ(store.host_tier()->of_prompts().asked, 0);
  EXPECT_EQ(lanes_of(*engine).of_prompts().passes_without, 0) << "no sample for the choice of the link";

  // Seven experts have no slot, and all of them fit.
  const auto all = Engine::open(mixtral("hybrimoe", 1, 7));
  logits_of(*all);
  EXPECT_GT(lanes_of(*all).of_prompts().decisions, 0);
  EXPECT_EQ(store_of(*all).of_prompts().loads, 0);

  // A token chooses two experts.
  const auto one = Engine::open(mixtral("hybrimoe", 1, 1));
  logits_of(*one);
  EXPECT_EQ(lanes_of(*one).of_text().decisions, 0);
  EXPECT_GT(store_of(*one).of_text().loads, 0);
}

TEST_F(HostTierTest, has_no_more_memory_than_its_places) {
  for (const double in_host : {2, 5}) {
    const auto engine = Engine::open(mixtral("hybrimoe", 2, in_host));
    Sequence text = engine->cache().new_sequence();
    for (int pass = 0; pass < 30; ++pass) {
      extend(*engine, text, std::vector<int32_t>{17 + 3 * pass});
      for (const MovingExperts& moving : store_of(*engine).moving())
        ASSERT_LE(resident_bytes(moving), static_cast<size_t>(in_host) * moving.slot_bytes) << "pass " << pass;
    }
    EXPECT_GT(store_of(*engine).host_tier()->of_text().reads, 0) << in_host;
  }
}

// Every miss is copied to a slot, and takes the place of another expert there. All experts fit both memories together.
TEST_F(HostTierTest, takes_experts_back_that_leave_their_slots) {
  const auto engine = Engine::open(mixtral("moe-lru", 3, 6));
  const auto plain = Engine::open(options(kDivided[0].file(), "host-only", {"host"}, 0, 1));
  EXPECT_EQ(different_bits(logits_of(*engine), logits_of(*plain)), 0u);
  EXPECT_GT(store_of(*engine).host_tier()->taken_back(), 0);
  Sequence text = engine->cache().new_sequence(), other = plain->cache().new_sequence();
  for (int pass = 0; pass < 60; ++pass) {
    const std::vector<int32_t> ids{17 + 3 * pass};
    const Logits logits = extend(*engine, text, ids), expected = extend(*plain, other, ids);
    ASSERT_EQ(different_bits(logits, expected), 0u) << pass;
  }
}

TEST_F(HostTierTest, begins_with_experts_that_slots_do_not_hold) {
  const auto engine = Engine::open(mixtral("hybrimoe", 2, 3));
  for (int64_t layer = 0; layer < 3; ++layer) {
    EXPECT_THAT(store_of(*engine).in_slots(layer), ::testing::ElementsAre(0, 1));
    for (int32_t expert = 0; expert < 8; ++expert)
      EXPECT_EQ(store_of(*engine).host_tier()->holds(static_cast<size_t>(layer), expert), expert >= 2 && expert < 5);
  }
  EXPECT_EQ(store_of(*engine).host_tier()->of_text().reads, 0) << "passes alone are counted";
}

TEST_F(HostTierTest, names_a_damaged_expert_and_goes_on_without_it) {
  const auto engine = Engine::open(mixtral("hybrimoe", 1, 3));
  const auto plain = Engine::open(options(kDivided[0].file(), "host-only", {"host"}, 0, 1));
  Sequence text = engine->cache().new_sequence(), other = plain->cache().new_sequence();
  extend(*engine, text, some_ids(1));
  extend(*plain, other, some_ids(1));
  const std::string packed = packed_file_in(folder_.file("packed")), whole = content(packed);
  const std::vector<ExpertRecords>& records = engine->model().model().weights.records;
  std::vector<uint64_t> first;
  for (const ExpertRecords& layer : records) first.push_back(first_record(kDivided[0].file(), packed, layer));
  const auto flip_all = [&] {
    for (size_t l = 0; l < records.size(); ++l) flip_experts(packed, first[l], records[l]);
  };
  flip_all();
  // Sooner or later a token chooses an expert that is not in memory.
  std::string message;
  for (int32_t id = 40; id < 300 && message.empty(); id += 7) {
    const std::vector<int32_t> ids{id};
    message = message_of([&] { extend(*engine, text, ids); });
    if (message.empty()) extend(*plain, other, ids);
  }
  EXPECT_THAT(message, HasSubstr(packed + ": layer "));
  EXPECT_THAT(message, HasSubstr("damaged"));
  EXPECT_EQ(text.position(), other.position());
  flip_all();
  ASSERT_EQ(content(packed), whole);
  for (int32_t id = 40; id < 300; id += 7) {
    const std::vector<int32_t> ids{id};
    const Logits logits = extend(*engine, text, ids), expected = extend(*plain, other, ids);
    ASSERT_EQ(different_bits(logits, expected), 0u) << id;
    for (const MovingExperts& moving : store_of(*engine).moving())
      ASSERT_LE(resident_bytes(moving), 3 * moving.slot_bytes) << "what failed has given its memory back";
  }
}

TEST_F(HostTierTest, leaves_no_whole_layers_to_the_host) {
  EXPECT_THAT(message_of([&] { Engine::open(mixtral("moe-layer-split", 2, 3)); }),
              HasSubstr("all experts in the host's memory"));
  const auto engine = Engine::open(mixtral("auto", 3, 4));
  logits_of(*engine);
  for (const LanePlans::Row& row : lanes_of(*engine).plans().rows(true)) EXPECT_NE(row.name, "moe-layer-split");
}

}  // namespace
}  // namespace tandem::testing
