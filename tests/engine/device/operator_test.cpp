#include "engine/device/operator.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sync/error.h"
#include "sync/pool.h"

namespace tandem {
namespace {

struct OperatorTest : ::testing::Test {
  sync::Pool pool;
  sync::Slot& slot = pool.acquire(1 << 20, sync::SlotUse::activations, "operator test");
  Operand at(size_t bytes) const { return {&slot, bytes}; }
  KvCache cache_at(KvCache cache, size_t k, size_t v) const {
    cache.k = at(k), cache.v = at(v);
    return cache;
  }

  MatMul matmul() const {
    MatMul op;
    op.S = 5, op.K = 64, op.row_begin = 64, op.row_end = 200;
    op.w = {packed_format(StorageType::q4_1), 200, 64, at(4096)};
    op.x = at(0), op.x_stride = 80;
    op.y = at(65536), op.y_stride = 256;
    return op;
  }
};

TEST_F(OperatorTest, a_matmul_reads_only_the_panels_of_its_rows) {
  const Operator op{"m", matmul()};
  const auto read = reads(op);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].at.offset_bytes, 4096u + 2560);  // skips one panel: two tiles of 1280 bytes
  EXPECT_EQ(read[0].width_bytes, 3u * 2560);         // rows 64..199 lie in panels 1 to 3
  EXPECT_EQ(read[1].rows, 5);
  EXPECT_EQ(read[1].width_bytes, 256u);
  EXPECT_EQ(read[1].pitch_bytes, 320u);
  const auto written = writes(op);
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].at.offset_bytes, 65536u + 64 * 4);
  EXPECT_EQ(written[0].width_bytes, 136u * 4);
}

TEST_F(OperatorTest, the_work_of_a_matmul_counts_multiply_and_add) {
  const Work of = work({"m", matmul()});
  EXPECT_EQ(of.flops, 2.0 * 5 * 64 * 136);
  EXPECT_EQ(of.bytes, 3 * 2560.0 + 5 * 64 * 4 + 5 * 136 * 4);
}

TEST_F(OperatorTest, slices_of_rows_add_up_to_the_whole_work) {
  const MatMul whole = matmul();
  const MatMul upper = slice_rows(whole, 64, 128), lower = slice_rows(whole, 128, 200);
  EXPECT_EQ(work({"u", upper}).flops + work({"l", lower}).flops, work({"w", whole}).flops);
  EXPECT_EQ(upper.y, whole.y) << "y stays column 0";
}

TEST_F(OperatorTest, a_row_slice_off_the_panels_is_refused) {
  EXPECT_THROW(slice_rows(matmul(), 64, 100), Error);
  EXPECT_THROW(slice_rows(matmul(), 0, 128), Error);
  EXPECT_THROW(slice_rows(matmul(), 64, 256), Error);
  EXPECT_NO_THROW(slice_rows(matmul(), 192, 200));
}

TEST_F(OperatorTest, a_token_slice_advances_what_belongs_to_tokens) {
  const Operator part = slice_tokens({"m", matmul()}, 2, 5);
  const auto& op = std::get<MatMul>(part.body);
  EXPECT_EQ(op.S, 3);
  EXPECT_EQ(op.x.offset_bytes, 2u * 80 * 4);
  EXPECT_EQ(op.y.offset_bytes, 65536u + 2 * 256 * 4);
  EXPECT_EQ(op.w.data.offset_bytes, 4096u);
}

TEST_F(OperatorTest, a_token_slice_of_attention_has_its_own_scratch_and_positions) {
  Attention op;
  op.S = 4, op.heads = 6, op.q = at(0), op.q_stride = 6 * 32, op.y = at(8192), op.y_stride = 6 * 32;
  op.positions = at(16384), op.scratch = at(32768);
  op.cache = cache_at(kv_cache(KvType::f16, 2, 32, 32, 512), 65536, 131072);
  op.segments.pages = at(24576);
  const Operator part = slice_tokens({"a", op}, 1, 4);
  const auto& slice = std::get<Attention>(part.body);
  EXPECT_EQ(slice.positions.offset_bytes, 16384u + 4);
  EXPECT_EQ(slice.scratch.offset_bytes, 32768u + 6 * 2 * 48 * 4);  // 2 + 32 floats are padded to 48; two splits of 256
  EXPECT_EQ(slice.cache.k, op.cache.k);
}

Attention attention_of(const OperatorTest& test) {
  const KvCache cache = test.cache_at(kv_cache(KvType::f16, 3, 16, 20, 512), 131072, 262144);
  const Segments segments{1, 0, {}, test.at(12288)};
  return {5, 6, test.at(0), 112, test.at(4096), 144, test.at(8192), cache, segments, {1}, false, test.at(32768)};
}

