// The places of barriers between the launches of a program. The expected places are worked out by hand, and the
// validation layers check them without knowledge of operators.
#include "engine/device/vulkan/hazards.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "engine/device/gpu/lower.h"
#include "tests/engine/device/vulkan/vulkan_test.h"

namespace tandem::vulkan {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kHeads = 2, kHeadDim = 32, kWidth = kHeads * kHeadDim, kCapacity = 512, kTokens = 3;
constexpr size_t kFloat = sizeof(float);

// Whether a barrier stands in front of each launch, in order.
std::vector<bool> barriers(const std::vector<Operator>& operators, const gpu::LoweringContext& context = {}) {
  std::vector<bool> found;
  Hazards hazards;
  for (const Operator& op : operators) {
    hazards.begin(op);
    for (const gpu::KernelLaunch& launch : gpu::lower(op, context)) found.push_back(hazards.needs_barrier(launch));
  }
  return found;
}

// Attention of one layer. q, k and v are columns of one matrix, or each has a slot of its own.
struct Layer {
  Layer(sync::Pool& from, int64_t tokens, bool together)
      : pool(from), S(tokens), stride(together ? 3 * kWidth : kWidth) {
    x = floats(S * kWidth), attended = floats(S * kWidth), out = floats(S * kWidth);
    q = floats(S * 3 * kWidth);
    k = together ? q.advanced(kWidth * kFloat) : floats(S * kWidth);
    v = together ? q.advanced(2 * kWidth * kFloat) : floats(S * kWidth);
    table = floats(kCapacity * kHeadDim), scratch = floats(1 << 16, sync::SlotUse::device_local);
    positions = floats(S);
    for (int64_t s = 0; s < S; ++s) positions.as<int32_t>()[s] = static_cast<int32_t>(s);
    pages = floats(1);
    pages.as<int32_t>()[0] = 0;
    cache = kv_cache(KvType::f32, kHeads, kHeadDim, kHeadDim, kCapacity);
    cache.k = floats(static_cast<int64_t>(cache.k_bytes() / kFloat));
    cache.v = floats(static_cast<int64_t>(cache.v_bytes() / kFloat));
  }
  Operand floats(int64_t count, sync::SlotUse use = sync::SlotUse::activations) {
    const Operand made{&pool.acquire(static_cast<size_t>(count) * kFloat, use, "operand"), 0};
    for (int64_t i = 0; i < count; ++i) made.as<float>()[i] = std::sin(static_cast<float>(i + 7 * ++seed));
    return made;
  }
  Operator product(const char* name, Operand input, Operand y, int64_t y_stride) {
    MatMul op;
    op.S = S, op.K = kWidth, op.row_end = kWidth, op.x_stride = kWidth, op.y_stride = y_stride;
    op.w = {{}, kWidth, kWidth, floats(kWidth * kWidth, sync::SlotUse::weights)};
    op.x = input, op.y = y;
    return {name, op};
  }
  Operator rotation(const char* name, Operand heads) const {
    Rope op;
    op.S = S, op.heads = kHeads, op.head_dim = op.rot_dim = kHeadDim, op.x_stride = stride;
    op.x = heads, op.positions = positions, op.table = table, op.table_positions = kCapacity;
    return {name, op};
  }
  Operator append() const {
    KvAppend op;
    op.S = S, op.k_stride = op.v_stride = stride, op.k = k, op.v = v, op.positions = positions, op.cache = cache;
    op.segments.pages = pages;
    return {"append", op};
  }
  Operator attention(Operand y, Operand room) const {
    Attention op;
    op.S = S, op.heads = kHeads, op.q_stride = stride, op.y_stride = kWidth;
    op.q = q, op.y = y, op.positions = positions, op.cache = cache, op.scratch = room;
    op.segments.pages = pages;
    return {"attention", op};
  }
  std::vector<Operator> operators() {
    return {product("q", x, q, stride),   product("k", x, k, stride),
            product("v", x, v, stride),   rotation("rope q", q),
            rotation("rope k", k),        append(),
            attention(attended, scratch), product("o", attended, out, kWidth)};
  }

