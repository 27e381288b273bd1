// Budgets for experts: slots of each layer. Expected values are worked out by hand.
#include "engine/run/machine/expert_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/error.h"
#include "tests/support/message_of.h"

namespace tandem {
namespace {

using test::message_of;
using ::testing::HasSubstr;
using enum ExpertBudget::Unit;

constexpr size_t kMebibyte = size_t{1} << 20;

// Two layers of 8 experts, of 1 and 3 MiB each, and 10 MiB of other weights: 42 MiB.
const std::vector<ExpertRecords> kRecords = {{0, 8, 1, 0, kMebibyte}, {1, 8, 2, 0, 3 * kMebibyte}};
PackedSizes sizes() { return {kRecords, 10 * kMebibyte}; }
MemoryRoom room(double mebibytes) { return {static_cast<uint64_t>(mebibytes * kMebibyte), "the test"}; }

std::optional<int64_t> slots(const ExpertBudget& device, const ExpertBudget& host = {}) {
  return expert_slots(device, host, sizes(), room(1000), 0);
}

TEST(ExpertBudget, is_read_as_automatic_as_a_share_or_as_bytes) {
  EXPECT_EQ(read_expert_budget("auto", false), ExpertBudget{});
  EXPECT_EQ(read_expert_budget("25%", false), (ExpertBudget{percent, 25}));
  EXPECT_EQ(read_expert_budget("0.5%", true), (ExpertBudget{percent, 0.5}));
  EXPECT_EQ(read_expert_budget("2GiB", false), (ExpertBudget{bytes, 2147483648.0}));
  EXPECT_EQ(read_expert_budget("1.5KiB", false), (ExpertBudget{bytes, 1536}));
  EXPECT_EQ(read_expert_budget("2", true), (ExpertBudget{bytes, 2147483648.0}));
  for (const char* text : {"", "%", "0%", "-1%", "100.1%", "nan%", "2", "0GiB", "-1MiB", "infMiB", "2GB", "GiB", "25 %",
                           "1e300TiB", "auto "})
    EXPECT_FALSE(read_expert_budget(text, false)) << text;
  for (const char* text : {"", "0", "-2", "nan", "x"}) EXPECT_FALSE(read_expert_budget(text, true)) << text;
}

TEST(ExpertBudget, counts_what_experts_take) {
  EXPECT_EQ(sizes().expert_bytes(), 32 * kMebibyte);
  EXPECT_EQ(sizes().layer_bytes(), 4 * kMebibyte);
  EXPECT_EQ(sizes().experts(), 8);
}

// The first room was 1,000, and a slot of every layer takes 40.
TEST(ExpertBudget, gives_slots_back_when_little_is_free_and_takes_them_again_when_much_is) {
  const auto slots = [](int64_t now, uint64_t free) { return slots_from_now_on({now, 12, free, 1000, 40}); };
  EXPECT_EQ(slots(8, 50), 8);
  EXPECT_EQ(slots(8, 200), 8) << "neither little nor much";
  EXPECT_EQ(slots(8, 49), 6) << "51 bytes are two slots";
  EXPECT_EQ(slots(8, 0), 5) << "100 bytes are three slots";
  EXPECT_EQ(slots(2, 0), 1) << "one always remains";
  EXPECT_EQ(slots(8, 201), 9) << "51 bytes are one whole slot";
  EXPECT_EQ(slots(8, 1000), 12) << "no more than at the start";
  EXPECT_EQ(slots(12, 1000), 12);
}

TEST(ExpertBudget, is_a_share_of_each_layer_rounded_down_to_at_least_one) {
  EXPECT_EQ(slots({percent, 25}), 2);
  EXPECT_EQ(slots({percent, 49}), 3);
  EXPECT_EQ(slots({percent, 1}), 1);
  EXPECT_EQ(slots({percent, 100}), std::nullopt) << "all stay in memory";
}

TEST(ExpertBudget, in_bytes_holds_one_expert_of_each_layer_for_every_four_mebibytes) {
  EXPECT_EQ(slots({bytes, 4.0 * kMebibyte}), 1);
  EXPECT_EQ(slots({bytes, 11.9 * kMebibyte}), 2);
  EXPECT_EQ(slots({bytes, 32.0 * kMebibyte}), std::nullopt);
  EXPECT_EQ(slots({bytes, 1e15}), std::nullopt);
  const std::string text = message_of([] { slots({bytes, 4.0 * kMebibyte - 1}); });
  EXPECT_THAT(text, HasSubstr("less than one expert of each layer: --expert-budget of 3.9 MiB"));
  EXPECT_THAT(text, HasSubstr("at least 4 MiB"));
  EXPECT_THAT(message_of([] { slots({bytes, 200.0 * 1024}); }), HasSubstr("--expert-budget of 200 KiB"));
  EXPECT_THAT(message_of([] { slots({bytes, 7}); }), HasSubstr("--expert-budget of 0 KiB"));
}

TEST(ExpertBudget, above_the_memory_of_the_machine_is_refused) {
  constexpr double kMachine = 1000.0 * kMebibyte;
  const auto slots_of = [](const ExpertBudget& device, const ExpertBudget& host) {
    return expert_slots(device, host, sizes(), room(1000), static_cast<uint64_t>(kMachine));
  };
  EXPECT_EQ(slots_of({bytes, kMachine}, {}), std::nullopt);
  EXPECT_EQ(slots_of({percent, 25}, {}), 2) << "a share is below what there is";
  const std::string text = message_of([&] { slots_of({bytes, kMachine + 1}, {}); });
  EXPECT_THAT(text, HasSubstr("the budget is above what there is: --expert-budget of 1000.1 MiB"));
  EXPECT_THAT(text, HasSubstr("This machine has 1000 MiB of memory"));
  EXPECT_THAT(message_of([&] { slots_of({percent, 25}, {bytes, 1e15}); }), HasSubstr("--host-budget of 931322.6 GiB"));
  EXPECT_GT(machine_memory(), uint64_t{1} << 20);
}

TEST(ExpertBudget, of_device_and_host_is_the_smaller_one) {
  EXPECT_EQ(slots({percent, 50}, {percent, 25}), 2);
  EXPECT_EQ(slots({percent, 25}, {percent, 50}), 2);
  EXPECT_EQ(slots({}, {bytes, 12.0 * kMebibyte}), 3);
  EXPECT_THAT(message_of([] { slots({}, {bytes, 1}); }), HasSubstr("--host-budget"));
}

TEST(ExpertBudget, that_is_automatic_moves_experts_only_where_the_weights_do_not_fit) {
  EXPECT_EQ(expert_slots({}, {}, sizes(), room(42)), std::nullopt);
  // 41 MiB, of which 85 % are 34.85 MiB: 24.85 MiB beside the other weights hold six experts of each layer.
  EXPECT_EQ(expert_slots({}, {}, sizes(), room(41)), 6);
  EXPECT_EQ(expert_slots({}, {}, sizes(), std::nullopt), std::nullopt) << "the system does not say what is free";
}

TEST(ExpertBudget, that_is_automatic_needs_memory_for_one_expert_of_each_layer) {
  // 85 % of 16 MiB are 13.6 MiB: 3.6 MiB beside the other weights.
  EXPECT_THAT(message_of([] { expert_slots({}, {}, sizes(), room(16)); }),
              HasSubstr("too little memory for one expert of each layer: 16 MiB free in the test"));
  EXPECT_EQ(expert_slots({}, {}, sizes(), room(17)), 1);  // 14.45 MiB
}

// Eight experts of each layer take 32 MiB, and the other weights 10 MiB.
TEST(ExpertBudget, of_copies_gives_slots_to_the_gpu_and_what_is_asked_for_or_fits_to_the_host) {
  const auto copied = [](const ExpertBudget& device, const ExpertBudget& host, uint64_t free) {
    return copied_experts(device, host, sizes(), room(free), 0);
  };
  EXPECT_EQ(copied({percent, 25}, {percent, 50}, 100), (CopiedExperts{2, 4}));
  EXPECT_EQ(copied({percent, 25}, {bytes, 12.0 * kMebibyte}, 100), (CopiedExperts{2, 3}));
  EXPECT_EQ(copied({percent, 25}, {bytes, 1e15}, 100), (CopiedExperts{2, 8}));
  EXPECT_EQ(copied({percent, 25}, {}, 100), (CopiedExperts{2, 8}));
  // 85 % of 41 MiB hold six experts of each layer beside the other weights, and two of them have slots.
  EXPECT_EQ(copied({percent, 25}, {}, 41), (CopiedExperts{2, 4}));
  EXPECT_EQ(copied_experts({percent, 25}, {}, sizes(), std::nullopt), (CopiedExperts{2, 8}));
  EXPECT_EQ(copied({percent, 100}, {}, 100), (CopiedExperts{8, 8})) << "all have slots";
  EXPECT_EQ(copied({percent, 100}, {}, 41), (CopiedExperts{8, 8})) << "nothing is asked of the host's memory";
  EXPECT_EQ(copied({}, {}, 42), std::nullopt) << "all fit";
  EXPECT_EQ(copied({}, {}, 41), (CopiedExperts{1, 5})) << "a quarter of six";
}

TEST(ExpertBudget, of_copies_is_refused_for_the_host_alone_and_where_nothing_fits) {
  EXPECT_THAT(message_of([] {
                copied_experts({}, {percent, 50}, sizes(), room(100));
              }),
              HasSubstr("--host-budget with --expert-copies"));
  EXPECT_THAT(message_of([] {
                copied_experts({percent, 25}, {bytes, 1}, sizes(), room(100));
              }),
              HasSubstr("--host-budget of 0 KiB. Give at least 4 MiB"));
  // 85 % of 21 MiB hold one expert of each layer beside the other weights, which the slots need already.
  EXPECT_THAT(message_of([] {
                copied_experts({percent, 25}, {}, sizes(), room(21));
              }),
              HasSubstr("too little memory for one expert of each layer"));
  EXPECT_THAT(message_of([] {
                copied_experts({percent, 50}, {}, {{}, 10 * kMebibyte}, room(100));
              }),
              HasSubstr("has no experts"));
}

TEST(ExpertBudget, is_refused_for_a_model_without_experts) {
  const PackedSizes none{{}, 10 * kMebibyte};
  EXPECT_EQ(expert_slots({}, {}, none, room(1)), std::nullopt);
  EXPECT_THAT(message_of([&] { expert_slots({percent, 50}, {}, none, room(1)); }), HasSubstr("has no experts"));
  EXPECT_THAT(message_of([&] { expert_slots({}, {bytes, 1e9}, none, room(1)); }), HasSubstr("has no experts"));
}

}  // namespace
}  // namespace tandem
