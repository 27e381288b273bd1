// Every operator, in every format and odd shape, on every device, against the double-precision reference.
#include <cstdlib>
#include <set>

#include "engine/device/host/host_device.h"
#include "tests/engine/device/every_device.h"
#include "tests/engine/device/on_target.h"

namespace tandem::testing {
namespace {

class Conformance : public OnTarget {
 protected:
  void SetUp() override {
    OnTarget::SetUp();
    reference_.device = make_host_device(HostArithmetic::reference, 1);
  }

  static bool is_for_the_host(const Operator& op) {
    const Features features = features_of(op);
    return features.has(Feature::capacities) || features.has(Feature::moving_experts) ||
           features.has(Feature::copied_experts) || features.has(Feature::product_columns);
  }
  bool unsupported(const Operator& op) {
    const Support support = bench_.device->supports(op);
    if (support.yes) return false;
    const DeviceKind kind = bench_.device->info().kind;
    EXPECT_TRUE(kind == DeviceKind::npu || kind == DeviceKind::unit || is_for_the_host(op))
        << "only NPUs and near-memory units may refuse operators that GPUs are given: " << support.reason;
    EXPECT_FALSE(support.reason.empty()) << "a refusal has a reason";
    ++unsupported_;
    return true;
  }

  void run_case(const OpCase& op_case) {
    SCOPED_TRACE(op_case.name);
    forget();
    CaseMemory expected_memory(reference_.pool);
    CaseMemory& memory = new_memory();
    const BuiltCase actual = op_case.build(memory);
    if (unsupported(actual.op)) return;
    const BuiltCase expected = op_case.build(expected_memory);
    reference_.run({&expected.op, 1});
    const Snapshot before = snapshot(memory);
    ASSERT_NO_THROW(bench_.run({&actual.op, 1}));
    EXPECT_TRUE(close_to(expected, actual, bench_.device->info().rounds_to_f16));
    if (actual.outputs[0].type == ElementType::bytes) {
      EXPECT_TRUE(same_bits(expected, actual));
    }
    EXPECT_TRUE(untouched_elsewhere(memory, before, actual.op));
    ++run_;
  }

  void run_cases(const std::vector<OpCase>& cases) {
    const char* chosen =
        std::getenv("TANDEM_CASE");  // part of a case's name: a crash ends the program before it can say where
    for (const OpCase& op_case : telling(GetParam(), cases)) {
      if (chosen && op_case.name.find(chosen) == std::string::npos) continue;
      run_case(op_case);
      if (HasFatalFailure()) return;
    }
    RecordProperty("run", run_);
    RecordProperty("unsupported", unsupported_);
    if (run_ == 0 && unsupported_ > 0)
      GTEST_SKIP() << "skipped: unsupported by " << bench_.device->info().id << " (" << unsupported_ << " cases)";
    EXPECT_GT(run_, 0) << "no case ran";
  }

  Bench reference_;
  int run_ = 0, unsupported_ = 0;
};

// Devices would list a feature without a case, and no test would compute it.
TEST(Features, have_a_case_each) {
  Features seen;
  sync::Pool pool;
  for (const auto& cases : {all_cases(), expert_row_cases()}) {
    for (const OpCase& op_case : cases) {
      CaseMemory memory(pool);
      for (const Feature feature : features_of(op_case.build(memory).op).list()) seen.add(feature);
    }
  }
  for (int feature = 0; feature <= static_cast<int>(kLastFeature); ++feature)
    EXPECT_TRUE(seen.has(static_cast<Feature>(feature))) << name_of(static_cast<Feature>(feature));
}

TEST_P(Conformance, matmul_stays_within_its_error_bound) {
  run_cases(matmul_cases());
  EXPECT_GT(run_, 0) << "a device without matmul is of no use";
}
TEST_P(Conformance, matmul_of_8_bit_activations_stays_within_its_error_bound) { run_cases(act_i8_cases()); }
TEST_P(Conformance, embed_decodes_rows_exactly) { run_cases(embed_cases()); }
TEST_P(Conformance, rms_norm_stays_within_its_error_bound) { run_cases(norm_cases()); }
TEST_P(Conformance, rope_turns_pairs_of_both_layouts) { run_cases(rope_cases()); }
TEST_P(Conformance, kv_append_writes_its_positions_and_nothing_else) { run_cases(kv_append_cases()); }
TEST_P(Conformance, attention_sees_exactly_the_positions_up_to_its_own) { run_cases(attention_cases()); }
TEST_P(Conformance, elementwise_operators_stay_within_their_error_bounds) { run_cases(elementwise_cases()); }
TEST_P(Conformance, softmax_stays_within_its_error_bound) { run_cases(softmax_cases()); }
TEST_P(Conformance, argmax_and_top_k_take_the_lowest_index_of_equals) { run_cases(selection_cases()); }
TEST_P(Conformance, routes_and_lists_name_the_same_experts) { run_cases(routing_cases()); }
TEST_P(Conformance, grouped_matmul_stays_within_its_error_bound) { run_cases(grouped_matmul_cases()); }
TEST_P(Conformance, grouped_matmul_of_a_wave_leaves_the_results_of_other_choices) { run_cases(wave_cases()); }
TEST_P(Conformance, experts_are_added_up_within_their_error_bound) { run_cases(expert_cases()); }
TEST_P(Conformance, experts_rows_are_filled_and_added_up) {
  run_cases(expert_row_cases());
  if (bench_.device->info().kind == DeviceKind::host) {
    EXPECT_EQ(unsupported_, 0) << "somebody has to";
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, ::testing::ValuesIn(targets()),
                         [](const auto& test) { return test.param.name; });

TEST(ConformanceSuite, runs_on_every_kind_of_device_there_is) {
  std::vector<std::string> kinds;
  for (const Target& target : targets()) kinds.push_back(target.id.substr(0, target.id.find(':')));
  test::expect_every_device(kinds);
}

}  // namespace
}  // namespace tandem::testing