  sync::Pool& pool;
  int64_t S, stride;
  int seed = 0;
  Operand x, q, k, v, attended, out, table, positions, pages, scratch;
  KvCache cache;
};

class VulkanHazards : public VulkanTest {};

TEST(Hazards, stand_where_a_launch_needs_another_ones_result_and_nowhere_else) {
  sync::Pool pool;
  for (const int64_t tokens : {int64_t{1}, kTokens}) {
    for (const bool together : {false, true}) {
      Layer layer(pool, tokens, together);
      // q, k and v write disjoint columns. rope q reads q, and its barrier closes k and v too, so rope k needs none.
      // append reads what rope k wrote, attention reads the cache, and o reads what attention wrote.
      EXPECT_THAT(barriers(layer.operators()), ElementsAre(false, false, false, true, false, true, true, true))
          << tokens << (together ? " together" : " apart");
    }
  }
}

TEST(Hazards, stand_between_launches_of_one_operator_that_hand_over_by_scratch) {
  sync::Pool pool;
  Layer layer(pool, 1, true);
  const gpu::LoweringContext many{.compute_units = 16};  // a launch for each split, and a merge
  const Operator one = layer.attention(layer.attended, layer.scratch),
                 shared = layer.attention(layer.out, layer.scratch),
                 own = layer.attention(layer.out, layer.floats(1 << 16));
  EXPECT_THAT(barriers({one}, many), ElementsAre(false, true)) << "the merge reads what the splits wrote";
  EXPECT_THAT(barriers({one, shared}, many), ElementsAre(false, true, true, true)) << "scratch is written again";
  EXPECT_THAT(barriers({one, own}, many), ElementsAre(false, true, false, true)) << "nothing but inputs in common";
}

// Codes of activations lie in the device's scratch memory. The second product overwrites the codes that the first
// one reads.
TEST(Hazards, stand_between_operators_that_use_memory_of_the_devices_own) {
  sync::Pool pool;
  Layer layer(pool, kTokens, false);
  std::vector<Operator> products;
  for (const Operand& y : {layer.k, layer.v}) {
    products.push_back(layer.product("product", layer.x, y, kWidth));
    auto& matmul = std::get<MatMul>(products.back().body);
    matmul.w.format = packed_format(StorageType::q8_0);
    matmul.act_i8 = true;
  }
  EXPECT_THAT(barriers(products), ElementsAre(false, true, true, true));
}

TEST(Hazards, do_not_stand_between_the_parts_of_a_cut_operator) {
  sync::Pool pool;
  Layer layer(pool, 200, true);
  gpu::LoweringContext little;
  little.max_buffer_bytes = 1 << 16;  // x and y take 200 rows of 256 and 768 bytes
  const std::vector<bool> parts = barriers({layer.product("q", layer.x, layer.q, layer.stride)}, little);
  EXPECT_GT(parts.size(), 1u);
  EXPECT_THAT(parts, ::testing::Each(false));
}

TEST(Hazards, are_reads_after_writes_writes_after_reads_and_writes_after_writes) {
  sync::Pool pool;
  const AddCase a(pool, 3, 50), b(pool, 3, 50);
  auto add = [](Operand x, Operand y, int64_t width = 50) {
    Add op;
    op.S = 3, op.width = width, op.x = x, op.y = y, op.x_stride = op.y_stride = 53;
    return Operator{"add", op};
  };
  const Operand p = a.op.x, q = b.op.x, r = AddCase(pool, 3, 50).op.x, s = AddCase(pool, 3, 50).op.x;
  EXPECT_THAT(barriers({add(p, q), add(r, p)}), ElementsAre(false, true)) << "reads what was written";
  EXPECT_THAT(barriers({add(p, q), add(q, r)}), ElementsAre(false, true)) << "overwrites what is read";
  EXPECT_THAT(barriers({add(p, q), add(p, r)}), ElementsAre(false, true)) << "overwrites what was written";
  EXPECT_THAT(barriers({add(p, q), add(r, q)}), ElementsAre(false, false)) << "reads what is read";
  // Columns [0, 20) and [20, 40) are disjoint. [19, 39) overlaps both.
  EXPECT_THAT(barriers({add(p, q, 20), add(p.advanced(20 * kFloat), q, 20)}), ElementsAre(false, false));
  EXPECT_THAT(barriers({add(p, q, 20), add(p.advanced(19 * kFloat), q, 20)}), ElementsAre(false, true));
  // The barrier of the second operator closes the first one, too. So the third needs none, although it reads p. The
  // fourth reads what the third wrote.
  EXPECT_THAT(barriers({add(p, q), add(r, p), add(s, p), add(q, s)}), ElementsAre(false, true, false, true));
  // No barrier closes the first operator in between.
  EXPECT_THAT(barriers({add(p, q), add(r, q), add(s, q), add(q, p)}), ElementsAre(false, false, false, true));
}

// An addition reads what it writes. This operator only writes.
TEST(Hazards, are_writes_after_writes_of_what_nobody_reads) {
  sync::Pool pool;
  const auto rows = [&] { return AddCase(pool, 3, 50).op.x; };
  const auto swiglu = [](Operand from, Operand y) {
    return Operator{"swiglu", Glu{3, 20, from, from.advanced(20 * kFloat), 53, 53, y, 53}};
  };
  const Operand p = rows(), q = rows(), r = rows(), s = rows();
  EXPECT_THAT(barriers({swiglu(p, r), swiglu(q, r)}), ElementsAre(false, true));
  EXPECT_THAT(barriers({swiglu(p, r), swiglu(q, s)}), ElementsAre(false, false));
}

// The layers compare whole bindings, so every operand has a slot of its own here.
TEST_F(VulkanHazards, agree_with_the_validation_layers) {
  for (const bool older_calls : {false, true}) {
    Tuning tuning;
    tuning.older_calls = older_calls;
    device_ = open({}, tuning);
    Layer layer(pool_, kTokens, false);
    const auto program = device_->prepare(layer.operators());
    launch_one(*device_, *program, {}, {});
    launch_one(*device_, *program, {}, {});
    device_->finish(kDeadline);
    EXPECT_THAT(messages_.take(), ::testing::IsEmpty());
    device_.reset();
  }
}

TEST_F(VulkanHazards, change_no_bit) {
  Layer layer(pool_, kTokens, true);
  const std::vector<Operator> operators = layer.operators();
  Tuning tuning;
  tuning.cache_folder = "";
  device_ = open_device_tuned(0, {}, tuning);  // without the layers: to them all columns of one matrix are one place
  const size_t bytes = kTokens * kWidth * kFloat;
  auto result = [&] {
    std::vector<float> values(kTokens * kWidth);
    std::memcpy(values.data(), layer.out.as<float>(), bytes);
    std::memset(layer.out.as<float>(), 0, bytes);
    return values;
  };
  for (const Operator& op : operators) {
    const auto alone = device_->prepare(std::span(&op, 1));
    launch_one(*device_, *alone, {}, {});
    device_->finish(kDeadline);
  }
  const std::vector<float> one_by_one = result();
  const auto program = device_->prepare(operators);
  launch_one(*device_, *program, {}, {});
  device_->finish(kDeadline);
  const std::vector<float> at_once = result();
  EXPECT_EQ(std::memcmp(one_by_one.data(), at_once.data(), bytes), 0);
  EXPECT_THAT(at_once, ::testing::Contains(::testing::Ne(0.0f)));
}

}  // namespace
}  // namespace tandem::vulkan
