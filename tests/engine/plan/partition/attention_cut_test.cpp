#include "engine/plan/partition/attention_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/plan/prediction/device_rates.h"
#include "engine/plan/strategy.h"
#include "tests/engine/plan/fake_devices.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AttentionCut : public ::testing::Test {
 protected:
  // The attention has three KV heads with three query heads each, of 16 elements, over a cache of 2,048 positions.
  Operator attention(int64_t S = 1, int64_t kv_heads = 3) {
    const auto slot = [&](size_t bytes) { return Operand{&pool_.acquire(bytes, sync::SlotUse::activations, "a"), 0}; };
    Attention op;
    op.S = S;
    op.heads = 3 * kv_heads;
    op.q_stride = op.y_stride = op.heads * 16;
    op.q = slot(static_cast<size_t>(S * op.q_stride) * 4);
    op.y = slot(static_cast<size_t>(S * op.y_stride) * 4);
    op.positions = slot(static_cast<size_t>(S) * 4);
    op.cache = kv_cache(KvType::f16, kv_heads, 16, 16, 2048);
    op.segments.pages = slot(static_cast<size_t>(op.cache.pages) * 4);
    op.cache.k = slot(op.cache.k_bytes());
    op.cache.v = slot(op.cache.v_bytes());
    op.scratch = slot(attention_scratch_bytes(S, op.heads, 16, 2048));
    return {"attention", op};
  }
  // Texts such as "whole of 2 heads", "splits 0..8 of 1 heads" and "merge of 1 heads". The heads are KV heads.
  static std::vector<std::string> described(const std::vector<Operator>& parts) {
    std::vector<std::string> texts;
    for (const Operator& part : parts) {
      const auto& op = std::get<Attention>(part.body);
      const std::string heads = " of " + std::to_string(op.cache.kv_heads);
      texts.push_back(op.part == AttentionPart::whole ? "whole" + heads
                      : op.part == AttentionPart::merge
                          ? "merge" + heads
                          : "splits " + std::to_string(op.share_begin) + ".." + std::to_string(op.share_end) + heads);
    }
    return texts;
  }
  sync::Pool pool_;
};

TEST_F(AttentionCut, gives_the_second_device_the_last_heads) {
  const Operator op = attention();
  const AttentionParts parts = attention_parts(op, kAttentionShares);
  EXPECT_THAT(described(parts.first), ElementsAre("whole of 2"));
  EXPECT_THAT(described(parts.second), ElementsAre("whole of 1"));
  EXPECT_THAT(parts.closing, IsEmpty());
  const auto& whole = std::get<Attention>(op.body);
  const auto& second = std::get<Attention>(parts.second[0].body);
  EXPECT_EQ(second.q.offset_bytes, 6u * 16 * 4);
  EXPECT_EQ(second.y.offset_bytes, 6u * 16 * 4);
  EXPECT_EQ(second.cache.k.offset_bytes, 2u * 2048 * 16 * 2);
  EXPECT_EQ(second.cache.v.offset_bytes, 2u * 2048 * 16 * 2);
  EXPECT_EQ(second.positions, whole.positions);
  EXPECT_EQ(second.heads, 3);
}

TEST_F(AttentionCut, shares_the_splits_of_one_head_when_the_shares_are_no_whole_heads) {
  const AttentionParts parts = attention_parts(attention(), 24);
  EXPECT_THAT(described(parts.first), ElementsAre("whole of 1", "splits 0..8 of 1"));
  EXPECT_THAT(described(parts.second), ElementsAre("splits 8..16 of 1", "whole of 1")) << "the shared head first";
  EXPECT_THAT(described(parts.closing), ElementsAre("merge of 1"));
}

TEST_F(AttentionCut, leaves_all_or_nothing_to_one_device) {
  const AttentionParts none = attention_parts(attention(), 0), all = attention_parts(attention(), 48);
  EXPECT_THAT(described(none.first), ElementsAre("whole of 3"));
  EXPECT_THAT(none.second, IsEmpty());
  EXPECT_THAT(all.first, IsEmpty());
  EXPECT_THAT(described(all.second), ElementsAre("whole of 3"));
}

// The seconds of a part: of its KV heads and shares at the device's speed, or of a merge.
double seconds_of(const Operator& op, double of_one_head, double of_merge = 0) {
  const auto& attention = std::get<Attention>(op.body);
  if (attention.part == AttentionPart::merge) return of_merge;
  return of_one_head * static_cast<double>(attention.cache.kv_heads) *
         static_cast<double>(attention.share_end - attention.share_begin) / kAttentionShares;
}
int64_t best(const Operator& op, double first, double second, double sync, double merge = 0) {
  return best_attention_shares(
      op, {[=](bool is_second, const Operator& part) { return seconds_of(part, is_second ? second : first, merge); },
           sync});
}

