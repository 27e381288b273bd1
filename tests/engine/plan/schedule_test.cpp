#include "engine/plan/schedule.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

// A [rows x width] f32 matrix in a slot of its own.
struct Matrix {
  Operand at;
  int64_t width;
};

class Schedule : public ::testing::Test {
 protected:
  Matrix matrix(int64_t rows, int64_t width) {
    return {{&pool_.acquire(static_cast<size_t>(rows * width) * 4, sync::SlotUse::activations, "m"), 0}, width};
  }
  // x += y for two tokens.
  static Operator add(const char* name, const Matrix& x, const Matrix& y) {
    return {name, Add{2, x.width, x.at, y.at, x.width, y.width}};
  }
  // Rows [begin, end) of y = W x for two tokens.
  Operator matmul(const char* name, const Matrix& x, const Matrix& y, int64_t begin, int64_t end) {
    MatMul op;
    op.S = 2;
    op.K = x.width;
    op.row_begin = begin;
    op.row_end = end;
    op.w = {
        packed_format(StorageType::f16),
        y.width,
        x.width,
        {&pool_.acquire(packed_bytes(packed_format(StorageType::f16), y.width, x.width), sync::SlotUse::weights, "w"),
         0}};
    op.x = x.at;
    op.y = y.at;
    op.x_stride = x.width;
    op.y_stride = y.width;
    return {name, op};
  }
  // A cache of 64 positions of one head, and tokens [begin, end) of a batch of 32.
  KvCache cache() {
    KvCache cache = kv_cache(KvType::f16, 1, 16, 16, 64);
    cache.k = {&pool_.acquire(cache.k_bytes(), sync::SlotUse::device_local, "k"), 0};
    cache.v = {&pool_.acquire(cache.v_bytes(), sync::SlotUse::device_local, "v"), 0};
    return cache;
  }
  static Operator append(const char* name, const KvCache& cache, const Matrix& kv, const Matrix& positions,
                         int64_t begin, int64_t end) {
    const KvAppend op{32, kv.at, kv.at.advanced(64), 32, 32, positions.at, cache, {}};
    return slice_tokens({name, op}, begin, end);
  }
  static Operator attend(const char* name, const KvCache& cache, const Matrix& q, const Matrix& y,
                         const Matrix& positions, int64_t begin, int64_t end) {
    Attention op;
    op.S = 32;
    op.heads = 1;
    op.q = q.at;
    op.y = y.at;
    op.q_stride = op.y_stride = 16;
    op.positions = positions.at;
    op.cache = cache;
    return slice_tokens({name, op}, begin, end);
  }
  Plan plan(std::vector<Placed> placed) { return schedule("test", {"gpu", "npu"}, placed); }
  sync::Pool pool_;
};

TEST_F(Schedule, joins_neighbours_on_one_device_into_one_step) {
  const Matrix a = matrix(2, 128), b = matrix(2, 128);
  const Plan p = plan({{0, add("one", a, b)}, {0, add("two", b, a)}, {0, add("three", a, b)}});
  ASSERT_EQ(p.steps.size(), 1u);
  EXPECT_EQ(p.steps[0].operators.size(), 3u);
  EXPECT_TRUE(p.steps[0].waits.empty());
  EXPECT_TRUE(p.steps[0].signals) << "the end of the plan waits for it";
  EXPECT_EQ(p.steps[0].name(), "one .. three");
}

TEST_F(Schedule, waits_where_an_operator_reads_what_another_device_wrote) {
  const Matrix a = matrix(2, 128), b = matrix(2, 128), c = matrix(2, 128);
  const Plan p = plan({{0, add("write a", a, b)}, {1, add("read a", c, a)}});
  ASSERT_EQ(p.steps.size(), 2u);
  EXPECT_EQ(p.steps[1].waits, std::vector<int>{0});
  EXPECT_TRUE(p.steps[0].signals);
}