TEST_F(OperatorTest, a_head_slice_advances_what_belongs_to_heads) {
  const Attention slice = slice_heads(attention_of(*this), 1, 3);
  EXPECT_EQ(slice.heads, 4);
  EXPECT_EQ(slice.cache.kv_heads, 2);
  EXPECT_EQ(slice.q.offset_bytes, 2u * 16 * 4);
  EXPECT_EQ(slice.y.offset_bytes, 4096u + 2 * 20 * 4);
  EXPECT_EQ(slice.cache.k.offset_bytes, 131072u + 512 * 16 * 2);
  EXPECT_EQ(slice.cache.v.offset_bytes, 262144u + 512 * 20 * 2);
  EXPECT_EQ(slice.positions.offset_bytes, 8192u);
  EXPECT_EQ(slice.scratch.offset_bytes, 32768u + 5 * 2 * 2 * 32 * 4);  // 2 + 20 floats are padded to 32; two splits
}

TEST_F(OperatorTest, a_head_slice_beyond_the_heads_is_refused) {
  EXPECT_THROW(slice_heads(attention_of(*this), 1, 4), Error);
  EXPECT_THROW(slice_heads(attention_of(*this), 2, 1), Error);
  EXPECT_THROW(slice_heads(attention_of(*this), -1, 1), Error);
}

TEST_F(OperatorTest, a_part_of_an_attention_has_no_slice_of_tokens) {
  const Attention whole = attention_of(*this);
  EXPECT_THROW(slice_tokens({"s", slice_splits(whole, 0, 8)}, 0, 2), Error);
  EXPECT_THROW(slice_tokens({"m", merge_of(whole)}, 0, 2), Error);
  EXPECT_THROW(slice_splits(whole, 8, 17), Error);
  EXPECT_THROW(slice_splits(merge_of(whole), 0, 8), Error);
}

TEST_F(OperatorTest, shares_of_an_attention_fill_scratch_and_their_merge_writes_what_the_whole_does) {
  const Attention whole = attention_of(*this);
  const auto outputs = writes({"w", whole}), filled = writes({"s", slice_splits(whole, 0, 8)}),
             merged = writes({"m", merge_of(whole)}), read = reads({"m", merge_of(whole)});
  ASSERT_EQ(outputs.size(), 2u);
  ASSERT_EQ(filled.size(), 1u);
  EXPECT_EQ(filled[0].at, outputs[1].at);
  EXPECT_EQ(filled[0].width_bytes, outputs[1].width_bytes);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].at, outputs[0].at);
  EXPECT_EQ(merged[0].width_bytes, outputs[0].width_bytes);
  EXPECT_TRUE(covers(read.back(), filled[0]));
  EXPECT_EQ(work({"s", slice_splits(whole, 4, 8)}).flops, work({"w", whole}).flops / 4);
}

TEST_F(OperatorTest, parts_keep_the_name_and_the_layer) {
  const Operator whole{"blk.3.ffn", matmul(), 3};
  const Operator rows = with_body(whole, slice_rows(std::get<MatMul>(whole.body), 64, 128));
  EXPECT_EQ(rows.name, "blk.3.ffn");
  EXPECT_EQ(rows.layer, 3);
  EXPECT_EQ(slice_tokens(whole, 0, 1).layer, 3);
}

TEST_F(OperatorTest, what_a_device_does_not_list_is_missing) {
  const Features most{Feature::attention, Feature::norm, Feature::activation};
  Attention attention = attention_of(*this);
  EXPECT_EQ(missing_feature({"a", attention}, most), std::nullopt);
  attention.window = 7;
  EXPECT_EQ(missing_feature({"a", attention}, most), Feature::window);
  attention.window = 0;
  attention.score.soft_cap = 50;
  EXPECT_EQ(missing_feature({"a", attention}, most), Feature::capped_attention);
  RmsNorm norm;
  EXPECT_EQ(missing_feature({"n", norm}, most), std::nullopt);
  norm.add = at(0);
  EXPECT_EQ(missing_feature({"n", norm}, most), Feature::residual);
  norm.add = {};
  norm.centred = true;
  EXPECT_EQ(missing_feature({"n", norm}, most), Feature::centred_norm);
  norm.centred = false;
  norm.biased = true;
  EXPECT_EQ(missing_feature({"n", norm}, most), Feature::norm_bias);
  Glu glu;
  glu.activation = Activation::gelu_tanh;
  EXPECT_EQ(missing_feature({"g", glu}, most), Feature::gelu);
  glu.activation = Activation::squared_relu;
  EXPECT_EQ(missing_feature({"g", glu}, most), Feature::squared_relu);
  glu.activation = Activation::silu;
  EXPECT_EQ(missing_feature({"g", glu}, most), std::nullopt);
  glu.gated = false;
  EXPECT_EQ(missing_feature({"g", glu}, most), Feature::ungated);
  EXPECT_EQ(missing_feature({"m", matmul()}, most), Feature::products);
}

