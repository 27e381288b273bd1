#include "engine/plan/partition/solver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/plan/partition/candidates.h"
#include "engine/plan/partition/row_search.h"
#include "sync/error.h"
#include "tests/engine/plan/fake_costs.h"
#include "tests/engine/plan/listed_cuts.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using testing::kPaperExamples;
using testing::kPowersOfTwo;
using testing::kWithDecode;
using testing::limits_with;
using testing::linear_costs;

// HF15, HeteroLLM 5.2.2: tokens are cut if the margin is to the standard size as the GPU's power to the NPU's. 44 to
// 256 is nearly 1 to 6. With 4096 rows the GPU takes 1 s a token. 256 tokens on the NPU beside 44 on the GPU take
// max(42.7, 44) = 44 s. The other cuts take longer:
//   256 and 128 on the NPU: 64; with two of 16 steps of rows on the GPU max(56, 37.5), with three max(52, 56.25)
//   512 on the NPU with three steps on the GPU: max(69.3, 56.25)
//   128 on the NPU: 172; 256 with a step of rows on the GPU: max(40, 18.75 + 41.25)
TEST(Solver, cuts_300_tokens_into_256_for_the_npu_and_44_for_the_gpu) {
  const Decision decision = solve(300, 4096, limits_with(kPaperExamples), linear_costs(6));
  EXPECT_EQ(decision.chosen.cut.kind, CutKind::sequence);
  EXPECT_EQ(to_string(decision.chosen.cut), "256 tokens NPU + 44 tokens GPU");
  EXPECT_DOUBLE_EQ(decision.chosen.seconds, 44);
}

// HF16: 56 to 544 is nearly 1 to 10. 512 and 32 tokens on the NPU take max(54.4, 56) = 56 s. The other cuts
// take longer:
//   one step of 32 more: 57.6 against 24; one less: 88 on the GPU
//   padded to 608 (512, 64 and 32): a step of rows on the GPU max(57, 37.5), two steps max(53.2, 75)
//   576 tokens with a step of rows on the GPU: max(54, 24 + 36) = 60
TEST(Solver, cuts_600_tokens_into_512_and_32_for_the_npu_and_56_for_the_gpu) {
  const Decision decision = solve(600, 4096, limits_with(kPowersOfTwo), linear_costs(10));
  EXPECT_EQ(decision.chosen.cut.kind, CutKind::multi_sequence);
  EXPECT_EQ(to_string(decision.chosen.cut), "512 tokens NPU + 32 tokens NPU + 56 tokens GPU");
  EXPECT_DOUBLE_EQ(decision.chosen.seconds, 56);
}

// HeteroLLM 5.2.2: a margin of 13 behind 512 tokens is too small for the GPU, so the GPU also takes rows. With 10 to 1
// the NPU takes 3.2 s for a step of 256 rows of 512 tokens, and 51.2 s for 16 steps. The GPU takes 13 s for the margin
// and 32 s for a step of the 512 tokens.
//   one step on the GPU: max(48, 13 + 32) = 48; none: 51.2
//   512 and 32 on the NPU: with one step on the GPU max(51, 32.8), with two max(47.6, 65.6)
TEST(Solver, cuts_rows_too_where_the_margin_is_too_small_for_the_gpu) {
  const Decision decision = solve(525, 4096, limits_with(kPowersOfTwo), linear_costs(10));
  EXPECT_EQ(to_string(decision.chosen.cut),
            "NPU tokens 0..512 rows 0..3840 + GPU rows 3840..4096 + GPU tokens 512..525 rows 0..3840");
  EXPECT_EQ(decision.chosen.cut.kind, CutKind::hybrid);
  EXPECT_DOUBLE_EQ(decision.chosen.npu_seconds, 48);
  EXPECT_NEAR(decision.chosen.gpu_seconds, 45, 0.2) << "525 / 16 + 13 * 15 / 16 = 45";
}

// The objective by hand: for 32 tokens and all 512 rows the GPU takes 8 s and the NPU 4 s. Joining costs 1 s. The GPU
// alone takes 8, the NPU alone 4 + 1 = 5, and half the rows each take max(4, 2) + 1 = 5.
TEST(Solver, weighs_joining_against_either_side_alone) {
  const CutLimits limits = limits_with(kPowersOfTwo);
  const auto costs = [](double sync, double copy) {
    return CutCosts{[](const Part& part, bool) {
                      return static_cast<double>(part.rows()) / (part.side == Side::general ? 64 : 128);
                    },
                    sync, copy};
  };
  EXPECT_DOUBLE_EQ(solve(32, 512, limits, costs(1, 0)).chosen.seconds, 5);
  EXPECT_EQ(solve(32, 512, limits, costs(1, 0)).chosen.cut.kind, CutKind::npu_all) << "of equal times the simpler one";
  EXPECT_DOUBLE_EQ(solve(32, 512, limits, costs(1, 2)).chosen.seconds, 7) << "4 + 1 + 2: copying is paid once as well";
  EXPECT_DOUBLE_EQ(solve(32, 512, limits, costs(2, 3)).chosen.seconds, 8) << "4 + 5 > 8, the GPU joins nothing";
  EXPECT_EQ(solve(32, 512, limits, costs(2, 3)).chosen.cut.kind, CutKind::gpu_all);
}