TEST_F(Schedule, waits_before_overwriting_what_another_device_still_reads) {
  const Matrix a = matrix(2, 128), b = matrix(2, 128), c = matrix(2, 128);
  const Plan p = plan({{0, add("read b", a, b)}, {1, add("write b", b, c)}});
  EXPECT_EQ(p.steps[1].waits, std::vector<int>{0});
}

TEST_F(Schedule, lets_two_devices_write_disjoint_columns_of_one_matrix_at_once) {
  const Matrix x = matrix(2, 64), y = matrix(2, 256), z = matrix(2, 256);
  const Plan p = plan({{0, add("make x", x, x)},
                       {0, matmul("rows 0..128", x, y, 0, 128)},
                       {1, matmul("rows 128..256", x, y, 128, 256)},
                       {0, add("use y", z, y)}});
  // gpu runs: make x | rows 0..128 | use y. npu runs: rows 128..256.
  ASSERT_EQ(p.steps.size(), 4u);
  EXPECT_EQ(p.steps[0].operators[0].name, "make x");
  EXPECT_EQ(p.steps[1].operators[0].name, "rows 0..128");
  EXPECT_TRUE(p.steps[1].waits.empty());
  EXPECT_EQ(p.steps[2].waits, std::vector<int>{0}) << "the NPU starts with x, beside the GPU's rows";
  EXPECT_EQ(p.steps[3].waits, std::vector<int>{2});
  EXPECT_FALSE(p.steps[1].signals) << "nobody else waits for the GPU's rows";
}

TEST_F(Schedule, does_not_wait_again_for_what_is_known_to_have_ended) {
  const Matrix a = matrix(2, 128), b = matrix(2, 128), c = matrix(2, 128);
  const Plan p = plan({{0, add("write a", a, a)}, {1, add("read a once", b, a)}, {1, add("read a twice", c, a)}});
  ASSERT_EQ(p.steps.size(), 2u) << "the second reader needs no wait, so both are one step";
}

TEST_F(Schedule, knows_what_the_device_it_waited_for_had_waited_for) {
  const Matrix a = matrix(2, 128), b = matrix(2, 128), c = matrix(2, 128);
  // npu writes a, gpu copies it into b, npu reads b, and gpu overwrites a with c. The last step must wait for "b to
  // c" only.
  const Plan p =
      plan({{1, add("write a", a, a)}, {0, add("a to b", b, a)}, {1, add("b to c", c, b)}, {0, add("c to a", a, c)}});
  ASSERT_EQ(p.steps.size(), 4u);
  EXPECT_EQ(p.steps[1].waits, std::vector<int>{0});
  EXPECT_EQ(p.steps[2].waits, std::vector<int>{1});
  EXPECT_EQ(p.steps[3].waits, std::vector<int>{2});
}

// A wait for a step does not include what that device learnt after the step.
TEST_F(Schedule, knows_nothing_that_the_other_device_learnt_later) {
  const Matrix a = matrix(2, 128), b = matrix(2, 128), c = matrix(2, 128), d = matrix(2, 128), e = matrix(2, 128);
  const std::vector<Placed> placed = {{1, add("npu writes a", a, a)},
                                      {2, add("host writes b", b, b)},
                                      {1, add("npu reads b", c, b)},
                                      {0, add("gpu reads a", d, a)},
                                      {0, add("gpu reads b", e, b)}};
  const Plan p = schedule("test", {"gpu", "npu", "host"}, placed);
  ASSERT_EQ(p.steps.size(), 5u);
  EXPECT_EQ(p.steps[2].waits, std::vector<int>{1});
  EXPECT_EQ(p.steps[3].waits, std::vector<int>{0});
  EXPECT_EQ(p.steps[4].waits, std::vector<int>{1}) << "the NPU's first step had not waited for the host";
}