TEST_F(AttentionCut, ends_both_devices_together) {
  // There are 48 shares. Devices of equal speed get 24 each, 1.5 heads. A second device of half the speed gets 16, one
  // head of three. One of a third of the speed gets 12.
  EXPECT_EQ(best(attention(), 16, 16, 0.1), 24);
  EXPECT_EQ(best(attention(), 16, 32, 0.1), 16);
  EXPECT_EQ(best(attention(), 16, 48, 0.1), 12);
  EXPECT_EQ(best(attention(), 32, 16, 0.1), 32);
}

TEST_F(AttentionCut, takes_whole_heads_where_the_merge_costs_more_than_it_saves) {
  // A head takes 16 seconds. 24 shares end after 24 seconds, the merge and three waits. One head of three ends after 32
  // seconds and two waits.
  EXPECT_EQ(best(attention(), 16, 16, 0.1, 7.5), 24);
  EXPECT_EQ(best(attention(), 16, 16, 0.1, 8.5), 16);
}

TEST_F(AttentionCut, stays_on_one_device_where_waiting_costs_more) {
  EXPECT_EQ(best(attention(), 16, 16, 8.1), 0) << "48 against 32 + 16.2 and 24 + 24.3";
  EXPECT_EQ(best(attention(), 1, 1000, 0.01), 0) << "3 against 62 of one share";
}

TEST_F(AttentionCut, cuts_no_head_without_scratch) {
  Operator op = attention();
  std::get<Attention>(op.body).scratch = {};
  EXPECT_EQ(best(op, 16, 16, 0.1), 16);
  EXPECT_EQ(best(op, 16, 48, 0.1), 0) << "one head ends no sooner than three on the first device";
}

TEST(SplitsOf, are_shares_of_those_that_the_last_token_sees) {
  Attention op;
  op.part = AttentionPart::splits;
  const auto range = [&op](int64_t begin, int64_t end, int64_t last) {
    op.share_begin = begin, op.share_end = end;
    const SplitRange splits = splits_of(op, last);
    return std::pair{splits.begin, splits.end};
  };
  EXPECT_EQ(range(0, 8, 0), (std::pair<int64_t, int64_t>{0, 0})) << "half of one split, rounded down";
  EXPECT_EQ(range(8, 16, 0), (std::pair<int64_t, int64_t>{0, 1}));
  EXPECT_EQ(range(0, 8, 255), (std::pair<int64_t, int64_t>{0, 0}));
  EXPECT_EQ(range(0, 8, 256), (std::pair<int64_t, int64_t>{0, 1}));
  EXPECT_EQ(range(5, 11, 1024), (std::pair<int64_t, int64_t>{1, 3})) << "5 * 5 / 16 and 5 * 11 / 16";
  for (int64_t splits = 1; splits <= 40; ++splits) {
    int64_t covered = 0;
    for (int64_t share = 0; share < kAttentionShares; ++share) {
      const auto [begin, end] = range(share, share + 1, 256 * splits - 1);
      EXPECT_EQ(begin, covered) << "no gap";
      covered = end;
    }
    EXPECT_EQ(covered, splits);
  }
}

TEST_F(AttentionCut, counts_the_positions_of_a_window) {
  // Each of the tokens at 600, 601 and 602 sees 100 positions, together [501, 603). The third split holds the positions
  // from 512 on: 89 + 90 + 91 pairs. The second split holds the rest.
  Attention windowed = std::get<Attention>(attention(3).body);
  windowed.window = 100;
  EXPECT_EQ(windowed.seen(600).pairs, 300);
  EXPECT_EQ(windowed.seen(600).positions, 102);
  Attention last = slice_splits(windowed, 11, 16);  // the third of three splits
  EXPECT_EQ(last.seen(600).pairs, 89 + 90 + 91);
  EXPECT_EQ(last.seen(600).positions, 91);
  // At the beginning of a text a window excludes nothing: 1 + 2 + 3.
  EXPECT_EQ(windowed.seen(0).pairs, 6);
}

TEST_F(AttentionCut, counts_the_positions_that_a_part_sees) {
  // Tokens at 600, 601 and 602 see 601 + 602 + 603 positions, 603 of them different. The three splits are [0, 256),
  // [256, 512) and the rest. Shares 0..8 are one of three splits, and shares 8..16 are two.
  const Attention whole = std::get<Attention>(attention(3).body);
  EXPECT_EQ(whole.seen(600).pairs, 601 + 602 + 603);
  EXPECT_EQ(whole.seen(600).positions, 603);
  EXPECT_EQ(slice_splits(whole, 0, 8).seen(600).pairs, 3 * 256);
  EXPECT_EQ(slice_splits(whole, 0, 8).seen(600).positions, 256);
  EXPECT_EQ(slice_splits(whole, 8, 16).seen(600).pairs, 345 + 346 + 347);
  EXPECT_EQ(slice_splits(whole, 8, 16).seen(600).positions, 347);
  EXPECT_EQ(merge_of(whole).seen(600).pairs, 0);
  // The tokens are at 254 .. 257. The last two see one and two positions of the second split.
  EXPECT_EQ(slice_splits(std::get<Attention>(attention(4).body), 8, 16).seen(254).pairs, 3);
}

