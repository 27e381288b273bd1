// Each way of cutting lists its cuts, and every cut covers the matmul once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/plan/partition/candidates.h"
#include "engine/plan/partition/token_layout.h"
#include "sync/error.h"
#include "tests/engine/plan/cover.h"
#include "tests/engine/plan/fake_costs.h"
#include "tests/engine/plan/listed_cuts.h"

namespace tandem {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::kPaperExamples;
using testing::kPowersOfTwo;
using testing::kWithDecode;
using testing::limits_with;
using testing::listed;
using ::testing::Not;

std::vector<std::string> texts(const std::vector<Cut>& cuts) {
  std::vector<std::string> all;
  for (const Cut& cut : cuts) all.push_back(std::string(to_string(cut.kind)) + ": " + to_string(cut));
  return all;
}

std::vector<std::string> texts(const RowCuts& run) { return texts(listed(run)); }
std::vector<std::string> texts(const std::vector<RowCuts>& runs) { return texts(listed(runs)); }

std::vector<int64_t> sizes_of(const TokenLayout& layout) {
  std::vector<int64_t> sizes;
  for (const TokenGraph& graph : layout) sizes.push_back(graph.graph_tokens);
  return sizes;
}

TEST(GraphSize, is_the_smallest_that_holds_the_tokens) {
  EXPECT_EQ(graph_size_for(300, limits_with(kPaperExamples)), 512) << "HF14";
  EXPECT_EQ(graph_size_for(256, limits_with(kPaperExamples)), 256);
  EXPECT_EQ(graph_size_for(513, limits_with(kPaperExamples)), 0) << "none does";
  EXPECT_EQ(graph_size_for(300, limits_with({})), 300) << "any size will do";
}

// H2: 600 rows are cut in steps of 256. The NPU has 256 or 512 of them.
TEST(RowCutting, lists_every_number_of_rows_in_steps) {
  EXPECT_THAT(texts(row_cutting(256, 600, limits_with(kPowersOfTwo))),
              ElementsAre("row: NPU rows 0..256 + GPU rows 256..600", "row: NPU rows 0..512 + GPU rows 512..600"));
  EXPECT_THAT(row_cutting(256, 256, limits_with(kPowersOfTwo)), IsEmpty()) << "one step cannot be cut";
}

TEST(RowCutting, runs_a_length_that_sizes_add_up_to_in_several_graphs) {
  EXPECT_THAT(texts(row_cutting(544, 512, limits_with(kPowersOfTwo))),
              ElementsAre("row: NPU tokens 0..512 rows 0..256 + NPU tokens 512..544 rows 0..256 + GPU rows 256..512"));
  EXPECT_THAT(row_cutting(300, 4096, limits_with(kPowersOfTwo)), IsEmpty()) << "needs padding: that is hybrid cutting";
  EXPECT_THAT(texts(row_cutting(300, 512, limits_with({}))), ElementsAre("row: NPU rows 0..256 + GPU rows 256..512"));
}

// H3, HF15: with the sizes 128, 256 and 512, 300 tokens are cut behind the first 128 or 256.
TEST(SequenceCutting, puts_one_standard_size_on_the_npu) {
  EXPECT_THAT(texts(sequence_cutting(300, 4096, limits_with(kPaperExamples))),
              ElementsAre("sequence: 128 tokens NPU + 172 tokens GPU", "sequence: 256 tokens NPU + 44 tokens GPU"));
  EXPECT_THAT(sequence_cutting(31, 4096, limits_with(kWithDecode)), IsEmpty()) << "H9: steps of 32 tokens";
}

// H4, HF16: 512 + 32 tokens on the NPU and 56 on the GPU are one candidate for 600 tokens.
TEST(MultiSequenceCutting, puts_several_standard_sizes_on_the_npu_in_turn) {
  const auto cuts = texts(multi_sequence_cutting(600, 4096, limits_with(kPowersOfTwo)));
  EXPECT_THAT(cuts, Contains("multi-sequence: 512 tokens NPU + 32 tokens NPU + 56 tokens GPU"));
  // Five of the 18 multiples of 32 below 600 are sizes themselves (32 to 512). The other 13 are sums of several sizes.
  EXPECT_EQ(cuts.size(), 13u);
}

// H5: a matmul of 525 tokens and 512 rows. 16 layouts have fewer tokens, 32 to 512 in steps of 32. Another is padded to
// 1024. The last has 512 tokens, and the margin of 13 in 32. Each layout has 256 of the rows.
TEST(HybridCutting, cuts_tokens_and_rows_at_once) {
  const auto cuts = texts(hybrid_cutting(525, 512, limits_with(kPowersOfTwo)));
  EXPECT_EQ(cuts.size(), 18u);
  EXPECT_THAT(cuts, Each(::testing::StartsWith("hybrid: ")));
  EXPECT_THAT(cuts, IsSupersetOf({"hybrid: NPU rows 0..256 (525 tokens in 1024) + GPU rows 256..512",
                                  "hybrid: NPU tokens 0..512 rows 0..256 + NPU tokens 512..525 rows 0..256 (13 tokens "
                                  "in 32) + GPU rows 256..512",
                                  "hybrid: NPU tokens 0..512 rows 0..256 + GPU rows 256..512 + GPU tokens 512..525 "
                                  "rows 0..256"}));
}

// H6 with the bandwidths of HF10: the GPU has 43.3 GB/s of 59.1, the NPU 15.8. 4096 * 15.8 / 59.1 = 1095 rows are 4.28
// steps of 256. So the NPU gets 4 steps, 1024 rows.
TEST(DecodeCutting, shares_rows_in_the_ratio_of_the_bandwidths) {
  const DecodeRates rates{43.3, 59.1 - 43.3};
  EXPECT_EQ(npu_rows_of(4096, 256, rates), 1024);
  EXPECT_EQ(npu_rows_of(4096, 64, rates), 17 * 64) << "1095 / 64 = 17.1";
  EXPECT_EQ(to_string(decode_cutting(1, 4096, limits_with(kWithDecode), rates)),
            "NPU rows 0..1024 + GPU rows 1024..4096");
  EXPECT_EQ(npu_rows_of(4096, 256, {1000, 1}), 256) << "at least one step";
  EXPECT_EQ(npu_rows_of(4096, 256, {1, 1000}), 3840) << "and one for the GPU";
}

TEST(DecodeCutting, leaves_what_cannot_be_cut_to_the_gpu) {
  EXPECT_EQ(npu_rows_of(256, 256, {1, 1}), 0);
  EXPECT_EQ(decode_cutting(1, 256, limits_with(kWithDecode), {1, 1}).kind, CutKind::gpu_all);
  EXPECT_EQ(decode_cutting(1, 4096, limits_with(kPowersOfTwo), {1, 1}).kind, CutKind::gpu_all) << "no graph of 1 token";
  EXPECT_THROW(npu_rows_of(4096, 256, {0, 0}), Error);
}

TEST(Padding, takes_the_next_standard_size) {
  EXPECT_EQ(to_string(*padding(300, 4096, limits_with(kPaperExamples))), "NPU (300 tokens in 512)") << "HF14";
  EXPECT_EQ(to_string(*padding(256, 4096, limits_with(kPaperExamples))), "NPU");
  EXPECT_THAT(sizes_of(padded_layout(1000, limits_with(kPaperExamples))), ElementsAre(512, 512));
  EXPECT_THAT(sizes_of(padded_layout(1030, limits_with(kPaperExamples))), ElementsAre(512, 512, 128)) << "6 in 128";
}

TEST(Pipe, takes_the_largest_sizes_first_and_pads_the_margin) {
  const CutLimits limits = limits_with(kPowersOfTwo);
  EXPECT_THAT(sizes_of(pipe_layout(135, limits)), ElementsAre(128, 32)) << "7 in 32";
  EXPECT_THAT(sizes_of(pipe_layout(525, limits)), ElementsAre(512, 32)) << "13 in 32";
  EXPECT_THAT(sizes_of(pipe_layout(1000, limits)), ElementsAre(512, 256, 128, 64, 32, 32)) << "8 in the last 32";
  EXPECT_THAT(sizes_of(pipe_layout(2100, limits)), ElementsAre(1024, 1024, 32, 32)) << "20 in the last 32";
  EXPECT_EQ(to_string(*pipe(135, 64, limits)), "128 tokens NPU + NPU (7 tokens in 32)");
}

TEST(Pipe, pads_the_margin_as_little_as_the_sizes_allow) {
  EXPECT_THAT(sizes_of(pipe_layout(135, limits_with(kWithDecode))), ElementsAre(128, 7));
  EXPECT_THAT(sizes_of(pipe_layout(525, limits_with(kWithDecode))), ElementsAre(512, 16)) << "one graph, not 8 + 5";
  EXPECT_THAT(sizes_of(pipe_layout(20, limits_with({1, 2, 4, 8}))), ElementsAre(8, 8, 4)) << "no size is a whole step";
}

TEST(Layouts, keep_padding_within_the_buffers) {
  CutLimits limits = limits_with(kPowersOfTwo);
  limits.token_room = 544;
  EXPECT_THAT(padded_layout(525, limits), IsEmpty()) << "1024 do not fit";
  EXPECT_THAT(sizes_of(pipe_layout(525, limits)), ElementsAre(512, 32));
  EXPECT_THAT(texts(hybrid_cutting(525, 512, limits)), Not(Contains(::testing::HasSubstr("1024"))));
  limits.token_room = 543;
  EXPECT_THAT(pipe_layout(525, limits), IsEmpty()) << "a row too few";
  limits.token_room = 525;
  EXPECT_THAT(pipe_layout(525, limits), IsEmpty());
  EXPECT_FALSE(pipe(525, 512, limits).has_value());
  EXPECT_FALSE(padding(525, 512, limits).has_value());
  limits.graph_tokens = kWithDecode;
  EXPECT_THAT(sizes_of(pipe_layout(525, limits)), ElementsAre(512, 8, 5)) << "without padding, then";
}

TEST(Chunks, are_of_one_size_of_at_most_256_tokens) {
  EXPECT_THAT(sizes_of(chunked_layout(525, limits_with(kPowersOfTwo))), ElementsAre(256, 256, 256)) << "13 in the last";
  EXPECT_THAT(sizes_of(chunked_layout(33, limits_with(kPaperExamples))), ElementsAre(256));
  EXPECT_THAT(sizes_of(chunked_layout(300, limits_with({}))), ElementsAre(256, 256));
  CutLimits limits = limits_with(kPowersOfTwo);
  limits.token_room = 576;
  EXPECT_THAT(sizes_of(chunked_layout(525, limits)), ElementsAre(256, 256, 32)) << "768 do not fit";
  limits.token_room = 525;
  EXPECT_THAT(chunked_layout(525, limits), IsEmpty());
}

// The parts of a cut cover every token of every row once. Graphs have standard sizes, and padding lies behind
// all tokens.
void expect_sound(const Cut& cut, int64_t S, int64_t N, const CutLimits& limits) {
  std::vector<testing::Rectangle> covered;
  for (const Part& part : cut.parts)
    covered.push_back({part.token_begin, part.token_end, part.row_begin, part.row_end});
  ASSERT_EQ(testing::fault_of_cover(covered, S, N), "") << S << " tokens: " << to_string(cut);
  for (const Part& part : cut.parts) {
    ASSERT_EQ(part.row_begin % limits.row_step, 0);
    ASSERT_TRUE(part.row_end % limits.row_step == 0 || part.row_end == N);
    if (part.side == Side::general) {
      ASSERT_EQ(part.graph_tokens, part.tokens());
    } else {
      ASSERT_TRUE(limits.graph_tokens.empty() || std::ranges::count(limits.graph_tokens, part.graph_tokens) == 1);
      ASSERT_GE(part.graph_tokens, part.tokens());
      ASSERT_TRUE(part.graph_tokens == part.tokens() || part.token_end == S);
      ASSERT_TRUE(limits.token_room == 0 || part.token_begin + part.graph_tokens <= limits.token_room);
    }
  }
}

int64_t npu_tokens(const Cut& cut) {
  int64_t end = 0;
  for (const Part& part : cut.parts)
    if (part.side == Side::graphs) end = std::max(end, part.token_end);
  return end;
}

TEST(Cutting, of_every_kind_and_length_cover_the_matmul_once) {
  constexpr int64_t N = 600;
  for (const auto& sizes : {kPowersOfTwo, kPaperExamples, kWithDecode, std::vector<int64_t>{}}) {
    for (int64_t S = 1; S <= 600; ++S) {
      CutLimits limits = limits_with(sizes);
      limits.token_room = S % 3 == 0 ? 0 : S + 40;
      for (const Cut& cut : listed(row_cutting(S, N, limits))) {
        expect_sound(cut, S, N, limits);
        ASSERT_EQ(cut.kind, CutKind::row);
      }
      for (const Cut& cut : sequence_cutting(S, N, limits)) {
        expect_sound(cut, S, N, limits);
        ASSERT_EQ(cut.kind, CutKind::sequence);
        ASSERT_EQ(npu_tokens(cut) % limits.token_step, 0);
      }
      for (const Cut& cut : multi_sequence_cutting(S, N, limits)) {
        expect_sound(cut, S, N, limits);
        ASSERT_EQ(cut.kind, CutKind::multi_sequence);
        ASSERT_EQ(npu_tokens(cut) % limits.token_step, 0);
      }
      for (const Cut& cut : listed(hybrid_cutting(S, N, limits))) {
        expect_sound(cut, S, N, limits);
        ASSERT_EQ(cut.kind, CutKind::hybrid);
        ASSERT_TRUE(npu_tokens(cut) == S || npu_tokens(cut) % limits.token_step == 0);
      }
      expect_sound(decode_cutting(S, N, limits, {2, 1}), S, N, limits);
      if (const auto cut = padding(S, N, limits)) expect_sound(*cut, S, N, limits);
      if (const auto cut = pipe(S, N, limits)) expect_sound(*cut, S, N, limits);
      const TokenLayout chunks = chunked_layout(S, limits);
      if (!chunks.empty()) expect_sound(cut_at(S, N, chunks, N), S, N, limits);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace tandem