TEST_F(Schedule, has_every_device_signal_its_last_step) {
  const Matrix a = matrix(2, 128), b = matrix(2, 128);
  const Plan p = plan({{0, add("a", a, a)}, {1, add("b", b, b)}});
  ASSERT_EQ(p.steps.size(), 2u);
  EXPECT_TRUE(p.steps[0].signals);
  EXPECT_TRUE(p.steps[1].signals);
}

// Device 1 has tokens 0 to 15, and device 0 has tokens 16 to 31.
TEST_F(Schedule, lets_earlier_tokens_attend_while_later_ones_are_appended) {
  const KvCache kv = cache();
  const Matrix x = matrix(32, 32), q = matrix(32, 16), y = matrix(32, 16), positions = matrix(32, 1);
  const Plan p = plan({{1, append("early k, v", kv, x, positions, 0, 16)},
                       {0, append("late k, v", kv, x, positions, 16, 32)},
                       {1, attend("early", kv, q, y, positions, 0, 16)},
                       {0, attend("late", kv, q, y, positions, 16, 32)}});
  // Device 1 runs append | attend. Device 0 runs append | attend, and this attention sees all tokens.
  ASSERT_EQ(p.steps.size(), 4u);
  EXPECT_TRUE(p.steps[1].waits.empty()) << "other tokens, other positions";
  EXPECT_TRUE(p.steps[2].waits.empty()) << "later tokens are not seen";
  EXPECT_EQ(p.steps[3].operators[0].name, "late");
  EXPECT_EQ(p.steps[3].waits, std::vector<int>{0});
}

TEST_F(Schedule, orders_what_touches_the_same_positions_of_a_cache) {
  const KvCache kv = cache(), other = cache();
  const Matrix x = matrix(32, 32), q = matrix(32, 16), y = matrix(32, 16), positions = matrix(32, 1);
  const Plan twice =
      plan({{1, append("first", kv, x, positions, 0, 17)}, {0, append("again", kv, x, positions, 16, 32)}});
  EXPECT_EQ(twice.steps[1].waits, std::vector<int>{0}) << "token 16 is written twice";
  const Plan overwritten =
      plan({{1, attend("reads", kv, q, y, positions, 16, 32)}, {0, append("writes", kv, x, positions, 0, 16)}});
  EXPECT_EQ(overwritten.steps[1].waits, std::vector<int>{0}) << "token 31 still reads position 0";
  const Plan apart =
      plan({{1, append("one", kv, x, positions, 0, 32)}, {0, append("two", other, x, positions, 0, 32)}});
  EXPECT_TRUE(apart.steps[1].waits.empty());
  const Matrix unrelated = matrix(32, 1);
  const Plan unknown =
      plan({{1, append("one", kv, x, positions, 0, 16)}, {0, append("two", kv, x, unrelated, 16, 32)}});
  EXPECT_EQ(unknown.steps[1].waits, std::vector<int>{0}) << "positions of another batch may be any";
}

TEST_F(Schedule, remembers_who_appended_to_a_cache_behind_a_later_append) {
  const KvCache kv = cache();
  const Matrix x = matrix(32, 32), q = matrix(32, 16), y = matrix(32, 16), positions = matrix(32, 1);
  const Plan p = plan({{1, append("npu's", kv, x, positions, 0, 16)},
                       {0, append("gpu's", kv, x, positions, 16, 32)},
                       {0, append("gpu's again", kv, x, positions, 16, 32)},
                       {0, attend("all", kv, q, y, positions, 0, 32)}});
  EXPECT_EQ(p.steps.back().operators.back().name, "all");
  EXPECT_EQ(p.steps.back().waits, std::vector<int>{0});
}