TEST_F(OperatorTest, shapes_differ_by_every_field_but_not_by_places) {
  const Attention attention = attention_of(*this);
  Attention elsewhere = attention, windowed = attention, capped = attention;
  elsewhere.q = at(64), elsewhere.cache.k = at(512);
  windowed.window = 7;
  capped.score.soft_cap = 50;
  EXPECT_TRUE(same_shape({"a", attention, 3}, {"b", elsewhere, 4}));
  EXPECT_FALSE(same_shape({"a", attention}, {"a", windowed}));
  EXPECT_FALSE(same_shape({"a", attention}, {"a", capped}));
  EXPECT_FALSE(same_shape({"a", attention}, {"a", merge_of(attention)}));
  RmsNorm norm, adding;
  adding.add = at(0);
  EXPECT_FALSE(same_shape({"n", norm}, {"n", adding}));
  EXPECT_FALSE(same_shape({"n", norm}, {"m", matmul()}));
}

TEST_F(OperatorTest, a_token_slice_beyond_the_end_is_refused) {
  EXPECT_THROW(slice_tokens({"m", matmul()}, 3, 6), Error);
  EXPECT_THROW(slice_tokens({"m", matmul()}, 3, 2), Error);
}

// Counts how often the regions touch each byte.
std::map<size_t, int> touched(const std::vector<Region>& regions) {
  std::map<size_t, int> bytes;
  for (const Region& region : regions) {
    for (int64_t row = 0; row < region.rows; ++row) {
      const size_t begin = region.at.offset_bytes + static_cast<size_t>(row) * region.pitch_bytes;
      for (size_t byte = begin; byte < begin + region.width_bytes; ++byte) ++bytes[byte];
    }
  }
  return bytes;
}

// The regions that each kind of operator writes. Each token has a place of its own.
TEST_F(OperatorTest, token_slices_of_every_kind_write_each_byte_of_the_whole_once) {
  RmsNorm norm{5, 2, 16, at(0), at(4096), 40, 48, at(8192), 32, at(12288)};
  const KvCache cache = cache_at(kv_cache(KvType::f16, 2, 16, 16, 64), 65536, 131072);
  const Segments segments{1, 0, {}, at(12288)};
  Attention attention{5, 2, at(0), 32, at(4096), 40, at(8192), cache, segments, {1}, false, at(32768)};
  const std::vector<Operator> all = {
      {"matmul", matmul()},
      {"embed", Embed{5, 16, matmul().w, at(0), at(4096)}},
      {"rms_norm", norm},
      {"rope", Rope{5, 2, 16, 16, RopeLayout::halves, at(0), 40, at(4096), at(8192), 64}},
      {"attention", attention},
      {"swiglu", Glu{5, 16, at(0), at(64), 32, 32, at(4096), 24}},
      {"scale", Scale{5, 16, at(0), 24, 2}},
      {"scale of experts", Scale{5, 16, at(0), 24, 1, 0, 2, 8, true, at(4096), at(8192), at(12288)}},
      {"bias of experts", Bias{5, 16, at(0), 24, at(4096), 2, 8, true, at(8192), at(12288)}},
      {"add", Add{5, 16, at(0), at(4096), 24, 16}},
      {"bias", Bias{5, 16, at(0), 24, at(4096)}},
      {"softmax", Softmax{5, 16, at(0), 24}},
      {"argmax", ArgMax{5, 16, at(0), 24, at(4096)}},
      {"top_k", TopK{5, 16, 3, at(0), 24, at(4096), at(8192)}},
  };
  for (const Operator& op : all) {
    const Operator first = slice_tokens(op, 0, 2), second = slice_tokens(op, 2, 5);
    std::vector<Region> written = writes(first);
    for (const Region& region : writes(second)) written.push_back(region);
    EXPECT_EQ(touched(written), touched(writes(op))) << op.name;
    const std::map<size_t, int> whole = touched(reads(op));
    for (const auto& [byte, times] : touched(reads(second)))
      EXPECT_TRUE(whole.contains(byte)) << op.name << " reads byte " << byte;
  }
}

