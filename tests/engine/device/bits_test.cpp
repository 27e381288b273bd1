// The numeric contract (docs/numbers.md): which results have equal bits, on one device and between devices.
#include <cmath>
#include <set>

#include "engine/device/host/host_device.h"
#include "tests/engine/device/every_device.h"
#include "tests/engine/device/on_target.h"
#include "tests/engine/device/stated_product.h"

namespace tandem::testing {
namespace {

class Bits : public OnTarget {
 protected:
  // The reason why results may differ from those of other devices. An empty string means that bits must be equal.
  std::string own_bits() const {
    if (!bench_.device->info().fused_fma) return "this driver's fma rounds twice";
    return "";
  }

  // Builds the case, runs `operators` of it as one program, and returns it. Returns nothing if the device does not
  // support it.
  template <typename Cut>
  std::optional<BuiltCase> run(const OpCase& op_case, const Cut& cut) {
    BuiltCase built = op_case.build(new_memory());
    if (!bench_.device->supports(built.op).yes) return std::nullopt;
    const std::vector<Operator> operators = cut(built.op);
    for (const Operator& op : operators)
      if (!bench_.device->supports(op).yes) return std::nullopt;
    bench_.run(operators);
    return built;
  }

  // Whether another test shows that the bits of several tokens are those of each token alone. All cases have the stated
  // chain, and products with stacks have the bits of a matmul for each choice.
  bool has_each_tokens_bits(const OpCase& op_case) const {
    const bool is_chain = own_bits().empty() && (op_case.f16_exact || !bench_.device->info().rounds_to_f16);
    return op_case.name.starts_with("grouped_matmul") || (is_chain && op_case.name.starts_with("matmul"));
  }
};

std::vector<Operator> whole(const Operator& op) { return {op}; }

// The type of a cache changes how keys and values are loaded. Among f32 cases only the usual head is cut here.
bool is_cut_as_f16_is(const OpCase& op_case) {
  return op_case.name.starts_with("attention f32") && op_case.name.find(" dim=64/64") == std::string::npos;
}

std::vector<Operator> in_chunks(const Operator& op, int64_t chunk) {
  const int64_t S = tokens_of(op);
  std::vector<Operator> parts;
  for (int64_t begin = 0; begin < S; begin += chunk)
    parts.push_back(slice_tokens(op, begin, std::min(S, begin + chunk)));
  return parts;
}

// Turns each choice into a plain matmul with its matrix.
std::vector<Operator> in_matmuls(const Operator& op) {
  const auto& grouped = std::get<GroupedMatMul>(op.body);
  std::vector<Operator> parts;
  for (int64_t c = 0; c < grouped.S * grouped.slots; ++c) {
    const int64_t s = c / grouped.slots, slot = c % grouped.slots;
    MatMul one;
    one.S = 1, one.w = grouped.w.matrix(grouped.routed ? grouped.ids.as<int32_t>()[c] : slot);
    one.act_i8 = grouped.act_i8;
    one.K = one.x_stride = one.w.columns, one.row_end = one.y_stride = one.w.rows;
    one.x = grouped.x.advanced(static_cast<size_t>(s * grouped.x_stride + slot * grouped.x_slot) * sizeof(float));
    one.y = grouped.y.advanced(static_cast<size_t>(s * grouped.y_stride + slot * grouped.y_slot) * sizeof(float));
    parts.push_back({op.name, one});
  }
  return parts;
}

std::vector<Operator> in_panels(const Operator& op) {
  const auto& matmul = std::get<MatMul>(op.body);
  std::vector<Operator> parts;
  for (int64_t row = 0; row < matmul.row_end; row += kPanelRows)
    parts.push_back({op.name, slice_rows(matmul, row, std::min(matmul.row_end, row + kPanelRows))});
  return parts;
}

std::vector<Operator> in_heads(const Operator& op) {
  const auto& attention = std::get<Attention>(op.body);
  std::vector<Operator> parts;
  for (int64_t head = 0; head < attention.cache.kv_heads; ++head)
    parts.push_back({op.name, slice_heads(attention, head, head + 1)});
  return parts;
}

// The first head stays whole. The splits of the other heads are cut into three shares, with the last share first.
std::vector<Operator> in_shares(const Operator& op) {
  const auto& attention = std::get<Attention>(op.body);
  std::vector<Operator> parts{{op.name, slice_heads(attention, 0, 1)}};
  if (attention.cache.kv_heads == 1) parts.clear();
  const Attention others = parts.empty() ? attention : slice_heads(attention, 1, attention.cache.kv_heads);
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{7, kAttentionShares}, {0, 3}, {3, 7}})
    parts.push_back({op.name, slice_splits(others, begin, end)});
  parts.push_back({op.name, merge_of(others)});
  return parts;
}