// The second write has the width of the first one and reaches further down. But it begins 64 rows to the left.
TEST_F(Schedule, remembers_the_columns_that_a_later_write_leaves_alone) {
  const Matrix x = matrix(8, 64), y = matrix(8, 256), z = matrix(8, 64);
  const auto tokens = [](const Operator& op, int64_t count) {
    Operator part = op;
    std::get<MatMul>(part.body).S = count;
    return part;
  };
  const Operator reads_rows_128_to_192{"read", Add{4, 64, z.at, y.at.advanced(128 * 4), 64, 256}};
  const Plan p = plan({{1, tokens(matmul("tokens 0..4, rows 64..192", x, y, 64, 192), 4)},
                       {1, tokens(matmul("tokens 0..8, rows 0..128", x, y, 0, 128), 8)},
                       {0, reads_rows_128_to_192}});
  EXPECT_EQ(p.steps.back().operators.back().name, "read");
  EXPECT_EQ(p.steps.back().waits.size(), 1u);
}

TEST(Cover, is_judged_row_by_row_and_column_by_column) {
  sync::Pool pool;
  const sync::Slot& slot = pool.acquire(8192, sync::SlotUse::activations, "m");
  // Rows [first_row, end_row) x bytes [begin, end) of a matrix with 256 bytes a row.
  const auto part = [&](int64_t first_row, int64_t end_row, size_t begin, size_t end) {
    return Region{{&slot, static_cast<size_t>(first_row) * 256 + begin}, end_row - first_row, end - begin, 256};
  };
  const auto bytes = [&](size_t begin, size_t end) { return Region{{&slot, begin}, 1, end - begin, end - begin}; };
  EXPECT_TRUE(covers(part(0, 8, 0, 128), part(2, 5, 64, 128)));
  EXPECT_FALSE(covers(part(0, 8, 0, 128), part(2, 5, 64, 192))) << "columns further right";
  EXPECT_FALSE(covers(part(0, 8, 64, 192), part(2, 5, 0, 128))) << "columns further left";
  EXPECT_FALSE(covers(part(2, 8, 0, 128), part(1, 5, 0, 128))) << "a row above";
  EXPECT_FALSE(covers(part(0, 4, 0, 128), part(2, 5, 0, 128))) << "a row below";
  EXPECT_TRUE(covers(part(0, 8, 0, 128), bytes(3 * 256 + 10, 3 * 256 + 128))) << "a run in one row";
  EXPECT_FALSE(covers(part(0, 8, 0, 128), bytes(3 * 256 + 10, 4 * 256 + 10))) << "a run over the gap between two rows";
  EXPECT_FALSE(covers(part(0, 8, 0, 128), bytes(8 * 256, 8 * 256 + 10))) << "a run behind the last row";
  EXPECT_TRUE(covers(bytes(0, 2048), part(0, 8, 0, 256)));
  EXPECT_FALSE(covers(bytes(0, 2047), part(0, 8, 0, 256))) << "one byte short";
  EXPECT_TRUE(covers(part(0, 8, 0, 256), bytes(100, 2048))) << "rows without gaps are one run";
}

TEST(Overlap, compares_columns_of_matrices_with_one_pitch) {
  sync::Pool pool;
  const sync::Slot& slot = pool.acquire(4096, sync::SlotUse::activations, "m");
  const auto columns = [&](size_t first, size_t width, int64_t rows) {
    return Region{{&slot, first}, rows, width, 256};
  };
  EXPECT_FALSE(overlaps(columns(0, 128, 4), columns(128, 128, 4)));
  EXPECT_TRUE(overlaps(columns(0, 132, 4), columns(128, 128, 4)));
  EXPECT_FALSE(overlaps(columns(0, 256, 2), columns(512, 256, 2))) << "rows apart";
  EXPECT_TRUE(overlaps(columns(0, 256, 2), columns(256, 256, 2))) << "one row in common";
  EXPECT_TRUE(overlaps(columns(192, 128, 2), columns(256, 64, 2))) << "one begins where the other's row goes on";
  EXPECT_TRUE(overlaps(columns(256, 64, 2), columns(192, 128, 2)));
  EXPECT_FALSE(overlaps(Region{{nullptr, 0}, 1, 8, 8}, Region{{nullptr, 0}, 1, 8, 8}))
      << "shape-only models share nothing";
}

}  // namespace
}  // namespace tandem