TEST_F(AttentionCut, is_priced_by_its_part_of_the_work) {
  const PriorRates rates{1e12, 1e9, 0};  // reading the cache is the bound: 64 bytes for each position and KV head
  const Operator op = attention();
  const AttentionParts parts = attention_parts(op, 24);
  const auto us = [&](const Operator& part) { return prior_seconds(rates, {part, 1023}) * 1e6; };
  EXPECT_NEAR(us(op), 3 * 1024 * 64e-3, 1e-6);
  EXPECT_NEAR(us(parts.first[0]), 1024 * 64e-3, 1e-6);
  EXPECT_NEAR(us(parts.first[1]), 512 * 64e-3, 1e-6);
  EXPECT_NEAR(us(parts.second[0]), 512 * 64e-3, 1e-6);
  EXPECT_LT(us(parts.closing[0]), 1);
  EXPECT_NE(class_of({parts.closing[0], 1023}), class_of({parts.first[1], 1023})) << "a merge is no attention";
}

// Plans for the cache and the attention of one layer.
class SharedAttention : public AttentionCut {
 protected:
  Plan make(const char* name, bool is_beside = true, bool zero_copy = true) {
    Operator op = attention();
    const auto& body = std::get<Attention>(op.body);
    MatMul output;
    output.S = 1;
    output.K = output.x_stride = body.y_stride;
    output.row_end = output.y_stride = 128;
    output.w = {
        packed_format(StorageType::f16),
        128,
        output.K,
        {&pool_.acquire(packed_bytes(packed_format(StorageType::f16), 128, output.K), sync::SlotUse::weights, "w"), 0}};
    output.x = body.y;
    output.y = {&pool_.acquire(128 * 4, sync::SlotUse::activations, "o"), 0};
    KvAppend append{1, body.q, body.q, 48, 48, body.positions, body.cache, body.segments};
    const std::vector<Operator> operators = {{"append", append}, op, {"output", output}};
    std::vector<DeviceTraits> devices = {testing::fake_gpu(), testing::fake_npu(),
                                         testing::fake_host(is_beside ? "npu:0" : "")};
    devices.front().zero_copy = zero_copy;
    PlanRequest request{operators, devices, {}, false};
    request.costs.seconds = [](int, const Operator& each, bool) {
      return std::holds_alternative<Attention>(each.body) ? seconds_of(each, 16) : 1;
    };
    request.costs.sync_seconds = 0.1;
    return find_strategy(name).make(request);
  }
  static std::vector<std::string> on(const Plan& plan, int device) {
    std::vector<Operator> attentions;
    for (const Step& step : plan.steps) {
      for (const Operator& op : step.operators)
        if (step.device == device && std::holds_alternative<Attention>(op.body)) attentions.push_back(op);
    }
    return described(attentions);
  }
};

TEST_F(SharedAttention, is_cut_between_the_gpu_and_the_host_beside_the_npu_in_plans_for_two_devices) {
  for (const char* name : {"tensor", "rows", "staggered", "sequence"}) {
    SCOPED_TRACE(name);
    const Plan plan = make(name);
    EXPECT_THAT(on(plan, 0), ElementsAre("whole of 1", "splits 0..8 of 1", "merge of 1"));
    EXPECT_THAT(on(plan, 2), ElementsAre("splits 8..16 of 1", "whole of 1"));
  }
}

TEST_F(SharedAttention, waits_for_the_cache_and_before_the_merge_alone) {
  const Plan plan = make("rows");
  std::vector<std::string> waits;  // "device: first operator <- device"
  for (const Step& step : plan.steps) {
    for (const int wait : step.waits) {
      const auto* attention = std::get_if<Attention>(&step.operators.front().body);
      const std::string what = attention ? described(step.operators).front() : step.operators.front().name;
      waits.push_back(plan.devices[static_cast<size_t>(step.device)] + ": " + what + " <- " +
                      plan.devices[static_cast<size_t>(plan.steps[static_cast<size_t>(wait)].device)]);
    }
  }
  EXPECT_THAT(waits, ::testing::UnorderedElementsAre("host: splits 8..16 of 1 <- opencl:0",
                                                     "opencl:0: merge of 1 <- host", "opencl:0: output <- host",
                                                     "npu:0: output <- opencl:0", "npu:0: output <- host"));
}

TEST_F(SharedAttention, stays_whole_on_a_host_with_cores_of_its_own_and_beside_a_gpu_that_works_on_copies) {
  EXPECT_THAT(on(make("rows", false), 0), ElementsAre("whole of 3"));
  EXPECT_THAT(on(make("rows", true, false), 0), ElementsAre("whole of 3"));
}

}  // namespace
}  // namespace tandem
