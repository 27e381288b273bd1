// Lowering consists of pure functions. Their promises about launches hold for every operator, and the tests need
// no device.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "engine/device/gpu/lower.h"
#include "tests/engine/device/gpu/families.h"
#include "tests/support/source_tree.h"

namespace tandem::gpu::test {
namespace {

struct Named {
  std::string name;
  std::vector<KernelLaunch> launches;
};

// Lowers one operator of each kind with S tokens. The operators have shapes only.
std::vector<Named> lower_all(int64_t S, const LoweringContext& context) {
  MatMul matmul;
  matmul.S = S, matmul.K = 96, matmul.row_end = matmul.w.rows = 130, matmul.w.columns = 96;
  matmul.x_stride = 96, matmul.y_stride = 130;
  RmsNorm norm;
  norm.S = S, norm.groups = 3, norm.width = 20;
  Rope rope;
  rope.S = S, rope.heads = 3, rope.head_dim = 20, rope.rot_dim = 10;
  KvAppend append;
  append.S = S;
  append.cache.kv_heads = 2, append.cache.head_dim = 20, append.cache.head_dim_v = 12, append.cache.capacity = 640;
  Attention attention;
  attention.S = S, attention.heads = 6, attention.cache = append.cache;
  Glu swiglu;
  swiglu.S = S, swiglu.I = 700;
  Add add;
  add.S = S, add.width = 700;
  Bias bias;
  bias.S = S, bias.width = 700;
  Scale scale;
  scale.S = S, scale.width = 700;
  Scale of_experts = scale;
  of_experts.chosen = true, of_experts.rows = 3, of_experts.experts = 64;
  Softmax softmax;
  softmax.S = S, softmax.width = 700;
  ArgMax argmax;
  argmax.S = S, argmax.width = 700;
  TopK top_k;
  top_k.S = S, top_k.width = 700, top_k.k = 5;
  ExpertLists lists;
  lists.S = S, lists.E = 64, lists.k = 3;
  GroupedMatMul grouped;
  grouped.S = S, grouped.slots = grouped.w.count = 3, grouped.routed = false;
  grouped.w.rows = 130, grouped.w.columns = 96, grouped.y_slot = 130, grouped.y_stride = 390, grouped.x_stride = 96;
  ExpertSum sum;
  sum.S = S, sum.k = 3, sum.width = 700;
  Copy copy;
  copy.S = S, copy.groups = 3, copy.width = 700;
  return {{"matmul", lower_matmul(matmul, context)},
          {"rms_norm", lower_rms_norm(norm, context)},
          {"rope", lower_rope(rope, context)},
          {"kv_append", lower_kv_append(append, context)},
          {"attention", lower_attention(attention, context)},
          {"swiglu", lower_glu(swiglu, context)},
          {"add", lower_add(add, context)},
          {"bias", lower_bias(bias, context)},
          {"scale", lower_scale(scale, context)},
          {"scale of experts", lower_scale(of_experts, context)},
          {"softmax", lower_softmax(softmax, context)},
          {"argmax", lower_argmax(argmax, context)},
          {"top_k", lower_top_k(top_k, context)},
          {"expert_lists", lower_expert_lists(lists, context)},
          {"grouped_matmul", lower_grouped_matmul(grouped, context)},
          {"expert_sum", lower_expert_sum(sum, context)},
          {"copy", lower_copy(copy, context)}};
}

TEST(Lowering, makes_one_launch_of_whole_groups_in_the_family_asked_for) {
  for (KernelFamily family : kFamilies) {
    const std::string suffix = family == KernelFamily::simt ? "_simt" : "_simd";
    for (int64_t S : {1, 3, 200}) {
      for (const Named& op : lower_all(S, {.family = family, .compute_units = 1})) {
        ASSERT_EQ(op.launches.size(), 1u) << op.name;
        const KernelLaunch& launch = op.launches[0];
        EXPECT_TRUE(launch.source.ends_with(suffix)) << op.name << " took " << launch.source;
        size_t group = 1;
        for (int axis = 0; axis < 3; ++axis) {
          EXPECT_GT(launch.global[axis], 0u) << op.name;
          EXPECT_EQ(launch.global[axis] % launch.local[axis], 0u) << op.name << " axis " << axis;
          group *= launch.local[axis];
        }
        EXPECT_LE(group, 256u) << op.name;
        if (family == KernelFamily::simd) {
          EXPECT_EQ(group, 1u) << op.name << ": barriers and groups are slow on a CPU device";
        }
      }
    }
  }
}

TEST(Lowering, binds_the_same_arguments_in_the_same_order_in_both_families) {
  for (int64_t S : {1, 200}) {
    const auto simd = lower_all(S, {.family = KernelFamily::simd}), simt = lower_all(S, {.family = KernelFamily::simt});
    for (size_t i = 0; i < simd.size(); ++i) {
      const auto &a = simd[i].launches[0].args, &b = simt[i].launches[0].args;
      ASSERT_EQ(a.size(), b.size()) << simd[i].name;
      for (size_t n = 0; n < a.size(); ++n) EXPECT_EQ(a[n].index(), b[n].index()) << simd[i].name << " argument " << n;
    }
  }
}

TEST(Lowering, makes_nothing_of_no_tokens) {
  for (KernelFamily family : kFamilies) {
    for (const Named& op : lower_all(0, {.family = family})) EXPECT_TRUE(op.launches.empty()) << op.name;
  }
}

TEST(Lowering, splits_the_cache_only_where_scratch_and_units_are_there_and_queries_are_few) {
  sync::Pool pool;
  Attention op;
  op.S = 1, op.heads = 6;
  op.cache.kv_heads = 2, op.cache.head_dim = op.cache.head_dim_v = 64, op.cache.capacity = 640;
  const Operand scratch{&pool.acquire(64, sync::SlotUse::device_local, "scratch"), 0};
  for (KernelFamily family : kFamilies) {
    const auto launches = [&](int64_t S, const Operand& at, int units) {
      op.S = S, op.scratch = at;
      return lower_attention(op, {.family = family, .compute_units = units}).size();
    };
    EXPECT_EQ(launches(1, scratch, 16), 2u);
    EXPECT_EQ(launches(1, scratch, 1), 1u) << "one worker gains nothing from the merge";
    EXPECT_EQ(launches(1, {}, 16), 1u);
    EXPECT_EQ(launches(2000, scratch, 16), 1u);
  }
}

TEST(Lowering, refuses_malformed_operators) {
  Attention attention;
  attention.S = 1, attention.heads = 5;
  attention.cache.kv_heads = 2, attention.cache.head_dim = attention.cache.head_dim_v = 64,
  attention.cache.capacity = 64;
  EXPECT_ANY_THROW(lower_attention(attention, {})) << "5 heads over 2 KV heads";
  attention.heads = 4, attention.cache.capacity = 100;
  EXPECT_ANY_THROW(lower_attention(attention, {})) << "capacity no multiple of 64";
  Rope rope;
  rope.S = rope.heads = 1, rope.head_dim = 16, rope.rot_dim = 18;
  EXPECT_ANY_THROW(lower_rope(rope, {})) << "more rotated than there is";
}

// Each additional variant is compiled into the list's kernel. There are two variants, and one for trees.
TEST(LowerAttention, of_a_list_has_as_few_variants_as_there_are_kinds_of_batches) {
  LoweringContext lists;
  lists.listed_tokens = 16;
  std::set<std::string> of_one, of_many, of_trees;
  for (int64_t S = 1; S <= 16; ++S) {
    Attention op;
    op.heads = 9, op.cache.kv_heads = 3, op.cache.head_dim = op.cache.head_dim_v = 64, op.cache.capacity = 256;
    op.S = S;
    const auto options = [&] { return lower_attention(op, lists).at(0).options; };
    if (S > 1) of_one.insert(options());
    for (const int64_t segments : {2, 4, 16, 32}) {
      op.segments.count = segments;
      op.segments.depth = 0;
      of_many.insert(options());
      op.segments.depth = 32;
      of_trees.insert(options());
    }
  }
  EXPECT_EQ(of_one.size(), 1u);
  EXPECT_EQ(of_many.size(), 1u);
  EXPECT_EQ(of_trees.size(), 1u);
  EXPECT_NE(of_one, of_many) << "a text's tokens share loads of keys, those of many texts have none in common";
}

// The texts of all files of a folder of the source tree.
std::string texts_of(const std::string& folder) {
  std::string text;
  for (const auto& file : std::filesystem::directory_iterator(tandem::testing::source_tree() / folder)) {
    if (!file.is_regular_file()) continue;
    std::ifstream in(file.path(), std::ios::binary);
    text.append(std::istreambuf_iterator<char>(in), {});
  }
  return text;
}

// A compiler accepts any -DNAME=1, so an option that no kernel reads would have no effect and no error.
TEST(Lowering, gives_no_option_that_neither_a_kernel_nor_a_shader_reads) {
  const std::regex comment("//[^\n]*");  // a comment may name an option as an example
  const std::string lowering = std::regex_replace(texts_of("engine/device/gpu"), comment, "");
  const std::string kernels = texts_of("kernels") + texts_of("shaders");
  const std::regex option(R"re((?:-D|define\(")([A-Z][A-Z_0-9]+))re");
  std::set<std::string> names;
  for (std::sregex_iterator found(lowering.begin(), lowering.end(), option); found != std::sregex_iterator(); ++found)
    names.insert((*found)[1].str());
  EXPECT_GT(names.size(), 10u);
  for (const std::string& name : names)
    EXPECT_TRUE(std::regex_search(kernels, std::regex("\\b" + name + "\\b"))) << name;
}

}  // namespace
}  // namespace tandem::gpu::test
