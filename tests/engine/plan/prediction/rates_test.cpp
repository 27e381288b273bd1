// The rates of a device learn from measured times, at several levels of detail. Prompts are cut with them.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "engine/plan/partition/chunk_cutting.h"
#include "engine/plan/prediction/device_rates.h"
#include "engine/plan/prediction/pass_class.h"
#include "engine/plan/prediction/pooled_ratios.h"

namespace tandem {
namespace {

Operator matmul(int64_t S, int64_t K, int64_t N) {
  MatMul op;
  op.S = S;
  op.K = K;
  op.row_end = N;
  op.w = {packed_format(StorageType::f16), N, K, {}};
  return {"matmul", op};
}

using Ratios = PooledRatios<OperatorClass>;

const OperatorClass kSmall{.kind = "matmul", .format = "small"}, kLarge{.kind = "matmul", .format = "large"},
    kMatMul{.kind = "matmul"}, kAll, kSlow{.kind = "slow"}, kOther{.kind = "other"};

TEST(PooledRatios, know_nothing_at_first) { EXPECT_EQ(Ratios().ratio(kSmall), 1); }

// A level begins at its expected ratio. The first ratio of 4 is all that "all" knows, and it counts 1 / 1.5. "matmul"
// begins there, and one observation moves it by 2.5 times at most.
TEST(PooledRatios, say_of_what_is_alike_what_they_saw_of_one) {
  Ratios ratios;
  ratios.learn(kSmall, 4);
  const double all = std::log(4) / 1.5;
  EXPECT_NEAR(ratios.levels().at(kAll).log_ratio, std::log(4), 1e-12);
  EXPECT_NEAR(ratios.levels().at(kMatMul).log_ratio, std::log(4), 1e-12) << "1.6 times what is expected of it";
  const double matmul = all + (std::log(4) - all) / 1.5;
  EXPECT_NEAR(ratios.ratio(kLarge), std::exp(matmul), 1e-9);
  EXPECT_NEAR(ratios.ratio(kSmall), std::exp(matmul + (std::log(4) - matmul) / 1.5), 1e-9);
}

TEST(PooledRatios, come_to_tell_apart_what_differs) {
  Ratios ratios;
  for (int i = 0; i < 20; ++i) {
    ratios.learn(kSmall, 3);
    ratios.learn(kLarge, 0.5);
  }
  EXPECT_NEAR(ratios.ratio(kSmall), 3, 0.2);
  EXPECT_NEAR(ratios.ratio(kLarge), 0.5, 0.05);
}

TEST(PooledRatios, forget) {
  Ratios ratios;
  for (int i = 0; i < 1000; ++i) ratios.learn(kSmall, 3);  // an hour of load
  int passes = 0;
  for (; ratios.ratio(kSmall) > 1.05; ++passes) ratios.learn(kSmall, 1);
  EXPECT_LT(passes, 60);
  EXPECT_GT(passes, 5) << "nor at once";
}

TEST(PooledRatios, add_a_bonus_to_an_option_that_is_never_tried) {
  Ratios ratios;
  ratios.set_level(kSlow, {1.0, 1e9});
  ratios.set_level(kOther, {1.0, 1e9});
  ratios.add_exploration_bonus(kSlow, 0.3, 0.5);
  EXPECT_NEAR(std::log(ratios.ratio(kSlow)), 0.7, 1e-6);
  ratios.add_exploration_bonus(kSlow, 0.3, 0.5);
  EXPECT_NEAR(std::log(ratios.ratio(kSlow)), 0.5, 1e-6) << "and no further";
  EXPECT_NEAR(std::log(ratios.ratio(kOther)), 1.0, 1e-6);
  EXPECT_EQ(ratios.levels().at(kSlow).log_ratio, 1.0) << "the samples stay as they are";
  ratios.add_exploration_bonus(kLarge, 0.3, 0.5);
  EXPECT_NEAR(std::log(ratios.ratio(kLarge)), -0.3, 1e-12);
}

// Each level has twelve observations at log 1 and an exploration bonus of 0.8. One observation of one level settles the
// bonus of both. A tenth less than expected changes nothing.
TEST(PooledRatios, keep_the_confirmed_part_of_a_bonus) {
  const OperatorClass tried{.kind = "slow", .format = "small"}, sibling{.kind = "slow", .format = "large"},
      slower{.kind = "slower"};
  const double sure = 1 * 12 / 12.5;  // the prediction of a level with twelve observations
  struct {
    double seen, exploration_failed, left;  // logarithms
  } const cases[] = {{1.0, 0.8, 0}, {1.7, 0.8, 0}, {0.92, 0.8, 0}, {0.09, 0, 0.8}, {-3, 0, 0.8}, {0.5, 0.4, 0.4}};
  for (const auto& [seen, exploration_failed, left] : cases) {
    Ratios ratios;
    for (const OperatorClass& level : {kSlow, tried, sibling, slower}) ratios.set_level(level, {1.0, 12});
    const double expected = sure + (1 - sure) * 12 / 12.5;
    EXPECT_NEAR(std::log(ratios.ratio(tried)), expected, 1e-12);
    ratios.add_exploration_bonus(kSlow, 0.8, 2);
    EXPECT_NEAR(std::log(ratios.ratio(sibling)), expected - 0.8, 1e-12);
    EXPECT_NEAR(ratios.learn(tried, std::exp(seen), 1e-9), exploration_failed, 0.01) << seen;
    EXPECT_TRUE(ratios.exploration_bonuses().empty());
    EXPECT_NEAR(ratios.levels().at(sibling).log_ratio, 1 - left, 0.01) << seen;
    EXPECT_EQ(ratios.levels().at(slower).log_ratio, 1) << "another kind";
  }
}

// One pass takes a hundred times as long. One level knows better, and one has just begun.
TEST(PooledRatios, do_not_believe_a_single_hiccup) {
  Ratios ratios;
  for (int i = 0; i < 12; ++i) ratios.learn(kSmall, 1);
  ratios.learn(kSmall, 100);
  EXPECT_LT(ratios.ratio(kSmall), 1.05);
  ratios.learn(kLarge, 100);
  EXPECT_LT(ratios.ratio(kLarge), 2.1);
}

TEST(PooledRatios, count_what_is_in_doubt_for_less) {
  Ratios sure, doubtful;
  for (Ratios* ratios : {&sure, &doubtful}) ratios->learn(kSmall, 1);
  sure.learn(kSmall, 1.4);
  doubtful.learn(kSmall, 1.4, 0.25);
  EXPECT_GT(sure.ratio(kSmall), doubtful.ratio(kSmall));
  EXPECT_NEAR(doubtful.levels().at(kAll).log_ratio, std::log(1.4) / 5, 1e-12) << "0.25 of 1.25";
}

// 64 rows of 64 columns in f16 have 8,192 bytes and take 2 * 64 * 64 * (S + 2) flops.
TEST(PriorRates, take_the_longer_of_reading_and_multiplying) {
  const PriorRates rates{1e9, 1e6, 1e-3};
  const Operator one = matmul(1, 64, 64);
  EXPECT_NEAR(prior_seconds(rates, {one}), 1e-3 + 8192e-6, 1e-12) << "24,576 flops take 25 us";
  const Operator many = matmul(2000, 64, 64);
  EXPECT_NEAR(prior_seconds(rates, {many}), 1e-3 + 2.0 * 64 * 64 * 2002 / 1e9, 1e-9);
}

TEST(DeviceRates, know_a_second_model_of_a_format_they_have_seen) {
  DeviceRates rates{PriorRates()};
  const Operator seen = matmul(64, 576, 1536), of_another_model = matmul(50, 2048, 5632);
  for (int i = 0; i < 10; ++i) rates.learn({seen}, 3 * prior_seconds(PriorRates(), {seen}));
  EXPECT_NEAR(rates.seconds({of_another_model}), 3 * prior_seconds(PriorRates(), {of_another_model}),
              0.02 * rates.seconds({of_another_model}));
}

TEST(DeviceRates, tell_apart_what_runs_beside_another_device_and_what_runs_alone) {
  DeviceRates rates{PriorRates()};
  const Operator op = matmul(1, 576, 1536);
  const double bare = prior_seconds(PriorRates(), {op});
  for (int i = 0; i < 10; ++i) {
    rates.learn({op, 0, true}, 2 * bare);
    rates.learn({op, 0, false}, bare);
  }
  EXPECT_NEAR(rates.seconds({op, 0, true}) / rates.seconds({op, 0, false}), 2, 0.25);
}

// The texts of a class and of all levels above it, from the finest.
template <typename Class>
std::vector<std::string> levels_of(Class finest) {
  std::vector<std::string> texts = {to_string(finest)};
  while (finest.broaden()) texts.push_back(to_string(finest));
  return texts;
}
using Texts = std::vector<std::string>;

TEST(OperatorClass, is_its_format_tokens_and_size) {
  const auto of = [](int64_t S, int64_t K, int64_t N, bool beside) {
    const Operator op = matmul(S, K, N);
    return class_of({op, 0, beside});
  };
  EXPECT_EQ(to_string(of(33, 64, 64, false)), "matmul f16 S64 4^6");  // 8,192 bytes are 2^13
  EXPECT_EQ(of(64, 64, 64, true), of(33, 64, 64, false)) << "many tokens are bound by arithmetic";
  EXPECT_EQ(levels_of(of(3, 64, 64, true)), (Texts{"matmul f16 S4 beside 4^6", "matmul f16 S4 beside", "matmul f16 S4",
                                                   "matmul f16", "matmul", "all"}));
  EXPECT_EQ(to_string(of(3, 64, 64, true).of_tokens()), "matmul f16 S4");
}

TEST(OperatorClass, of_attention_is_its_tokens_its_depth_and_whether_scores_are_capped) {
  Attention op;
  op.S = 3;
  const auto of = [&](int64_t past) {
    const Operator whole{"attention", op};
    return class_of({whole, past});
  };
  EXPECT_EQ(to_string(of(100)), "attention S4 from 0");
  EXPECT_EQ(to_string(of(200)), "attention S4 from 256");
  op.score.soft_cap = 50;
  EXPECT_EQ(levels_of(of(200)),
            (Texts{"attention capped S4 from 256", "attention capped S4", "attention capped", "attention", "all"}))
      << "a first guess is what attention without a cap takes";
}

TEST(PassClass, has_its_tokens_above_its_plan) {
  EXPECT_EQ(levels_of(class_of(PassKind{"rows+follow", 40, 300})),
            (Texts{"many S64 rows+follow from 512", "many S64 rows+follow", "many S64", "many", "all"}));
  EXPECT_EQ(to_string(class_of(PassKind{"rows", 1, 255})), "single S1 rows from 0");
  EXPECT_EQ(to_string(class_of(PassKind{"rows", 8, 256})), "few S8 rows from 256");
}

// Files of earlier versions have these texts.
TEST(Classes, are_read_from_their_texts_and_from_no_others) {
  for (const char* text : {"all", "matmul", "matmul i4.g32.half.min", "matmul f16 S64", "matmul f16 S4 beside 4^6",
                           "attention capped S4 from 256", "attention S1 from 0", "rms_norm S16"}) {
    ASSERT_TRUE(OperatorClass::named(text)) << text;
    EXPECT_EQ(to_string(*OperatorClass::named(text)), text);
  }
  for (const char* text : {"", " ", "matmul ", "matmul  f16", "matmul f16 S", "matmul f16 S-1", "matmul f16 S4 S4",
                           "attention from", "attention from x", "attention S4 from 256 more", "matmul f16 4^x"})
    EXPECT_FALSE(OperatorClass::named(text)) << text;
  for (const char* text : {"all", "single", "many S64", "many S64 rows+follow", "few S8 rows from 0"}) {
    ASSERT_TRUE(PassClass::named(text)) << text;
    EXPECT_EQ(to_string(*PassClass::named(text)), text);
  }
  for (const char* text : {"", "some S4", "many S64 rows from", "many S64 rows from 1 2", "many  S64"})
    EXPECT_FALSE(PassClass::named(text)) << text;
}

using Lengths = std::vector<int64_t>;

TEST(CutChunks, what_fits_is_one) {
  const auto never = [](int64_t, int64_t) -> double { throw std::logic_error("there is nothing to weigh"); };
  EXPECT_EQ(cut_chunks(256, 256, never), (Lengths{256}));
  EXPECT_EQ(cut_chunks(1, 256, never), (Lengths{1}));
}

// Every pass of S tokens has an overhead of 2,000 / S. 256 + 42 take 353 in all, 192 + 106 take 327.3, 160 + 138 take
// 325.0 and 152 + 146 take 324.9.
TEST(CutChunks, are_of_about_one_length_where_short_ones_are_slow) {
  const auto seconds = [](int64_t, int64_t S) { return static_cast<double>(S) + 2000.0 / static_cast<double>(S); };
  EXPECT_EQ(cut_chunks(298, 256, seconds), (Lengths{152, 146}));
  EXPECT_EQ(cut_chunks(600, 256, seconds), (Lengths{200, 200, 200}));
}

TEST(CutChunks, are_as_long_as_they_may_be_where_that_pays) {
  const auto seconds = [](int64_t, int64_t S) { return static_cast<double>(S) + (S == 256 || S == 42 ? 0 : 100); };
  EXPECT_EQ(cut_chunks(298, 256, seconds), (Lengths{256, 42}));
}

TEST(CutChunks, know_what_stands_before_them) {
  std::vector<std::pair<int64_t, int64_t>> asked;
  cut_chunks(20, 16, [&](int64_t begin, int64_t S) {
    asked.emplace_back(begin, S);
    return 1.0;
  });
  EXPECT_EQ(asked.front(), (std::pair<int64_t, int64_t>{0, 16}));
  EXPECT_EQ(asked[1], (std::pair<int64_t, int64_t>{16, 4}));
}

// The cut samples a few of 391 passes. Attention makes each pass longer than the one before it, so long passes pay. The
// sum of a few passes is as good as the sum of all.
TEST(CutChunks, of_a_long_prompt_are_cut_as_fast_as_those_of_a_short_one) {
  int64_t asked = 0;
  const auto seconds = [&](int64_t begin, int64_t S) {
    ++asked;
    return static_cast<double>(S * (begin + S)) * 1e-3 + (S % 128 == 0 ? 10.0 : 100.0);
  };
  const Lengths pieces = cut_chunks(100'000, 256, seconds);
  EXPECT_LE(asked, 5 * 17);
  EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), int64_t{0}), 100'000);
  EXPECT_EQ(pieces.size(), 391u);
  EXPECT_EQ(pieces.front(), 256);
}

}  // namespace
}  // namespace tandem
