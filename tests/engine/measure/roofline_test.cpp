// The roofline's formulas on numbers worked out by hand, and the results of its loops. The tests judge no time.
#include "engine/measure/roofline.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/measure/roofline_loops.h"
#include "engine/measure/roofline_probe.h"

namespace tandem {
namespace {

Operator matmul(int64_t S, int64_t K, int64_t row_begin, int64_t row_end, StorageType type) {
  MatMul op;
  op.S = S;
  op.K = K;
  op.row_begin = row_begin;
  op.row_end = row_end;
  op.w = {packed_format(type), row_end, K, {}};
  return {"matmul", op};
}

Operator attention(int64_t S, size_t first_token) {
  Attention op;
  op.S = S;
  op.heads = 6;
  op.cache.kv_heads = 2;
  op.cache.head_dim = 8;
  op.cache.head_dim_v = 4;
  op.cache.capacity = 1024;
  op.positions.offset_bytes = first_token * sizeof(int32_t);
  return {"attention", op};
}

Work of(std::vector<Operator> operators, int64_t first_position) {
  const std::vector<Step> steps{{0, std::move(operators), {}, false}};
  return useful_work(steps, first_position);
}

TEST(UsefulWork, of_a_matmul_is_its_own_rows_panels_and_two_flops_a_weight_and_token) {
  // Blocks have 32 4-bit values and a half scale. A tile of 64 rows x 32 columns takes 1024 + 128 bytes, and 64 columns
  // are two tiles.
  const Work work = of({matmul(3, 64, 64, 192, StorageType::q4_0)}, 0);
  EXPECT_EQ(work.bytes, 2 * 2 * 1152);
  EXPECT_EQ(work.flops, 2.0 * 3 * 64 * 128);
  EXPECT_EQ(of({matmul(3, 64, 0, 70, StorageType::f16)}, 0).bytes, 2 * 64 * 64 * 2) << "the last panel is padded";
}

TEST(UsefulWork, of_an_embedding_is_the_rows_that_are_gathered) {
  const Work work = of({{"embed", Embed{5, 64, {packed_format(StorageType::f16), 32000, 64, {}}, {}, {}}}}, 0);
  EXPECT_EQ(work.bytes, 5 * 64 * 2);
  EXPECT_EQ(work.flops, 0);
}

TEST(UsefulWork, of_attention_is_the_causal_number_of_positions) {
  // Tokens at 10, 11 and 12 see 11, 12 and 13 positions. A head takes 2 x (8 + 4) flops for each position.
  const Work work = of({attention(3, 0)}, 10);
  EXPECT_EQ(work.flops, 6 * 24 * (11 + 12 + 13));
  EXPECT_EQ(work.bytes, 13 * 2 * 12 * 2) << "keys and values of 13 positions, two heads, f16";
}

TEST(UsefulWork, of_attention_cut_by_tokens_is_that_of_the_whole) {
  const Work whole = of({attention(5, 0)}, 100), cut = of({attention(2, 0), attention(3, 2)}, 100);
  EXPECT_EQ(cut.flops, whole.flops);
  EXPECT_GT(cut.bytes, whole.bytes) << "each part reads the cache";
}

TEST(UsefulWork, leaves_out_what_stays_in_caches) {
  EXPECT_EQ(of({{"add", Add{4, 64, {}, {}, 64, 64}}}, 0).flops, 0);
  EXPECT_EQ(of({{"add", Add{4, 64, {}, {}, 64, 64}}}, 0).bytes, 0);
}

TEST(Roofline, takes_the_median_of_each_figure_by_itself) {
  const std::vector<CorePeaks> odd{{1, 20, 5, 7, 100, 150}, {3, 10, 4, 9, 120, 140}, {2, 30, 6, 8, 90, 160}};
  const CorePeaks median = median_of(odd);
  EXPECT_EQ(median.fma_one_gflops, 2);
  EXPECT_EQ(median.fma_all_gflops, 20);
  EXPECT_EQ(median.read_one_gbps, 5);
  EXPECT_EQ(median.read_all_gbps, 8);
  EXPECT_EQ(median.int8_one_gops, 100);
  EXPECT_EQ(median.int8_all_gops, 150);
  EXPECT_EQ(median_of(std::span(odd).first(2)).fma_one_gflops, 1);  // a measured figure
  EXPECT_EQ(median_of({}).read_all_gbps, 0);
}

TEST(Roofline, sets_rates_against_the_peaks_of_all_cores) {
  const CorePeaks peaks{50, 200, 20, 40, 250, 500};
  const RooflineShares shares = against(peaks, {5e9, 1e9}, 0.1);
  EXPECT_DOUBLE_EQ(shares.gflops, 50);
  EXPECT_DOUBLE_EQ(shares.gbps, 10);
  EXPECT_DOUBLE_EQ(shares.fma_share, 0.25);
  EXPECT_DOUBLE_EQ(shares.read_share, 0.25);
  EXPECT_DOUBLE_EQ(shares.int8_share, 0.1);
  EXPECT_EQ(against({}, {5e9, 1e9}, 0.1).fma_share, 0) << "nothing was measured";
}

TEST(RooflineLoops, read_every_word_they_are_given_and_no_other) {
  alignas(64) static uint32_t words[3 * kReadWords];
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 3 * kReadWords; ++i) words[i] = i * i;
  for (uint32_t i = kReadWords; i < 2 * kReadWords; ++i) sum += words[i];
  EXPECT_EQ(roofline_loops().read(words + kReadWords, kReadWords), sum);
}

TEST(RooflineLoops, do_the_multiply_adds_they_count) {
  const RooflineLoops& loops = roofline_loops();
  ASSERT_GT(loops.flops_per_round, 0);
  const int64_t elements = loops.flops_per_round / 2;
  // After many rounds of x / 2 + 1 every element of every chain is 2.
  EXPECT_EQ(loops.fma(100), 2.0f * static_cast<float>(elements));
}

TEST(RooflineProbe, measures_every_figure_with_a_buffer_far_above_the_caches) {
  RooflineProbe probe({0});
  EXPECT_GE(probe.buffer_bytes(), size_t{256} << 20);
  const CorePeaks peaks = probe.measure();
  EXPECT_GT(peaks.fma_one_gflops, 0);
  EXPECT_GT(peaks.read_one_gbps, 0);
  EXPECT_EQ(peaks.fma_all_gflops, peaks.fma_one_gflops) << "there is one core";
  EXPECT_EQ(peaks.read_all_gbps, peaks.read_one_gbps);
  EXPECT_EQ(peaks.int8_all_gops, 0) << "nobody asked";
  const CorePeaks all = probe.measure(true);
  EXPECT_GT(all.int8_one_gops, 0);
  EXPECT_EQ(all.int8_all_gops, all.int8_one_gops);
}

TEST(RooflineProbe, understands_cache_sizes_as_linux_writes_them) {
  EXPECT_EQ(cache_size_of("32768K"), size_t{32} << 20);
  EXPECT_EQ(cache_size_of("2M"), size_t{2} << 20);
  EXPECT_EQ(cache_size_of("512"), 512u);
  EXPECT_EQ(cache_size_of("K"), 0u);
  EXPECT_EQ(cache_size_of("1 GB"), 0u);
}

}  // namespace
}  // namespace tandem