// Decoding (H6): each side alone reads 45 bytes a second, and both together 60. 2700 rows of a byte take 60 s on one
// side. Halves at 30 bytes a second each take 45 s.
TEST(Solver, asks_what_a_side_takes_while_the_other_works_too) {
  const CutCosts costs{[](const Part& part, bool both) { return static_cast<double>(part.rows()) / (both ? 30 : 45); },
                       0, 0};
  CutLimits limits = limits_with(kWithDecode);
  limits.row_step = 50;
  const Decision decision = solve(1, 2700, limits, costs);
  EXPECT_EQ(to_string(decision.chosen.cut), "NPU rows 0..1350 + GPU rows 1350..2700");
  EXPECT_DOUBLE_EQ(decision.chosen.seconds, 45);
  EXPECT_DOUBLE_EQ(decision.best_of_each_kind.front().seconds, 60);
}

TEST(Solver, lists_the_best_of_each_kind_and_says_why) {
  const Decision decision = solve(300, 4096, limits_with(kPaperExamples), linear_costs(6, 1));
  std::vector<std::string> kinds;
  for (const Priced& priced : decision.best_of_each_kind) kinds.push_back(to_string(priced.cut.kind));
  EXPECT_THAT(kinds, ::testing::ElementsAre("gpu", "npu", "pipe", "sequence", "hybrid"));
  EXPECT_EQ(decision.why,
            "sequence takes 45 s (GPU 44 s beside NPU 42.7 s, 1 s to join), hybrid 57 s (GPU 37.5 s beside NPU 56 s, "
            "1 s to join), gpu 300 s");
}

TEST(Solver, leaves_out_a_side_that_cannot_run_the_matmul) {
  const auto only = [](Side side) {
    return CutCosts{
        [side](const Part& part, bool) { return part.side == side ? 1.0 : std::numeric_limits<double>::infinity(); }, 0,
        0};
  };
  EXPECT_EQ(solve(64, 4096, limits_with(kPowersOfTwo), only(Side::general)).chosen.cut.kind, CutKind::gpu_all);
  EXPECT_EQ(solve(64, 4096, limits_with(kPowersOfTwo), only(Side::graphs)).chosen.cut.kind, CutKind::npu_all);
  const CutCosts nobody{[](const Part&, bool) { return std::numeric_limits<double>::infinity(); }, 0, 0};
  EXPECT_THROW(solve(64, 4096, limits_with(kPowersOfTwo), nobody), Error);
}

// Every split at the alignment, written again from the paper. The NPU's graphs run `covered` tokens in `sizes` for the
// first n rows. The GPU runs all the rest.
double brute_force(int64_t S, int64_t N, const CutLimits& limits, const CutCosts& costs) {
  struct Graphs {
    std::vector<int64_t> sizes;
    int64_t covered;
  };
  std::vector<Graphs> all;
  const auto largest_first = [&](int64_t tokens) {
    std::vector<int64_t> sizes;
    for (auto size = limits.graph_tokens.rbegin(); size != limits.graph_tokens.rend(); ++size)
      for (; tokens >= *size; tokens -= *size) sizes.push_back(*size);
    return tokens == 0 ? sizes : std::vector<int64_t>();
  };
  for (int64_t tokens = limits.token_step; tokens < S; tokens += limits.token_step) {
    if (!largest_first(tokens).empty()) all.push_back({largest_first(tokens), tokens});
  }
  if (!largest_first(S).empty()) all.push_back({largest_first(S), S});
  for (const int64_t size : limits.graph_tokens) {
    if (size >= S) all.push_back({{size}, S});
  }
  for (int64_t whole = S / limits.token_step * limits.token_step; whole > 0; whole = -1) {
    std::vector<int64_t> sizes = largest_first(whole);
    for (const int64_t margin : limits.graph_tokens) {
      if (whole == S || sizes.empty() || margin < S - whole) continue;
      std::vector<int64_t> padded = sizes;
      padded.push_back(margin);
      all.push_back({padded, S});
    }
  }
  double best = costs.seconds({Side::general, 0, S, 0, N, S}, false);
  for (const Graphs& graphs : all) {
    for (int64_t rows = limits.row_step;; rows += limits.row_step) {
      const int64_t n = std::min(rows, N);
      const bool both = n < N || graphs.covered < S;
      double npu = 0, gpu = 0;
      int64_t begin = 0;
      for (const int64_t size : graphs.sizes) {
        npu += costs.seconds({Side::graphs, begin, std::min(begin + size, S), 0, n, size}, both);
        begin += size;
      }
      if (n < N) gpu += costs.seconds({Side::general, 0, S, n, N, S}, both);
      if (graphs.covered < S) gpu += costs.seconds({Side::general, graphs.covered, S, 0, n, S - graphs.covered}, both);
      best = std::min(best, std::max(npu, gpu) + costs.sync_seconds + costs.copy_seconds);
      if (n == N) break;
    }
  }
  return best;
}