std::vector<OpCase> with_act_i8() {
  std::vector<OpCase> all = matmul_cases();
  for (OpCase& op_case : act_i8_cases()) all.push_back(std::move(op_case));
  return all;
}

// Kernels on a driver whose multiply-add is not fused promise the same chain, with a rounding of each product.
TEST_P(Bits, matmul_is_the_stated_chain) {
  const bool f16_operands = bench_.device->info().rounds_to_f16, fused = bench_.device->info().fused_fma;
  const bool is_chain = fused || !GetParam().family.empty();
  if (!is_chain) GTEST_SKIP() << "skipped: " << own_bits();
  int compared = 0;
  for (const OpCase& op_case : telling(GetParam(), with_act_i8())) {
    if (f16_operands && !op_case.f16_exact) continue;  // f16 operands round f32 and bf16 weights
    SCOPED_TRACE(op_case.name);
    forget();
    const BuiltCase stated = op_case.build(new_memory());
    const auto& matmul = std::get<MatMul>(stated.op.body);
    run_stated_product(matmul, fused ? in_one_rounding : in_two_roundings);
    const auto actual = run(op_case, whole);
    if (!actual) continue;
    ASSERT_TRUE(same_bits(stated, *actual));
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(Bits, matmul_gives_equal_bits_cut_into_rows) {
  int compared = 0;
  for (const OpCase& op_case : telling(GetParam(), with_act_i8())) {
    SCOPED_TRACE(op_case.name);
    const auto together = run(op_case, whole), cut = run(op_case, in_panels);
    if (!together || !cut) continue;
    ASSERT_TRUE(same_bits(*together, *cut));
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(Bits, grouped_matmul_gives_the_bits_of_a_matmul_of_each_choice) {
  if (bench_.device->info().kind == DeviceKind::npu) GTEST_SKIP() << "skipped: an NPU multiplies no stacks of weights";
  int compared = 0;
  for (const OpCase& op_case : telling(GetParam(), grouped_matmul_cases())) {
    SCOPED_TRACE(op_case.name);
    const auto together = run(op_case, whole), apart = run(op_case, in_matmuls);
    ASSERT_TRUE(together && apart);
    ASSERT_TRUE(same_bits(*together, *apart));
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

// One case for each variant that a mixture of experts has for one token, and one for each kind of packed format.
std::vector<OpCase> experts_of_one_token() {
  std::vector<OpCase> chosen;
  std::set<PackedKind> seen;
  sync::Pool pool;
  for (const auto& cases : {routing_cases(), grouped_matmul_cases(), expert_cases()})
    for (const OpCase& op_case : cases) {
      CaseMemory memory(pool);
      const Operator op = op_case.build(memory).op;
      const auto* grouped = std::get_if<GroupedMatMul>(&op.body);
      if (tokens_of(op) == 1 && (!grouped || seen.insert(grouped->w.format.kind).second)) chosen.push_back(op_case);
    }
  return chosen;
}

// Devices that run one-token programs from a list compile their kernels in another form there.
TEST_P(Bits, experts_of_one_token_give_equal_bits_in_one_sequence) {
  if (bench_.device->info().kind == DeviceKind::npu || bench_.device->info().kind == DeviceKind::unit)
    GTEST_SKIP() << "skipped: NPUs and near-memory units route no tokens";
  const std::vector<OpCase> cases = experts_of_one_token();
  std::vector<BuiltCase> alone, listed;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<PlannedLaunch> launches;
  for (const OpCase& op_case : cases) {
    SCOPED_TRACE(op_case.name);
    const auto ran = run(op_case, whole);
    ASSERT_TRUE(ran.has_value());
    alone.push_back(*ran);
    listed.push_back(op_case.build(new_memory()));
    programs.push_back(bench_.device->prepare({&listed.back().op, 1}));
    launches.push_back({programs.back().get(), {}, {}});
  }
  ASSERT_GT(launches.size(), 20u);
  launches.back().signal = {bench_.done, ++bench_.epoch};
  bench_.device->launch(make_sequence(*bench_.device, std::move(launches)), 0);
  bench_.device->finish(std::chrono::minutes(10));
  ASSERT_TRUE(bench_.done.reached(bench_.epoch));
  for (size_t i = 0; i < cases.size(); ++i) EXPECT_TRUE(same_bits(alone[i], listed[i])) << cases[i].name;
}

TEST_P(Bits, attention_gives_equal_bits_by_heads_and_by_shares_of_its_splits) {
  if (bench_.device->info().kind == DeviceKind::npu || bench_.device->info().kind == DeviceKind::unit)
    GTEST_SKIP() << "skipped: NPUs and near-memory units run no attention";
  int by_heads = 0, by_shares = 0, turn = 0;
  for (const OpCase& op_case : telling(GetParam(), attention_cases())) {
    if (is_cut_as_f16_is(op_case) || !has_turn(GetParam(), turn++)) continue;
    SCOPED_TRACE(op_case.name);
    const auto together = run(op_case, whole);
    if (!together) continue;
    for (const auto& cut : {in_heads, in_shares}) {
      // Every variant compiles two more kernels. A cache of one split alone shows little.
      if (cut == in_shares && std::get<Attention>(together->op.body).cache.capacity <= kAttentionSplit) continue;
      const auto parts = run(op_case, cut);
      ASSERT_TRUE(parts.has_value()) << "a part is not supported where the whole is";
      ASSERT_TRUE(same_bits(*together, *parts)) << (cut == in_heads ? "by heads" : "by shares");
      (cut == in_heads ? by_heads : by_shares) += 1;
    }
  }
  EXPECT_GT(by_heads, 0);
  EXPECT_GT(by_shares, 0);
}

TEST_P(Bits, a_trees_token_has_those_that_it_has_in_a_text_behind_its_ancestors) {
  int compared = 0;
  for (const auto& [of_tree, of_texts] : attention_cases_of_trees()) {
    SCOPED_TRACE(of_tree.name);
    forget();
    const auto tree = run(of_tree, whole), texts = run(of_texts, whole);
    ASSERT_EQ(tree.has_value(), texts.has_value()) << "not supported";
    if (!tree) continue;
    ASSERT_GT(std::get<Attention>(tree->op.body).segments.depth, 0);
    ASSERT_EQ(std::get<Attention>(texts->op.body).segments.depth, 0);
    ASSERT_TRUE(same_bits(*texts, *tree));
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "skipped: it runs no attention";
}

TEST_P(Bits, every_operator_gives_equal_bits_in_chunks_of_one_token_and_of_several) {
  int compared = 0, turn = 0;
  for (const OpCase& op_case : telling(GetParam(), all_cases())) {
    if (is_cut_as_f16_is(op_case) || has_each_tokens_bits(op_case) || !has_turn(GetParam(), turn++)) continue;
    SCOPED_TRACE(op_case.name);
    forget();
    const auto together = run(op_case, whole);
    if (!together) continue;
    const int64_t S = tokens_of(together->op);
    if (std::holds_alternative<ExpertLists>(together->op.body)) continue;  // a list holds all its tokens
    // Seven is no tile size. A matmul compiles a kernel for each small number of tokens. Chunks of eight need two
    // kernels, one for a full tile and one for a rest of one token. Other numbers have cases of their own.
    const int64_t several = std::holds_alternative<MatMul>(together->op.body) ? 8 : 7;
    for (int64_t chunk : {int64_t{1}, several}) {
      if (chunk == 1 && S > 9) continue;  // dozens of launches would show nothing new
      const auto cut = run(op_case, [chunk](const Operator& op) { return in_chunks(op, chunk); });
      if (!cut) continue;
      ASSERT_TRUE(same_bits(*together, *cut)) << "in chunks of " << chunk;
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

TEST_P(Bits, every_operator_gives_the_bits_of_the_host) {
  if (const std::string reason = own_bits(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  Bench host;
  host.device = make_host_device(HostArithmetic::contract, 1);
  const bool f16_operands = bench_.device->info().rounds_to_f16;
  int compared = 0;
  for (const OpCase& op_case : telling(GetParam(), all_cases())) {
    if (f16_operands && !op_case.f16_exact) continue;
    SCOPED_TRACE(op_case.name);
    const auto actual = run(op_case, whole);
    if (!actual) continue;
    CaseMemory memory(host.pool);
    const BuiltCase expected = op_case.build(memory);
    host.run({&expected.op, 1});
    EXPECT_TRUE(same_bits(expected, *actual));
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, Bits, ::testing::ValuesIn(targets()),
                         [](const auto& test) { return test.param.name; });

TEST(BitsSuite, runs_on_every_kind_of_device_there_is) {
  std::vector<std::string> kinds;
  for (const Target& target : targets()) kinds.push_back(target.id.substr(0, target.id.find(':')));
  test::expect_every_device(kinds);
}

}  // namespace
}  // namespace tandem::testing