TEST_F(OperatorTest, head_slices_of_an_attention_touch_each_byte_of_the_whole) {
  const Attention whole = attention_of(*this);
  const Operator first{"f", slice_heads(whole, 0, 1)}, second{"s", slice_heads(whole, 1, 3)};
  std::vector<Region> written = writes(first), read = reads(first);
  for (const Region& region : writes(second)) written.push_back(region);
  for (const Region& region : reads(second)) read.push_back(region);
  EXPECT_EQ(touched(written), touched(writes({"w", whole})));
  auto expected = touched(reads({"w", whole}));
  for (size_t byte = 8192; byte < 8192 + 5 * 4; ++byte) ++expected[byte];    // both read the positions
  for (size_t byte = 12288; byte < 12288 + 2 * 4; ++byte) ++expected[byte];  // and the table of two pages
  EXPECT_EQ(touched(read), expected);
}

TEST_F(OperatorTest, an_attention_of_later_tokens_begins_later) {
  const Operator whole{"w", attention_of(*this)}, part = slice_tokens(whole, 2, 5);  // positions begin at byte 8192
  EXPECT_EQ(past_of(whole, {100, 8192}), 100);
  EXPECT_EQ(past_of(part, {100, 8192}), 102);
  EXPECT_EQ(past_of({"m", matmul()}, {100, 8192}), std::nullopt);
  at(8192).as<int32_t>()[2] = 7;
  EXPECT_EQ(past_in_memory(part), 7);
  EXPECT_EQ(past_of(part, {100, 8192}), 102) << "memory does not matter";
}

TEST_F(OperatorTest, a_token_slice_of_a_norm_adds_its_own_tokens) {
  const RmsNorm norm{5, 1, 16, at(0), at(4096), 40, 48, at(8192), 32, at(12288)};
  const Operator part = slice_tokens({"n", norm}, 2, 5);
  EXPECT_EQ(std::get<RmsNorm>(part.body).add.offset_bytes, 8192u + 2 * 32 * 4);
}

TEST_F(OperatorTest, attention_scratch_has_room_for_a_last_split_that_is_not_whole) {
  EXPECT_EQ(attention_scratch_bytes(1, 1, 14, 256), 1u * 16 * 4);
  EXPECT_EQ(attention_scratch_bytes(1, 1, 14, 320), 2u * 16 * 4) << "64 positions behind the first 256";
}

TEST_F(OperatorTest, an_embedding_reads_the_rows_it_looks_up_and_not_the_table) {
  // A row of 64 q4_1 values has 40 bytes, because two tiles of 1280 bytes hold 64 rows. An id and 64 floats are added.
  EXPECT_EQ(work({"e", Embed{5, 64, matmul().w, at(0), at(4096)}}).bytes, 5.0 * (40 + 4 + 64 * 4));
}

TEST_F(OperatorTest, a_norm_writes_its_input_only_with_an_addition) {
  RmsNorm norm;
  norm.S = 2, norm.width = 16, norm.x = at(0), norm.y = at(1024), norm.x_stride = norm.y_stride = 16;
  norm.weight = at(2048);
  EXPECT_EQ(writes({"n", norm}).size(), 1u);
  norm.add = at(4096), norm.add_stride = 16;
  EXPECT_EQ(writes({"n", norm}).size(), 2u);
  EXPECT_EQ(reads({"n", norm}).size(), 3u);
}

TEST_F(OperatorTest, shape_only_operators_have_work_too) {
  MatMul op = matmul();
  op.x = op.y = op.w.data = {};
  EXPECT_EQ(work({"m", op}).flops, 2.0 * 5 * 64 * 136);
  EXPECT_NO_THROW(slice_tokens({"m", op}, 1, 2));
}

TEST(Operator, every_kind_has_its_name) {
  EXPECT_STREQ(kind_name({"", MatMul{}}), "matmul");
  EXPECT_STREQ(kind_name({"", Embed{}}), "embed");
  EXPECT_STREQ(kind_name({"", RmsNorm{}}), "rms_norm");
  EXPECT_STREQ(kind_name({"", KvAppend{}}), "kv_append");
  EXPECT_STREQ(kind_name({"", TopK{}}), "top_k");
  Glu unit;
  unit.activation = Activation::squared_relu;
  EXPECT_STREQ(kind_name({"", unit}), "squared_reglu");
  unit.gated = false;
  EXPECT_STREQ(kind_name({"", unit}), "squared_relu");
  EXPECT_STREQ(kind_name({"", Attention{}}), "attention");
  EXPECT_STREQ(kind_name({"", merge_of(Attention{})}), "attention_merge");
}

}  // namespace
}  // namespace tandem