// Two processors with random rates, launch costs, step sizes and exponents. The NPU computes whole arrays of tokens and
// of rows. More rows never take less time.
CutCosts random_costs(std::mt19937& random) {
  const auto between = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  struct Speed {
    double seconds, launch, both;
    double token_exponent, row_exponent;
    int64_t token_step, row_step;
  };
  const auto speed = [&] {
    const std::array<int64_t, 4> steps = {1, 32, 100, 700};
    return Speed{std::exp(between(-1, 1)), between(0, 1) * between(0, 1), between(1, 1.5),    between(0.5, 1.2),
                 between(0.5, 1.3),        steps[random() % 3],           steps[random() % 4]};
  };
  const Speed gpu = speed(), npu = speed();
  return {[gpu, npu](const Part& part, bool both) {
            const Speed& on = part.side == Side::general ? gpu : npu;
            const auto steps = [](int64_t count, int64_t step) {
              return static_cast<double>((count + step - 1) / step * step);
            };
            return on.launch + on.seconds * std::pow(steps(part.graph_tokens, on.token_step) / 64, on.token_exponent) *
                                   std::pow(steps(part.rows(), on.row_step) / 1024, on.row_exponent) *
                                   (both ? on.both : 1);
          },
          between(0, 0.3), between(0, 0.1)};
}

// The GPU's part of a hybrid cut is an L of two parts. With a launch cost or an exponent of rows its time need not fall
// as the NPU's rows grow. So the test covers the search and its fallback to every cut.
TEST(Solver, is_never_worse_than_every_split_at_alignment) {
  std::mt19937 random(20250113);
  int worse = 0, cut = 0;
  for (int round = 0; round < 400; ++round) {
    const CutCosts costs = random_costs(random);
    CutLimits limits = limits_with(round % 2 == 0 ? kPowersOfTwo : kPaperExamples);
    const int64_t S = 1 + static_cast<int64_t>(random() % 500), N = 256 + static_cast<int64_t>(random() % 4000);
    const Decision decision = solve(S, N, limits, costs);
    const double best = brute_force(S, N, limits, costs);
    worse += decision.chosen.seconds > best * (1 + 1e-9);
    cut += decision.chosen.cut.parts.size() > 1;
    EXPECT_LE(decision.chosen.seconds, best * (1 + 1e-9))
        << "round " << round << ": S " << S << ", N " << N << ": " << to_string(decision.chosen.cut);
  }
  EXPECT_EQ(worse, 0);
  EXPECT_GT(cut, 100) << "cuts pay often enough for this to say something";
}

// The times are stairs on both sides. The best cut of 100 stands where the stairs cross.
TEST(RowSearch, finds_the_best_cut_of_stepped_times_with_few_questions) {
  int asked = 0;
  const CutCosts costs{[&](const Part& part, bool) {
                         ++asked;
                         const int64_t stair = part.side == Side::general ? 1500 : 2300;
                         return std::ceil(static_cast<double>(part.rows()) / static_cast<double>(stair));
                       },
                       0, 0};
  const auto cuts = row_cutting(256, 101 * 256, limits_with(kPowersOfTwo));
  ASSERT_EQ(cuts.size(), 100u);
  for (const size_t guess : {0u, 17u, 60u, 99u}) {
    asked = 0;
    const FoundCut found = best_of_run(cuts, costs, guess);
    const int questions = asked;
    double best = std::numeric_limits<double>::infinity();
    for (const Cut& cut : testing::listed(cuts)) best = std::min(best, price(cut, costs).seconds);
    EXPECT_DOUBLE_EQ(found.priced.seconds, best) << guess;
    EXPECT_LE(questions, 2 * 16) << "2 sides, at most 7 doublings, 7 halvings and both neighbours";
  }
}

TEST(RowSearch, prices_every_cut_when_it_meets_times_that_are_not_monotone) {
  // The NPU is slow at every number of rows except one.
  const CutCosts costs{[](const Part& part, bool) {
                         if (part.side == Side::general) return static_cast<double>(part.rows());
                         return part.rows() == 13 * 256 ? 1.0 : 1e6 - static_cast<double>(part.rows());
                       },
                       0, 0};
  const auto cuts = row_cutting(256, 4096, limits_with(kPowersOfTwo));
  EXPECT_EQ(best_of_run(cuts, costs, 2).priced.cut.parts.front().rows(), 13 * 256);
}

// The matmuls of a layer of Llama-8B for 1000 tokens, with rows in steps of 256, ask for at most this many times. At a
// microsecond each that is below 50 ms.
TEST(Solver, asks_few_questions_for_a_layer_of_a_large_model) {
  int asked = 0;
  CutCosts costs = linear_costs(10, 0.1);
  costs.seconds = [&asked, inner = costs.seconds](const Part& part, bool both) {
    ++asked;
    return inner(part, both);
  };
  for (const int64_t rows : {4096 + 2 * 1024, 4096, 2 * 14336, 4096})
    solve(1000, rows, limits_with(kPowersOfTwo), costs);
  EXPECT_LT(asked, 10000);
  EXPECT_GT(asked, 100);
}

}  // namespace
}  // namespace tandem
